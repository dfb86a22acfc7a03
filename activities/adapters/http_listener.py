"""An HTTP application that runs in this event loop, on its own port."""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

_IDLE_S: Final = 600
"""How long a connection may wait for its next request; longer than any client keeps one. If the
server closed it first, the next request would fail, and might have been billed."""


class Listening:
    """An asynchronous context: the application answers while it is open.

    Attributes:
        url: its address, without a path; known once it is open.
    """

    def __init__(self, app: "ASGIApp", port: int = 0, host: str = "127.0.0.1") -> None:
        """Args: an ASGI application; the port (0: any free one); the address to listen on."""
        self._app = app
        self._address = (host, port)
        self._task: asyncio.Task[None] | None = None
        self._server: Server | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        listening = socket.create_server(self._address)
        # Each connection inherits it; otherwise a second write waits 40 ms for the first one's ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host, port = listening.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        ready = asyncio.Event()
        self._server = _server(self._app, ready)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        started = asyncio.create_task(ready.wait())
        await asyncio.wait({self._task, started}, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            started.cancel()
            await self._task
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task


def _server(app: "ASGIApp", ready: asyncio.Event) -> "Server":
    from uvicorn import Config, Server

    class _EmbeddedServer(Server):
        """Reports when it listens, and leaves signals to its process."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready.set()

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    config = Config(
        app,
        log_config=None,
        # A cut answer is intended here, not an error to report.
        log_level="critical",
        access_log=False,
        lifespan="off",
        # An answer that is passed on keeps the headers of its origin.
        server_header=False,
        date_header=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=1,
    )
    return _EmbeddedServer(config)
