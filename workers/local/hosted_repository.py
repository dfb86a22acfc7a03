"""What a pull request of the person's repository would need; no service is asked anything."""

from collections.abc import Mapping
from pathlib import Path

from activities.adapters.hosting.hosting_services import HostingServices
from activities.adapters.hosting.hosting_tokens import token_source
from activities.ports.land.hosting_entries import HostingEntries
from workers.local.person_repository import hosted_at


async def describe(
    root: Path, remote: str, entries: HostingEntries, environment: Mapping[str, str]
) -> str:
    """Return repository, service and where the token comes from, in words without the token.

    Args:
        root: the repository's.
        remote: the name of its remote.
        entries: the hosting services that the person allows.
        environment: may hold the token, and has the PATH with `gh` or `glab`.

    Raises:
        HostingRefusedError: something is missing; the message says what to add.
    """
    hosting = HostingServices(entries, environment)
    address = await hosted_at(root, remote)
    service = hosting.allowed(address)
    source = await token_source(service, environment)
    place = f"{address.repository} on {service.host} ({service.api}), remote {remote}"
    return f"{place}; token: {source} (set, not tried)"
