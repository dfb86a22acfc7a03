"""Registries of a person's own: which hosts set-up reaches in a way that strangers' hosts are not.

A session names them, as its configuration said when it started; a host serves only those that its
own process was told of. So no one who can start a session, and no repository, opens a private host.
"""

from dataclasses import dataclass, field
from typing import Final

from workflows.domain.environment import RegistryAccess
from workflows.policy.network.host_list import covers

KEY: Final = "environment.registries"


class RegistryError(Exception):
    """Registries cannot be had as a session wants them; the message says which and what to do."""


@dataclass(frozen=True)
class Registries:
    """What one host was told of registries."""

    told: RegistryAccess = field(default_factory=RegistryAccess)
    own_ports: frozenset[int] = field(default_factory=frozenset[int])
    """Where Blue Flame itself listens on this machine: never reached at an address not public."""

    def wanted(self, access: RegistryAccess) -> "ReachableRegistries":
        """Return what a session may reach.

        Raises:
            RegistryError: this host was not told of a registry; the message says how to tell it.
        """
        for registry in access.registries:
            if registry not in self.told.registries:
                raise RegistryError(
                    f"registry {registry.host!r} is not known to the workers here as the session "
                    f"describes it: they were started without it. Name it under `{KEY}` in your "
                    "own configuration (or in BLUEFLAME_REGISTRIES where the workers start), and "
                    "start them again"
                )
        return ReachableRegistries(access, self.own_ports)


@dataclass(frozen=True)
class ReachableRegistries:
    """What the proxy of one command goes by."""

    access: RegistryAccess = field(default_factory=RegistryAccess)
    own_ports: frozenset[int] = field(default_factory=frozenset[int])

    def is_private(self, host: str, port: int) -> bool:
        """Whether a host may lead to an address that is not public.

        Args:
            host: its normal name.
            port: what is asked for.
        """
        private = (each.host for each in self.access.registries if each.private)
        return any(covers(each, host, port) for each in private)


def ready_line(host: str) -> str:
    """Return what a person copies into a file of their own for a private registry."""
    return f"environment: {{registries: [{{host: {host}, private: true}}]}}"
