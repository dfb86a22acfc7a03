"""Builds a model's provider at its first call, and keeps known keys from leaking.

Every worker of role `models` holds one registry. It reads nothing from the environment: keys, base
URLs and the playbook are passed in. Known keys are replaced in everything sent and received,
because an agent may have found one in a file.
"""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from activities.adapters.models.keys import KeyRing, KeySource
from activities.adapters.models.scripted.playbook import Playbook
from activities.adapters.models.transport import IDLE, Transport
from activities.ports.endpoints import ProviderEntries, ProviderEntry, endpoints
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ModelProvider,
    ModelReply,
    ModelRequest,
    ModelUnusableError,
)
from activities.text.redaction import KnownSecrets
from activities.text.surrogates import clean_values
from workflows.domain.agent.model_values import ModelFacts, Provider
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)


class ProviderSettings(BaseModel, frozen=True, extra="forbid"):
    """The settings of all providers; read once, when the process starts."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    keys: Mapping[Provider, KeySource] = Field(default_factory=dict[Provider, KeySource])
    """By provider: the key, or an asynchronous function that reads it again."""
    base_urls: Mapping[Provider, str] = Field(default_factory=dict[Provider, str])
    """By provider: a server other than the provider's own."""
    entries: ProviderEntries = Field(default_factory=dict[Provider, ProviderEntry])
    """Compatible servers, and the time limits of any provider."""
    playbook: Playbook | None = None
    """The playbook of the provider `scripted`."""
    trust_env: bool = True
    """Whether to use proxies named by the environment."""
    idle: timedelta = IDLE
    """The longest silence within a call before it is given up."""


class ProviderRegistry:
    """All providers of one process; implements the port `ModelProvider` for each."""

    def __init__(self, settings: ProviderSettings) -> None:
        """Args: keys, base URLs and the playbook. Nothing is imported or connected yet."""
        self._settings = settings
        entries = endpoints(settings.entries)
        self._keyless = {"scripted", *(name for name in entries if not entries[name].key)}
        self._keys = KeyRing(settings.keys)
        self._transport = Transport(trust_env=settings.trust_env, idle=settings.idle)
        self._providers: dict[Provider, ModelProvider] = {}
        self._uncounted: set[str] = set()
        self._known_values: tuple[str, ...] = ()
        self._known_secrets = KnownSecrets(())

    async def call(self, request: ModelRequest) -> ModelReply:
        """Send a request to the provider of its model; see the port."""
        name = request.model.provider
        self.provider(request.model)  # an unknown provider is reported before a missing key
        if name in self._keyless:
            return await self._send(request)
        self._require_variable(name)
        await self._keys.key(name)
        try:
            return await self._send(request)
        except AuthenticationFailedError:
            # The key may have been rotated a moment ago; a refused call is not billed.
            if not await self._keys.renew(name):
                raise
        return await self._send(request)

    async def _send(self, request: ModelRequest) -> ModelReply:
        safe = self._timed(_redacted(request, self._known()))
        reply = await self.provider(request.model).call(safe)
        if reply.usage.is_estimated:
            self._tell_once(f"{request.model.provider}/{request.model.model}")
        return _redacted(reply, self._known())

    def provider(self, model: ModelFacts) -> ModelProvider:
        """Return the provider that serves `model`, built at the first request.

        Raises:
            ModelUnusableError: the model is scripted and there is no playbook, or its provider is
                unknown.
        """
        if model.provider not in self._providers:
            self._providers[model.provider] = self._make(model.provider)
        return self._providers[model.provider]

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def _known(self) -> KnownSecrets:
        values = self._keys.known()
        if values != self._known_values:
            self._known_values, self._known_secrets = values, KnownSecrets(values)
        return self._known_secrets

    def _make(self, name: Provider) -> ModelProvider:
        if name == "scripted":
            return self._scripted()
        base_url = self._settings.base_urls.get(name)
        match name:
            case "anthropic":
                from activities.adapters.models.anthropic import BASE_URL, AnthropicProvider

                return AnthropicProvider(self._transport, self._keys, base_url or BASE_URL)
            case "openai":
                from activities.adapters.models import openai

                return openai.OpenAIProvider(
                    self._transport, self._keys, base_url or openai.BASE_URL
                )
            case "google":
                from activities.adapters.models import gemini

                return gemini.GeminiProvider(
                    self._transport, self._keys, base_url or gemini.BASE_URL
                )
            case _:
                return self._compatible(name)

    def _compatible(self, name: Provider) -> ModelProvider:
        from activities.adapters.models.openai_chat import ChatProvider

        entry = self._settings.entries.get(name)
        if entry is None or entry.base_url is None:
            raise ModelUnusableError(
                f"these workers know no provider {name!r}; describe it under `providers:` in your "
                "own configuration, and start them again"
            )
        return ChatProvider(name, entry, self._transport, self._keys)

    def _tell_once(self, model: str) -> None:
        if model not in self._uncounted:
            self._uncounted.add(model)
            log_event(_log, "usage_missing", model=model)

    def _require_variable(self, name: Provider) -> None:
        entry = self._settings.entries.get(name)
        if entry is not None and entry.key and name not in self._settings.keys:
            raise AuthenticationFailedError(
                f"there is no key for {name!r}: the variable {entry.key!r} is not set where the "
                "workers of role models were started; set it there, and start them again"
            )

    def _timed(self, request: ModelRequest) -> ModelRequest:
        """Give the request its provider's time limit, if one is configured."""
        entry = self._settings.entries.get(request.model.provider)
        if entry is None or entry.timeout is None:
            return request
        return ModelRequest(
            model=request.model,
            system=request.system,
            tools=request.tools,
            messages=request.messages,
            max_output_tokens=request.max_output_tokens,
            effort=request.effort,
            cache_key=request.cache_key,
            timeout=entry.timeout,
        )

    def _scripted(self) -> ModelProvider:
        from activities.adapters.models.scripted.scripted_provider import ScriptedProvider

        if self._settings.playbook is None:
            raise ModelUnusableError(
                "the provider 'scripted' has no playbook; start the workers with one "
                "(BLUEFLAME_PLAYBOOK=FILE blueflame up), or choose another model"
            )
        return ScriptedProvider(self._settings.playbook)


def _redacted(value: M, known: KnownSecrets) -> M:
    """Replace every known key anywhere in `value`; return the same object if there is none."""
    try:
        text = value.model_dump_json()
    except ValueError:
        # A lone surrogate, which the providers' boundary would also replace.
        value = type(value).model_validate(clean_values(value.model_dump(mode="python")))
        text = value.model_dump_json()
    cleaned = known.redact(text)
    return value if cleaned is text else type(value).model_validate_json(cleaned)
