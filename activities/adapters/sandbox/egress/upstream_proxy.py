"""Reaches a host through the HTTP proxy that the person's own network requires (RFC 9110)."""

import asyncio
from typing import Final
from urllib.parse import urlsplit

_HEAD_BYTES: Final = 16 << 10
_GOOD: Final = b"200"
_WANTS_LOGIN: Final = b"407"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class UpstreamError(Exception):
    """The upstream proxy did not connect; the message says what it answered and what to do."""


async def connect(address: str) -> Streams:
    """Connect to the proxy itself.

    Raises:
        UpstreamError: it does not answer.
    """
    parts = urlsplit(address)
    try:
        return await asyncio.open_connection(parts.hostname, parts.port, limit=_HEAD_BYTES)
    except OSError as error:
        said = error.strerror or "no answer"
        raise UpstreamError(f"the upstream proxy {address!r} is not reached: {said}") from error


async def tunnel(streams: Streams, address: str, place: str, authorization: str) -> None:
    """Ask the proxy for a tunnel to a place.

    Args:
        streams: the connection to the proxy.
        address: the proxy's, for messages.
        place: `host:port`.
        authorization: the proxy's credentials; empty: none.

    Raises:
        UpstreamError: it refuses.
    """
    reader, writer = streams
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}", *authorization_lines(authorization)]
    writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1"))
    await writer.drain()
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise UpstreamError(f"the upstream proxy {address!r} gives no answer to read") from error
    status = (*head.split(b"\r\n", 1)[0].split(b" ", 2), b"", b"")[1]
    if status == _WANTS_LOGIN:
        raise UpstreamError(
            f"the upstream proxy {address!r} wants a name and a password (407): put them into your "
            "~/.netrc, by the proxy's host"
        )
    if status != _GOOD:
        shown = status.decode("latin-1")[:3]
        raise UpstreamError(f"the upstream proxy {address!r} refuses {place!r} ({shown!r})")


def authorization_lines(authorization: str) -> tuple[str, ...]:
    """Return the header for the proxy, if it needs one."""
    return (f"Proxy-Authorization: {authorization}",) if authorization else ()
