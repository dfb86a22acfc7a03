"""A person's settings of providers: where a compatible server is, its abilities, its time limit.

The same model is an entry of `providers:` in blueflame.yaml and of the workers' variable
`BLUEFLAME_PROVIDERS`. It holds the name of a key's variable, never a key.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, field_validator

from workflows.domain.agent.model_values import BUILT_IN, Provider

MAX_TIMEOUT_S = 1_080
"""The workflow gives up a call after 20 minutes; the provider must fail before that."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Abilities(BaseModel, frozen=True, extra="forbid"):
    """What a compatible server accepts and returns; the defaults fit most servers."""

    tool_calls: bool = True
    """False: it can serve no role, because agents do everything with tools."""
    parallel_tool_calls: bool = True
    """False: it is never sent more than one call in a turn, nor asked for several."""
    system_role: Literal["system", "developer", "user"] = "system"
    """`user`: the instructions open the first user message, for templates without a system role."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """The value of `reasoning_effort`; None: not sent."""
    reasoning_replay: bool = False
    """A model's own turns are sent back unchanged, with their reasoning; some servers require it,
    others refuse it."""
    max_output_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    streaming: bool = True
    """False: ask for the whole answer at once, for a server that streams wrongly or not at all."""
    prompt_caching: bool = False
    """Send `prompt_cache_key`. Cached tokens that the server reports are counted in any case."""


class ProviderEntry(BaseModel, frozen=True, extra="forbid"):
    """One provider."""

    base_url: str | None = None
    """The URL of its Chat Completions interface, as in `http://127.0.0.1:11434/v1`."""
    key: str | None = None
    """The environment variable that holds its key; None: it needs no key."""
    family: str | None = Field(default=None, min_length=1, max_length=100)
    """Who made its models; None: the provider's name."""
    abilities: Abilities = Abilities()
    timeout_s: int | None = Field(default=None, ge=1, le=MAX_TIMEOUT_S)
    """The time limit of one call; None: 15 minutes."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
            raise ValueError("an address is written as https://host/v1, without a query")
        if parts.username or parts.password or parts.fragment:
            raise ValueError("an address holds no user and no password; `key` names a variable")
        return value.rstrip("/")

    @field_validator("key")
    @classmethod
    def _is_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            # The value may be the key itself, so the message does not repeat it.
            raise ValueError("this names the environment variable that holds the key, not the key")
        return value

    @property
    def timeout(self) -> timedelta | None:
        """The time limit of one call; None: the default."""
        return None if self.timeout_s is None else timedelta(seconds=self.timeout_s)


def _consistent(entries: dict[Provider, ProviderEntry]) -> dict[Provider, ProviderEntry]:
    for name, entry in entries.items():
        if name not in BUILT_IN and entry.base_url is None:
            raise ValueError(f"provider {name!r} needs a base_url, as in http://127.0.0.1:11434/v1")
        if name in BUILT_IN and entry != ProviderEntry(timeout_s=entry.timeout_s):
            raise ValueError(
                f"provider {name!r} is built in, so only timeout_s can be said of it; give a "
                "compatible server a name of its own"
            )
    return entries


ProviderEntries = Annotated[dict[Provider, ProviderEntry], AfterValidator(_consistent)]
"""Providers by name: compatible servers in full; for built-in ones only the time limit."""


def endpoints(entries: Mapping[Provider, ProviderEntry]) -> dict[Provider, ProviderEntry]:
    """Return the compatible servers among `entries`."""
    return {name: entry for name, entry in entries.items() if entry.base_url is not None}
