"""Access to a person's own registries, which may be private or need credentials.

A session names them, as its configuration was when it started; a host serves only those that its
own process's settings name. So neither a repository nor a user who can start a session opens a
private host. The host adds what it reads in the person's settings of package tools: addresses of
indexes, which set-up is given, and credentials, which stay with the proxy.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, Field

from workflows.domain.environment import Registry, RegistryAccess
from workflows.policy.network.host_list import PORTS, covers

KEY: Final = "environment.registries"
_AGAIN: Final = (
    "in your own configuration (or in BLUEFLAME_REGISTRIES where the workers start), and start "
    "them again"
)


class RegistryError(Exception):
    """A host cannot serve a session's registries; the message says which and what to do."""


class Credential(BaseModel, frozen=True, extra="forbid"):
    """The credentials of one registry."""

    host: str
    port: int
    source: str
    """The tool whose settings hold it."""
    authorization: str = Field(repr=False)
    """The value of the header `Authorization`."""
    secrets: tuple[str, ...] = Field(default=(), repr=False)
    """Its secret parts, as an answer could repeat them."""


class ToolSettings(BaseModel, frozen=True, extra="forbid"):
    """What the person's settings hold; only `credentials` and the proxy's are secret."""

    variables: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """Variables for set-up, by name: addresses without credentials, or other words."""
    separators: dict[str, str] = Field(default_factory=dict[str, str])
    """The separator of a variable's words, if it is not a space."""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """Files for set-up, by their absolute path inside."""
    authorities: str = ""
    """Certificates of `ca_file`, PEM."""
    credentials: tuple[Credential, ...] = ()
    proxy_authorization: str = Field(default="", repr=False)
    """Credentials for the upstream proxy; empty: it needs none."""
    fault: str = ""
    """Why something that the configuration names could not be read."""


@dataclass(frozen=True)
class ReachableRegistries:
    """What the proxy of one command may reach, and how."""

    access: RegistryAccess = field(default_factory=RegistryAccess)
    own_ports: frozenset[int] = field(default_factory=frozenset[int])
    tools: ToolSettings = field(default_factory=ToolSettings, repr=False)

    def is_private(self, host: str, port: int) -> bool:
        """Whether a host may resolve to an address that is not public.

        Args:
            host: its normal name.
            port: the port that is asked for.
        """
        private = (each.host for each in self.access.registries if each.private)
        return any(covers(each, host, port) for each in private)

    def credential(self, host: str, port: int) -> Credential | None:
        """Return a registry's credentials, if the configuration names their source."""
        for registry in self.access.registries:
            if registry.token_from is not None and covers(registry.host, host, port):
                return _credential(self.tools, registry, host, port)
        return None

    def is_behind_proxy(self, host: str, port: int) -> bool:
        """Whether a host is reached through the upstream proxy; private registries are not."""
        beside = any(covers(each, host, port) for each in self.access.no_proxy)
        has_proxy = self.access.upstream_proxy is not None
        return has_proxy and not beside and not self.is_private(host, port)

    def variables(self, shown: Iterable[Path]) -> dict[str, str]:
        """Return the variables that give set-up its indexes.

        Args:
            shown: directories that the sandbox shows; other local indexes are left out.
        """
        places = tuple(shown)
        told: dict[str, str] = {}
        for name, words in self.tools.variables.items():
            kept = [word for word in words if _is_shown(word, places)]
            if kept:
                told[name] = self.tools.separators.get(name, " ").join(kept)
        return told


@dataclass(frozen=True)
class Registries:
    """The registries that one host was started with."""

    told: RegistryAccess = field(default_factory=RegistryAccess)
    own_ports: frozenset[int] = field(default_factory=frozenset[int])
    """Blue Flame's own ports on this machine: never reached through a non-public address."""
    tools: Callable[[], ToolSettings] = field(default=ToolSettings, compare=False)
    """Reads the person's settings of package tools."""

    def check(self, access: RegistryAccess) -> None:
        """Check that this host was started with all that a session wants.

        Raises:
            RegistryError: it was not; the message says how to configure it.
        """
        for registry in access.registries:
            if registry not in self.told.registries:
                raise RegistryError(
                    f"registry {registry.host!r} is not known to the workers here as the session "
                    f"describes it: they were started without it. Name it under `{KEY}` {_AGAIN}"
                )
        for key in ("upstream_proxy", "no_proxy", "ca_file"):
            if getattr(access, key) and getattr(access, key) != getattr(self.told, key):
                raise RegistryError(
                    f"the workers here were started without `environment.{key}` as the session "
                    f"says it. Name it {_AGAIN}"
                )

    def wanted(self, access: RegistryAccess) -> ReachableRegistries:
        """Return what a session may reach.

        Raises:
            RegistryError: this host was started without a part of it, or has no credentials or
                certificates for it; the message says what to do.
        """
        self.check(access)
        tools = self.tools()
        if tools.fault:
            raise RegistryError(tools.fault)
        for registry in access.registries:
            if registry.token_from is not None and not _has_credential(tools, registry):
                raise RegistryError(
                    f"registry {registry.host!r}: your settings of {registry.token_from} hold no "
                    f"credentials for it. Log in there with {registry.token_from}, or take "
                    f"`token_from` out of `{KEY}`"
                )
        return ReachableRegistries(access, self.own_ports, tools)


def _has_credential(tools: ToolSettings, registry: Registry) -> bool:
    return any(
        covers(registry.host, each.host, each.port)
        for each in tools.credentials
        if each.source == registry.token_from
    )


def _credential(tools: ToolSettings, registry: Registry, host: str, port: int) -> Credential | None:
    return next(
        (
            each
            for each in tools.credentials
            if each.source == registry.token_from and (each.host, each.port) == (host, port)
        ),
        None,
    )


def local_place(word: str) -> Path | None:
    """Return the directory or file that an index's address names; None for a network address."""
    if word.startswith("/"):
        return Path(word)
    if word.startswith("file:"):
        return Path(unquote(urlsplit(word).path))
    return None


def _is_shown(word: str, places: Iterable[Path]) -> bool:
    place = local_place(word.partition("=")[2] if "=file:" in word else word)
    if place is None or str(place).startswith("/etc/registries/"):
        return True
    return any(place.is_relative_to(each) for each in places)


def ready_line(host: str, port: int) -> str:
    """Return the lines that a person copies into their own file for a private registry."""
    named = host if port in PORTS else f'"{host}:{port}"'
    return f"environment: {{registries: [{{host: {named}, private: true}}]}}"
