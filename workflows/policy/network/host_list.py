"""Which hosts set-up commands may reach: compares a request with the list that a person wrote.

An entry is a name (`files.example.org`), a name with a port (`git.example.org:8443`), or
`*.example.org` for every name below `example.org`, but not for itself. Without a port an entry
means 443 and 80. Names are compared as in DNS: lower case, no dot at the end, IDNA. An address is
never a name, however it is written. `policy.network.public_addresses` judges what a name
resolves to.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

PORTS: Final = (443, 80)
"""The ports of an entry without a port: HTTPS and HTTP."""
MAX_CHARS: Final = 253
KEY: Final = "worktree.network"

_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""What a resolver reads as the last part of an IPv4 address; no top-level domain looks like
this."""
_PORT: Final = re.compile(r"[0-9]{1,5}", re.ASCII)
_AMBIGUOUS: Final = re.compile("[ßẞς\u200c\u200d]")
"""Letters that the two versions of IDNA turn into different names."""
_BELOW: Final = "*."
_LAST_PORT: Final = 65_535
_FEWEST_LABELS: Final = 2

_EMPTY: Final = "it is empty"
_ADDRESS: Final = "it is an address, and only names can be listed"
_SHORT: Final = "it is not a full name; write it with its domain, as in 'files.example.org'"
_UNSURE: Final = (
    "it holds letters that programs turn into different names; write it in the form that begins "
    "with 'xn--'"
)
_NO_NAME: Final = (
    "it is not a host name; write it as in 'files.example.org', 'git.example.org:8443' or "
    "'*.example.org'"
)


class HostName(NamedTuple):
    """A host's name as in DNS, or why it is not valid."""

    name: str
    """Empty if there is a fault."""
    fault: str = ""


class HostEntry(NamedTuple):
    """One entry, ready for comparing."""

    name: str
    below: bool
    """Means the names below `name`, but not `name` itself."""
    ports: tuple[int, ...]


class Refusal(NamedTuple):
    """Why a host may not be reached."""

    about: str
    """What is refused, and why."""
    instead: str
    """What a person can do about it."""

    @property
    def text(self) -> str:
        """One line for a person."""
        return f"{self.about}: {self.instead}"


def normal_name(text: str) -> HostName:
    """Return a host's name as in DNS.

    Args:
        text: as a person or a program wrote it; with colons or brackets it is an address.
    """
    bare = text.strip(" ")
    if not bare:
        return HostName("", _EMPTY)
    if any(sign in bare for sign in "[]:%"):
        return HostName("", _ADDRESS)
    if _AMBIGUOUS.search(bare):
        return HostName("", _UNSURE)
    name = _in_dns(bare.removesuffix("."))
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return HostName("", _ADDRESS)
    if not all(map(_LABEL.fullmatch, labels)):
        return HostName("", _NO_NAME)
    return HostName(name) if len(labels) >= _FEWEST_LABELS else HostName("", _SHORT)


def _in_dns(text: str) -> str:
    """Encode a name by IDNA; empty if it cannot be encoded or is too long."""
    try:
        name = text.encode("idna").decode("ascii").lower() if len(text) <= MAX_CHARS else ""
    except UnicodeError:
        return ""
    return name if len(name) <= MAX_CHARS else ""


def entry_fault(entry: str) -> str | None:
    """Say why an entry of the list is invalid; None for a valid one."""
    parsed = _parse(entry)
    return parsed if isinstance(parsed, str) else None


def host_refusal(host: str, port: int, entries: Iterable[str]) -> Refusal | None:
    """Refuse a connection that no entry allows.

    | the host is                     | answer                                   |
    |---------------------------------|------------------------------------------|
    | an address, in any spelling     | refused; only names can be listed        |
    | not a name                      | refused                                  |
    | listed, by itself or by a `*.`  | allowed, if the port is one of the entry |
    | anything else                   | refused, with the entry that is missing  |

    Args:
        host: as a program wrote it.
        port: the port that it asks for.
        entries: the person's list; an invalid entry allows nothing.
    """
    name, fault = normal_name(host)
    if fault:
        about = f"host {host[:MAX_CHARS]!r} is not reached from set-up: {fault}"
        return Refusal(about, f"name a host that {KEY!r} can list")
    parsed = (each for each in map(_parse, entries) if isinstance(each, HostEntry))
    covering = [each for each in parsed if _covers(each, name)]
    if any(port in each.ports for each in covering):
        return None
    wanted = name if port in PORTS and not covering else f"{name}:{port}"
    what = f"port {port} of host {name!r}" if covering else f"host {name!r}"
    return Refusal(
        f"{what} is not in {KEY!r}, so set-up does not reach it",
        f"if it should, add {wanted!r} there in your own configuration",
    )


def registry_fault(host: str) -> str | None:
    """Say why a text cannot name a registry's host; None if it can."""
    if host.startswith(_BELOW):
        return "a registry is one host; write its whole name"
    return entry_fault(host)


def covers(entry: str, host: str, port: int) -> bool:
    """Whether this entry alone allows this host and port.

    Args:
        entry: as in the list; an invalid one matches nothing.
        host: its normal name.
        port: the port that is asked for.
    """
    parsed = _parse(entry)
    return isinstance(parsed, HostEntry) and _covers(parsed, host) and port in parsed.ports


def _covers(entry: HostEntry, name: str) -> bool:
    return name.endswith(f".{entry.name}") if entry.below else name == entry.name


def _parse(entry: str) -> HostEntry | str:
    """Parse an entry; a text is the reason why it is invalid."""
    if "/" in entry:
        return _NO_NAME
    host, colon, port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if colon and not (_PORT.fullmatch(port) and 0 < int(port) <= _LAST_PORT):
        return f"its port {port!r} is not a number from 1 to {_LAST_PORT}"
    below = host.startswith(_BELOW)
    bare = host.removeprefix(_BELOW)
    if "*" in bare:
        return "a '*' stands for whole labels at the beginning, as in '*.example.org'"
    name, fault = normal_name(bare)
    return fault or HostEntry(name, below, (int(port),) if colon else PORTS)
