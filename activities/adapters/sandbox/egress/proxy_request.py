"""A program's request to the proxy: the head of one request, parsed strictly. Pure.

Two forms are accepted: `CONNECT host:port` for all encrypted traffic, and `GET http://host/…` (or
`HEAD`) for the rest. A head that two parsers could understand differently is refused, so that only
the judged host ever gets it.
"""

import re
from typing import Final, NamedTuple

_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443
_ORIGIN: Final = re.compile(r"/[^#]*", re.ASCII)
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "accept-encoding"})
"""Never passed on to a registry: the proxy adds its own credentials. Nor are encodings, because
compressed answers could not be searched."""
_LINE: Final = re.compile(r"([A-Za-z]{1,20}) ([\x21-\x7e]+) (HTTP/1\.[01])", re.ASCII)
_AUTHORITY: Final = re.compile(r"([^@/?#\\:]+|\[[^@/?#\\]*\])(?::([0-9]{1,5}))?", re.ASCII)
_ABSOLUTE: Final = re.compile(r"http://([^/?#]+)(/[^#]*|\?[^#]*)?", re.ASCII | re.IGNORECASE)
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_READING: Final = frozenset({"GET", "HEAD"})
_OURS: Final = frozenset({"host", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"})
"""For one connection only, or written again by the proxy; so are all names that begin with
`proxy-`."""
_FORMS: Final = "ask it by CONNECT, or by GET or HEAD with an address that begins with 'http://'"


class BadHeadError(ValueError):
    """The head cannot be accepted; the message says why, for the reader of set-up's output."""


class Asked(NamedTuple):
    """A parsed request."""

    host: str
    """As written; not judged yet."""
    port: int
    method: str
    path: str
    """The path to ask the host for; empty: the connection itself, as a tunnel."""
    version: str
    headers: tuple[tuple[str, str], ...]
    """The headers that go on to the host."""

    def forwarded(self, host: str) -> bytes:
        """Return the head for the host itself: for this one request, and with no other name.

        Args:
            host: its name as it was judged.
        """
        return self._head(self.path, self._place(host, _HTTP_PORT), self.headers)

    def above(self, host: str, authorization: tuple[str, ...]) -> bytes:
        """Return the same head for an upstream proxy.

        Args:
            host: its name as it was judged.
            authorization: lines for the proxy itself.
        """
        place = self._place(host, _HTTP_PORT)
        return self._head(f"http://{place}{self.path}", place, self.headers, authorization)

    def authorized(self, host: str, authorization: str) -> bytes:
        """Return the head for a registry, with its credentials in place of those from inside.

        Args:
            host: its name as it was judged.
            authorization: the value of the header.
        """
        kept = tuple(each for each in self.headers if each[0] not in _CREDENTIALS)
        headers = (*kept, ("accept-encoding", "identity"), ("Authorization", authorization))
        return self._head(self.path, self._place(host, _HTTPS_PORT), headers)

    def _place(self, host: str, usual: int) -> str:
        return host if self.port == usual else f"{host}:{self.port}"

    def _head(
        self,
        target: str,
        place: str,
        headers: tuple[tuple[str, str], ...],
        lines: tuple[str, ...] = (),
    ) -> bytes:
        named = (("Host", place), *headers, ("Connection", "close"))
        first = f"{self.method} {target} {self.version}"
        whole = (first, *(f"{name}: {value}" for name, value in named), *lines, "")
        return "".join(f"{line}\r\n" for line in whole).encode("latin-1")


def read_head(head: bytes) -> Asked:
    """Parse a request's head.

    Args:
        head: up to and including the empty line.

    Raises:
        BadHeadError: it is not a head, or of another form.
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


def read_inner_head(head: bytes, host: str, port: int) -> Asked:
    """Parse the head of a request within a tunnel that the proxy ended itself.

    Args:
        head: up to and including the empty line.
        host: the tunnel's target, by its normal name.
        port: the tunnel's target port.

    Raises:
        BadHeadError: it is not a head, names another host, or would do more than read.
    """
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    match = _LINE.fullmatch(first)
    if match is None or _ORIGIN.fullmatch(match[2]) is None:
        raise BadHeadError("the proxy of set-up does not read this request to a registry")
    headers = [_header(line) for line in lines]
    named = [value.lower() for name, value in headers if name == "host"]
    if len(named) != 1 or named[0].removesuffix(f":{port}").removesuffix(".") != host:
        raise BadHeadError(f"a request to the registry {host!r} names another host, or none")
    asked = _plain((match[1], f"http://{host}{match[2]}", match[3]), headers)
    return asked._replace(host=host, port=port)


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
