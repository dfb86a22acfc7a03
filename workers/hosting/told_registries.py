"""What this host's process was told of registries, and which of its own ports no set-up reaches."""

from urllib.parse import urlsplit

from activities.ports.registry_access import Registries
from workers.settings import Settings


def told_registries(settings: Settings) -> Registries:
    """Return what set-up here may reach beside public addresses."""
    return Registries(settings.registries, own_ports(settings))


def own_ports(settings: Settings) -> frozenset[int]:
    """Return the ports on which Blue Flame and its Temporal server listen, as far as is known."""
    addresses = (settings.server, settings.temporal.get("TEMPORAL_ADDRESS"))
    named = (_port(each) for each in addresses if each)
    configured = (settings.temporal_port, settings.ui_port)
    return frozenset(port for port in (*named, *configured) if port)


def _port(address: str) -> int:
    try:
        return urlsplit(f"//{address}").port or 0
    except ValueError:
        return 0
