"""Runs the simulator: inside a test's event loop, or as a program of its own."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from activities.adapters.models.simulator.app import Log, RawAnswer, SimulatedProviders, make_app
from activities.playbook import Playbook, read_playbook
from workflows.domain.models import Provider

if TYPE_CHECKING:
    from uvicorn import Server


class Simulator:
    """An asynchronous context: the simulator runs while it is open.

    Attributes:
        url: where it listens, without a path; known once it is open.
        log: what was asked so far.
    """

    def __init__(self, playbook: Playbook, port: int = 0, host: str = "127.0.0.1") -> None:
        """Args: what it says; the port (0: any that is free); the address to listen on."""
        self._providers = SimulatedProviders(playbook)
        self._address = (host, port)
        self._task: asyncio.Task[None] | None = None
        self._server: Server | None = None
        self.url = ""

    @property
    def log(self) -> Log:
        """What was asked so far."""
        return self._providers.log

    @property
    def base_urls(self) -> Mapping[Provider, str]:
        """Base URLs for the providers' SDKs."""
        return base_urls(self.url)

    def play(self, playbook: Playbook) -> None:
        """Answer by another playbook from now on; the log and all counts begin anew."""
        self._providers.play(playbook)

    def interject(self, raw: RawAnswer) -> None:
        """Answer the next request with this, whatever it asks; the play does not move."""
        self._providers.interject(raw)

    async def __aenter__(self) -> Self:
        listening = socket.create_server(self._address)
        # Each connection inherits it: else a second write waits 40 ms for word of the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host, port = listening.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        ready = asyncio.Event()
        self._server = _server(self._providers, ready)
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


def base_urls(url: str) -> Mapping[Provider, str]:
    """Return the base URL of each provider's SDK for a simulator at `url`."""
    return {"anthropic": url, "openai": f"{url}/v1", "google": url}


async def serve(path: Path, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Run the simulator until this call is cancelled.

    Args:
        path: the playbook's file.
        host: the address to listen on.
        port: 0 takes any that is free.
        announce: is told the URL once requests are accepted; `base_urls` makes the SDKs' of it.

    Raises:
        DocumentError: the playbook is wrong.
        OSError: the playbook cannot be read, or the port is taken.
    """
    async with Simulator(read_playbook(path), port, host) as simulator:
        announce(simulator.url)
        await asyncio.Event().wait()


def _server(providers: SimulatedProviders, ready: asyncio.Event) -> "Server":
    from uvicorn import Config, Server

    class _EmbeddedServer(Server):
        """Says when it listens, and leaves the signals to the process that it runs in."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    config = Config(
        make_app(providers),
        log_config=None,
        # A cut answer is wanted here, not an error to report.
        log_level="critical",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    return _EmbeddedServer(config)
