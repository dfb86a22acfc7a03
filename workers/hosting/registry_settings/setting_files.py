"""Files of settings, and addresses of indexes, separated from their credentials."""

import base64
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from activities.ports.registry_access import Credential

_MOST_BYTES: Final = 1 << 20
_PORTS: Final = {"https": 443, "http": 80}
_USERINFO: Final = re.compile(r"(?<=://)[^/\s@\"'<>]*@")


@dataclass(frozen=True)
class Person:
    """Where a person's settings are: files and variables."""

    home: Path
    variables: Mapping[str, str]
    system: Path = Path("/etc")

    def text(self, *places: Path | str | None) -> list[str]:
        """Return the texts of the files that exist; `~/` is the home."""
        named = (self.path(each) for each in places if each)
        return [text for each in named if (text := _read(each)) is not None]

    def path(self, place: Path | str) -> Path:
        """Return a place; `~/` is the home, `etc/` the system's settings."""
        text = str(place)
        if text.startswith("~/"):
            return self.home / text[2:]
        return self.system / text[4:] if text.startswith("etc/") else Path(text)

    @property
    def config(self) -> Path:
        """Return `~/.config`, or the directory that XDG variables name instead."""
        return Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")

    def expanded(self, text: str) -> str:
        """Replace `${NAME}`, as npm does; a name that is not set stays as it is."""
        return re.sub(r"\$\{([^}]+)\}", lambda m: self.variables.get(m[1], m[0]), text)


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def tables(texts: Iterable[str]) -> list[dict[str, object]]:
    """Return TOML files as tables; unreadable files are left out."""
    read: list[dict[str, object]] = []
    for text in texts:
        try:
            read.append(tomllib.loads(text))
        except tomllib.TOMLDecodeError:
            continue
    return read


def table(value: object) -> dict[str, object]:
    """Return a table; an empty one for anything else."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return a list; any other value as the only item of a list."""
    return cast("list[object]", value) if isinstance(value, list) else [value]


def bare(text: str) -> str:
    """Return a text without the credentials in its addresses."""
    return _USERINFO.sub("", text)


def place_of(address: str) -> tuple[str, int] | None:
    """Return host and port of a web address; None for any other text."""
    try:
        parts = urlsplit(address.removeprefix("sparse+"))
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port and parts.scheme in _PORTS else None


def credential_of(address: str, source: str) -> Credential | None:
    """Return the credentials in an index's address, for https only."""
    place = place_of(address)
    if place is None or not address.startswith("https:"):
        return None
    parts = urlsplit(address)
    if parts.username is None:
        return None
    return basic(place, source, unquote(parts.username), unquote(parts.password or ""))


def basic(place: tuple[str, int], source: str, user: str, password: str) -> Credential:
    """Return a name and a password as a header value (RFC 7617)."""
    coded = base64.b64encode(f"{user}:{password}".encode()).decode()
    secrets = (coded, password) if password else (coded, user)
    return header(place, source, f"Basic {coded}", secrets)


def header(place: tuple[str, int], source: str, value: str, secrets: tuple[str, ...]) -> Credential:
    """Return credentials given as the value of their header."""
    host, port = place
    clean = "".join(value.splitlines())
    return Credential(host=host, port=port, source=source, authorization=clean, secrets=secrets)


def home_of(variables: Mapping[str, str]) -> Path:
    """Return the home that a process was given, or a directory that does not exist."""
    return Path(variables.get("HOME") or os.devnull)
