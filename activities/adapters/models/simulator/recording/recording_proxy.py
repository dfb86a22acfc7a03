"""Passes requests on to their providers and answers back, each byte as it arrives.

It changes only what belongs to one connection: hop-by-hop headers, and the host's name. If the
provider's connection breaks, the caller's breaks too; if the caller leaves, the proxy leaves the
provider. It records what passed after the end.

| the provider                     | the caller gets                    |
|----------------------------------|------------------------------------|
| cannot be reached                | 502, so nothing was billed         |
| leaves before any answer         | 504, so it may have been billed    |
| answers                          | the answer                         |
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from activities.adapters.models.simulator.recording.captured_answer import (
    MOST_BYTES,
    Captured,
    Ending,
)
from activities.adapters.models.simulator.recording.upstreams import Destination, Upstreams

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response
    from starlette.types import Message, Receive, Scope, Send

_CONNECTS_S: Final = 30.0
_OF_ONE_CONNECTION: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OURS: Final = _OF_ONE_CONNECTION | {b"host", b"content-length", b"expect"}
"""Headers of a request that the connection to the provider sets itself."""
Headers = list[tuple[bytes, bytes]]


class Asked(NamedTuple):
    """One request as received."""

    method: str
    path: str
    """Still encoded, without the query."""
    query: str
    headers: Headers
    body: bytes

    @property
    def header(self) -> Mapping[str, str]:
        """The headers by their names in lower case."""
        return {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in self.headers}


Note = Callable[[Asked, Destination, Captured], None]


class Proxy:
    """An ASGI application; belongs to one event loop."""

    def __init__(
        self, upstreams: Upstreams, meet: Callable[[Asked], None], note: Note, *, trust_env: bool
    ) -> None:
        """Prepare the proxy.

        Args:
            upstreams: where requests go.
            meet: called with each request before it goes on.
            note: called with each request and its answer after its end.
            trust_env: whether to use proxies of the environment.
        """
        self._upstreams = upstreams
        self._meet = meet
        self._note = note
        self._trust_env = trust_env
        self._made: AsyncClient | None = None

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        asked = await _read(scope, receive)
        if asked is None:
            return
        self._meet(asked)
        destination = self._upstreams.destination(asked.method, asked.path, asked.header)
        if destination is None:
            unknown = f"no provider is known for {asked.path!r}; name it by --to"
            await _send(send, _own(404, unknown))
            return
        passing = asyncio.create_task(self._pass(asked, destination, send))
        gone = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait({passing, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            passing.cancel()
            await asyncio.wait({passing, gone})
        if not passing.cancelled():
            passing.result()

    async def aclose(self) -> None:
        """Close the connections to the providers."""
        if self._made is not None:
            await self._made.aclose()

    def _client(self) -> "AsyncClient":
        if self._made is None:
            from httpx2 import AsyncClient, Limits, Timeout

            self._made = AsyncClient(
                trust_env=self._trust_env,
                follow_redirects=False,
                # The caller limits how long an answer may take.
                timeout=Timeout(None, connect=_CONNECTS_S),
                limits=Limits(max_connections=None, max_keepalive_connections=20),
            )
        return self._made

    async def _pass(self, asked: Asked, destination: Destination, send: "Send") -> None:
        response = await self._answer(asked, destination)
        if isinstance(response, Captured):
            self._note(asked, destination, response)
            await _send(send, response)
            return
        chunks: list[bytes] = []
        headers = [(k, v) for k, v in response.headers.raw if k.lower() not in _OF_ONE_CONNECTION]
        ending: Ending = "left"
        try:
            await send(_start(response.status_code, headers))
            # An error's body may be long, and is not needed.
            ending = await _pump(response, chunks if destination.dialect else None, send)
        finally:
            self._note(asked, destination, Captured(response.status_code, headers, chunks, ending))
            await response.aclose()
        if ending in ("whole", "too_long"):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _answer(self, asked: Asked, destination: Destination) -> "Response | Captured":
        """Send a request on; answer as the proxy if the provider gives no answer."""
        import httpx2

        unsent = (
            httpx2.ConnectError,
            httpx2.ConnectTimeout,
            httpx2.ProxyError,
            httpx2.UnsupportedProtocol,
            httpx2.InvalidURL,
        )
        try:
            url = httpx2.URL(destination.url + (f"?{asked.query}" if asked.query else ""))
            # Built here, because the client would add its own headers.
            headers = [(k, v) for k, v in asked.headers if k.lower() not in _OURS]
            request = httpx2.Request(asked.method, url, headers=headers, content=asked.body)
            return await self._client().send(request, stream=True)
        except unsent as error:
            return _own(502, f"{destination.url} cannot be reached ({type(error).__name__})")
        except httpx2.HTTPError as error:
            return _own(504, f"{destination.url} gave no answer ({type(error).__name__})")


async def _pump(response: "Response", chunks: list[bytes] | None, send: "Send") -> Ending:
    from httpx2 import HTTPError

    kept = 0
    try:
        async for chunk in response.aiter_raw():
            if chunks is not None:
                kept += len(chunk)
                if kept <= MOST_BYTES:
                    chunks.append(chunk)
                else:
                    chunks.clear()
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except HTTPError:
        return "broken"
    return "whole" if kept <= MOST_BYTES else "too_long"


async def _read(scope: "Scope", receive: "Receive") -> Asked | None:
    """Return the whole request; None: its caller left before its end, or it is not a request."""
    if scope["type"] != "http":
        return None
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    path, query = scope["raw_path"].decode("ascii"), scope["query_string"].decode("ascii")
    return Asked(scope["method"], path, query, list(scope["headers"]), b"".join(parts))


async def _until_gone(receive: "Receive") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _start(status: int, headers: Headers) -> "Message":
    return {"type": "http.response.start", "status": status, "headers": headers}


def _own(status: int, message: str) -> Captured:
    """Word the proxy's own answer in a form that the clients of all providers parse."""
    error = {"type": "api_error", "code": status, "message": f"recorder: {message}"}
    body = json.dumps({"type": "error", "error": error}).encode()
    length = str(len(body)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    return Captured(status, headers, [body], "whole")


async def _send(send: "Send", answer: Captured) -> None:
    await send(_start(answer.status, answer.headers))
    await send({"type": "http.response.body", "body": b"".join(answer.chunks)})
