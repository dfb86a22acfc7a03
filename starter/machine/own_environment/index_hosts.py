"""The package hosts in a person's own settings of pip, uv, npm, cargo and Go.

Only hosts are used: names, passwords and tokens in an address are dropped.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_ADDRESS: Final = re.compile(r"https?://[^\s\"',;|\]]+")
_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "pip": ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX"),
    "npm": ("NPM_CONFIG_REGISTRY", "npm_config_registry", "YARN_NPM_REGISTRY_SERVER"),
    "cargo": ("CARGO_REGISTRIES_CRATES_IO_INDEX",),
    "go": ("GOPROXY",),
}
_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "pip": ("~/.config/pip/pip.conf", "~/.pip/pip.conf", "/etc/pip.conf", "~/.config/uv/uv.toml"),
    "npm": ("~/.npmrc", "/etc/npmrc", "~/.yarnrc.yml"),
    "cargo": ("~/.cargo/config.toml", "~/.cargo/config"),
    "go": ("~/.config/go/env",),
    "bundler": ("~/.bundle/config",),
    "composer": ("~/.config/composer/config.json", "~/.composer/config.json"),
    "maven": ("~/.m2/settings.xml",),
}
_SAID: Final = re.compile(r"index|registry|proxy|mirror|url|source|repositor", re.IGNORECASE)
_MOST_BYTES: Final = 1 << 20


def index_hosts(index: str, home: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the hosts of one tool's package index; empty if the person set none.

    Args:
        index: the tool, as `activities.projects.proposal` names it.
        home: the home with its settings.
        variables: those of this process.
    """
    texts = [variables.get(name, "") for name in _VARIABLES.get(index, ())]
    texts += [
        line
        for name in _FILES.get(index, ())
        for line in _read(home / name[2:] if name.startswith("~/") else Path(name))
        if _SAID.search(line) and not line.lstrip().startswith(("#", ";", "//"))
    ]
    found = (host for text in texts for host in _hosts(text))
    return tuple(dict.fromkeys(found))


def _read(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _hosts(text: str) -> Iterator[str]:
    """Return `name`, or `name:port` if the port is neither 443 nor 80."""
    for address in _ADDRESS.finditer(text):
        try:
            parts = urlsplit(address[0])
            host, port = parts.hostname, parts.port
        except ValueError:
            continue
        if host:
            yield host if port in {None, 80, 443} else f"{host}:{port}"
