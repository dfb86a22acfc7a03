"""What every adapter of hosting services is given: the person's entries, tokens, a transport."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from activities.ports.land.hosting_entries import HostingEntry, services

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport


class ConfiguredServices:
    """The hosting services of section `hosting`, by host, and how they are reached."""

    def __init__(
        self,
        entries: Mapping[str, HostingEntry],
        environment: Mapping[str, str],
        wire: "AsyncBaseTransport | None" = None,
    ) -> None:
        """Take what the person configured, where tokens are, and another transport for tests."""
        self._services = services(entries)
        self._environment = environment
        self._wire = wire
