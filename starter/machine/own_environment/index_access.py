"""What a person's own file must contain so that set-up reaches their package indexes.

That is: index hosts with an address that is not public, directories of packages, certificates, and
the proxy that their network requires. Names are resolved here, each for a short while.
"""

import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import JsonValue

from activities.ports.registry_access import ToolSettings, local_place
from workers.hosting.registry_settings.other_settings import cargo_settings, npm_settings
from workers.hosting.registry_settings.python_settings import (
    pip_settings,
    pip_values,
    uv_settings,
)
from workers.hosting.registry_settings.setting_files import Person
from workflows.policy.network.public_addresses import address_fault

_PATIENCE_S: Final = 2.0
_TRUST: Final = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
_PROXIES: Final = ("HTTPS_PROXY", "https_proxy")
_READERS: Final = {
    "pip": (pip_settings, uv_settings),
    "npm": (npm_settings,),
    "cargo": (cargo_settings,),
}


def index_places(index: str, person: Person) -> list[str]:
    """Return the directories in which a tool finds packages on this machine, as toolchains.

    Args:
        index: the tool, as `activities.projects.proposal` names it.
        person: the owner of the settings.
    """
    found: dict[str, None] = {}
    for settings in _settings(index, person):
        for word in (word for words in settings.variables.values() for word in words):
            place = local_place(word)
            if place is not None and place.is_dir():
                # An index's pages link to files next to them.
                found[str(place.parent if place.name == "simple" else place)] = None
    return list(found)


def access_lines(
    hosts: Sequence[str], indexes: Sequence[str], person: Person
) -> dict[str, JsonValue]:
    """Return the keys of the section `environment` that these hosts need; empty if none does.

    Args:
        hosts: as `worktree.network` would list them.
        indexes: the tools that take packages from them.
        person: the owner of the settings.
    """
    logins = {
        (each.host, each.port): each.source
        for index in indexes
        for settings in _settings(index, person)
        for each in settings.credentials
    }
    registries = [entry for each in hosts if len(entry := _registry(each, logins)) > 1]
    said: dict[str, JsonValue] = {"registries": [*registries]} if registries else {}
    if proxy := _proxy(person.variables):
        said["upstream_proxy"] = proxy
    if hosts and (file := _authorities(person)):
        said["ca_file"] = file
    return said


def _settings(index: str, person: Person) -> list[ToolSettings]:
    return [read(person) for read in _READERS.get(index, ())]


def _registry(entry: str, logins: Mapping[tuple[str, int], str]) -> dict[str, JsonValue]:
    host, _, port = entry.partition(":")
    said: dict[str, JsonValue] = {"host": entry}
    if any(address_fault(each) for each in _addresses(host)):
        said["private"] = True
    if source := logins.get((host, int(port or 443))):
        said["token_from"] = source
    return said


def _addresses(host: str) -> list[str]:
    """Resolve a name; return nothing if no server answers soon."""
    found: list[str] = []

    def look() -> None:
        try:
            answers = socket.getaddrinfo(f"{host}.", None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return
        found.extend(str(address[0]) for *_, address in answers)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(_PATIENCE_S)
    return [*found]


def _proxy(variables: Mapping[str, str]) -> str | None:
    for name in _PROXIES:
        try:
            parts = urlsplit(variables.get(name, ""))
            host, port = parts.hostname, parts.port
        except ValueError:
            continue
        if parts.scheme == "http" and host and port:
            return f"http://{host}:{port}"
    return None


def _authorities(person: Person) -> str | None:
    """Return the certificates that the person's programs are configured to trust."""
    told = (pip_values(person).get("cert"), *(person.variables.get(name) for name in _TRUST))
    return next((each for each in told if each and Path(each).is_file()), None)
