"""What a program asks of the proxy: the head of one request, read strictly. Pure.

Two forms are read: `CONNECT host:port`, for everything that is encrypted, and `GET http://host/…`
(or `HEAD`), for what is not. A head that two readers could understand differently is refused, so
that nothing but the judged host ever gets it.
"""

import re
from typing import Final, NamedTuple

_HTTP_PORT: Final = 80
_LINE: Final = re.compile(r"([A-Za-z]{1,20}) ([\x21-\x7e]+) (HTTP/1\.[01])", re.ASCII)
_AUTHORITY: Final = re.compile(r"([^@/?#\\:]+|\[[^@/?#\\]*\])(?::([0-9]{1,5}))?", re.ASCII)
_ABSOLUTE: Final = re.compile(r"http://([^/?#]+)(/[^#]*|\?[^#]*)?", re.ASCII | re.IGNORECASE)
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_READING: Final = frozenset({"GET", "HEAD"})
_OURS: Final = frozenset({"host", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"})
"""Of one connection only, or written again; so is everything that begins with `proxy-`."""
_FORMS: Final = "ask it by CONNECT, or by GET or HEAD with an address that begins with 'http://'"


class BadHeadError(ValueError):
    """The head cannot be taken; the message says why, for the reader of the set-up's output."""


class Asked(NamedTuple):
    """What is asked for."""

    host: str
    """As it was written; not judged yet."""
    port: int
    method: str
    path: str
    """What is asked of the host; empty: the connection itself, as a tunnel."""
    version: str
    headers: tuple[tuple[str, str], ...]
    """Those that go on to the host."""

    def forwarded(self, host: str) -> bytes:
        """Return the head for the host itself: of this one request, and with no other name.

        Args:
            host: its name as it was judged.
        """
        place = host if self.port == _HTTP_PORT else f"{host}:{self.port}"
        headers = (("Host", place), *self.headers, ("Connection", "close"))
        lines = (f"{self.method} {self.path} {self.version}", *(f"{n}: {v}" for n, v in headers))
        return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1")


def read_head(head: bytes) -> Asked:
    """Read a request's head.

    Args:
        head: up to and with the empty line.

    Raises:
        BadHeadError: it is none, or of another form than the two.
    """
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    match = _LINE.fullmatch(first)
    if match is None:
        raise BadHeadError(f"the proxy of set-up does not read this request: {_FORMS}")
    method, target, version = match.groups()
    headers = [_header(line) for line in lines]
    if method == "CONNECT":
        host, port = _authority(target, default=None)
        return Asked(host, port, method, "", version, ())
    return _plain((method, target, version), headers)


def _plain(line: tuple[str, str, str], headers: list[tuple[str, str]]) -> Asked:
    method, target, version = line
    absolute = _ABSOLUTE.fullmatch(target)
    if method not in _READING or absolute is None:
        raise BadHeadError(f"the proxy of set-up takes no {method} of {target[:200]!r}: {_FORMS}")
    if any(name == "transfer-encoding" or _has_body(name, value) for name, value in headers):
        raise BadHeadError(f"the proxy of set-up takes no {method} with a body: {_FORMS}")
    host, port = _authority(absolute[1], default=_HTTP_PORT)
    path = absolute[2] or "/"
    dropped = _dropped(headers)
    kept = tuple(each for each in headers if each[0] not in dropped)
    return Asked(host, port, method, path if path[0] == "/" else f"/{path}", version, kept)


def _header(line: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(line)
    if match is None:
        raise BadHeadError(f"the proxy of set-up does not read the header {line[:100]!r}: {_FORMS}")
    return match[1].lower(), match[2].rstrip(" \t")


def _has_body(name: str, value: str) -> bool:
    return name == "content-length" and value != "0"


def _dropped(headers: list[tuple[str, str]]) -> set[str]:
    named = {
        word.strip().lower()
        for name, value in headers
        if name == "connection"
        for word in value.split(",")
    }
    return {*_OURS, *named, *(name for name, _ in headers if name.startswith("proxy-"))}


def _authority(text: str, default: int | None) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(text)
    port = default if match is None or match[2] is None else int(match[2])
    if match is None or port is None or not 0 < port < 1 << 16:
        raise BadHeadError(f"{text[:200]!r} names no host with its port: {_FORMS}")
    return match[1], port
