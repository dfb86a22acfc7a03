"""The values of the section `environment`: which places and variables may be named.

Pure: the workers check whether a place exists and may be shown.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from starter.configuration.configuration_errors import ConfigurationError
from workflows.domain.environment import ProjectEnvironment

_HOME: Final = "~/"
_OWN: Final = frozenset({"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "PWD", "IFS"})
_OWN_BEGINNINGS: Final = ("BLUEFLAME_", "GIT_", "LD_", "SSH_")
_PROXIES: Final = re.compile(r"(?:https?|all|no|ftp)_proxy", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)(?:_|$)",
    re.IGNORECASE,
)


def toolchain_fault(path: str) -> str | None:
    """Say why a text cannot name a toolchain; None if it can."""
    if not path.startswith(("/", _HOME)):
        return "a toolchain is named by its whole path, or from your home on by '~/'"
    if ".." in path.split("/") or set(path) & {":", "\0", "\n"}:
        return "'..', ':' and line breaks have no place in it"
    return None


def ca_file_fault(path: str) -> str | None:
    """Say why a text cannot name a file of certificates; None if it can."""
    if not path.startswith(("/", _HOME)) or "\0" in path:
        return "name it by its whole path, or from your home on by '~/'"
    return None


def upstream_proxy_fault(address: str) -> str | None:
    """Say why a text cannot name the upstream proxy, without repeating it; None if it can."""
    parts = urlsplit(address)
    try:
        has_port = parts.port is not None
    except ValueError:
        has_port = False
    if "@" in address:
        return "no name and no password stand here: put them into your ~/.netrc, by its host"
    if parts.scheme != "http" or not parts.hostname or not has_port or parts.path not in {"", "/"}:
        return "write it as 'http://proxy.example.org:3128'"
    return None


def variable_fault(name: str) -> str | None:
    """Say why a variable cannot be set; None if it can."""
    if name in _OWN or name.startswith(_OWN_BEGINNINGS) or _PROXIES.fullmatch(name):
        return "the sandbox sets it; programs are found through 'environment.toolchains'"
    if _SECRET.search(name):
        return (
            "it looks like a secret, and agents can read it; if the tests need a value, set a "
            "harmless one under another name"
        )
    return None


def expanded(environment: ProjectEnvironment, variables: Mapping[str, str]) -> ProjectEnvironment:
    """Return an environment with `~/` replaced by the person's home.

    Args:
        environment: as written.
        variables: those of this process; only HOME is used.

    Raises:
        ConfigurationError: there is no home.
    """
    home = variables.get("HOME", "")
    texts = (*environment.places, *environment.variables.values(), environment.ca_file or "")
    if not home.startswith("/") and any(map(_is_in_home, texts)):
        raise ConfigurationError(
            "environment: '~/' cannot be told, for HOME is not set; write the whole path"
        )
    return ProjectEnvironment(
        toolchains=tuple(_expanded(path, home) for path in environment.toolchains),
        root=None if environment.root is None else _expanded(environment.root, home),
        variables={name: _expanded(text, home) for name, text in environment.variables.items()},
        registries=environment.registries,
        upstream_proxy=environment.upstream_proxy,
        no_proxy=environment.no_proxy,
        ca_file=None if environment.ca_file is None else _expanded(environment.ca_file, home),
        memory_mb=environment.memory_mb,
        processes=environment.processes,
        file_mb=environment.file_mb,
        disk_mb=environment.disk_mb,
    )


def _is_in_home(text: str) -> bool:
    return text.startswith(_HOME)


def _expanded(text: str, home: str) -> str:
    """Replace `~/` with the home; a slash at the end is ignored."""
    whole = f"{home.rstrip('/')}/{text.removeprefix(_HOME)}" if _is_in_home(text) else text
    return whole.rstrip("/") or whole


def ready_line(toolchains: Sequence[str]) -> str:
    """Return the line that a person copies into their own file to show these toolchains."""
    return f"environment: {{toolchains: [{', '.join(toolchains)}]}}"
