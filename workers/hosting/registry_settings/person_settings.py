"""All of a person's settings of package tools together, with certificates and the proxy's key."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote, urlsplit

from activities.adapters.sandbox.egress.network_socket import PORT
from activities.ports.registry_access import Credential, ToolSettings
from workers.hosting.registry_settings.other_settings import (
    cargo_settings,
    go_settings,
    maven_settings,
    netrc_credentials,
    npm_settings,
)
from workers.hosting.registry_settings.python_settings import pip_settings, uv_settings
from workers.hosting.registry_settings.setting_files import Person, basic
from workflows.domain.environment import RegistryAccess

_CERTIFICATE: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----"
)
_PROXIES: Final = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")


def read_tool_settings(access: RegistryAccess, person: Person) -> ToolSettings:
    """Return the settings from the person's files and variables.

    Args:
        access: which registries take credentials, and where certificates are.
        person: whose files.
    """
    parts = (
        pip_settings(person),
        uv_settings(person),
        npm_settings(person),
        cargo_settings(person),
        go_settings(person),
        maven_settings(person, ("127.0.0.1", PORT)),
    )
    machines = netrc_credentials(person)
    authorities, fault = _authorities(access.ca_file, person)
    return ToolSettings(
        variables={name: words for part in parts for name, words in part.variables.items()},
        separators={name: sign for part in parts for name, sign in part.separators.items()},
        files={path: text for part in parts for path, text in part.files.items()},
        authorities=authorities,
        credentials=(*_wanted(access, parts), *_of_netrc(access, machines)),
        proxy_authorization=_proxy_authorization(access.upstream_proxy, machines, person),
        fault=fault,
    )


def _wanted(access: RegistryAccess, parts: Iterable[ToolSettings]) -> Iterable[Credential]:
    """Return only the credentials that the configuration lets the proxy add."""
    sources = {each.token_from for each in access.registries}
    return (each for part in parts for each in part.credentials if each.source in sources)


def _of_netrc(access: RegistryAccess, machines: dict[str, tuple[str, str]]) -> Iterable[Credential]:
    for registry in access.registries:
        host, _, port = registry.host.partition(":")
        if registry.token_from == "netrc" and host in machines:  # noqa: S105 (a tool's name)
            yield basic((host, int(port or 443)), "netrc", *machines[host])


def _proxy_authorization(
    address: str | None, machines: dict[str, tuple[str, str]], person: Person
) -> str:
    """Return the upstream proxy's credentials, from their own variable or the netrc."""
    if address is None:
        return ""
    wanted = urlsplit(address)
    for name in _PROXIES:
        try:
            said = urlsplit(person.variables.get(name, ""))
            is_same = (said.hostname, said.port) == (wanted.hostname, wanted.port)
        except ValueError:
            continue
        if is_same and said.username:
            pair = (unquote(said.username), unquote(said.password or ""))
            return basic(("", 0), "proxy", *pair).authorization
    found = machines.get(wanted.hostname or "")
    return basic(("", 0), "proxy", *found).authorization if found else ""


def _authorities(file: str | None, person: Person) -> tuple[str, str]:
    """Return only the certificates of a file, or what is wrong with it."""
    if file is None:
        return "", ""
    found = [each for text in person.text(file) for each in _CERTIFICATE.findall(text)]
    if not found:
        return "", (
            f"`environment.ca_file` {file!r} cannot be read, or holds no certificate in PEM form. "
            "Correct the path, or take the key out of your own configuration"
        )
    return "".join(f"{each}\n" for each in found), ""
