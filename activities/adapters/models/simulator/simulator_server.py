"""Runs the simulator, in a test's event loop or as a program."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from activities.adapters.http_listener import Listening
from activities.adapters.models.scripted.playbook import Playbook, read_playbook
from activities.adapters.models.simulator.simulator_app import (
    Log,
    RawAnswer,
    SimulatedProviders,
    make_app,
)
from workflows.domain.agent.model_values import Provider


class Simulator:
    """An asynchronous context: the simulator runs while it is open.

    Attributes:
        url: its address, without a path; known once it is open.
        log: the requests so far.
    """

    def __init__(self, playbook: Playbook, port: int = 0, host: str = "127.0.0.1") -> None:
        """Args: the playbook; the port (0: any free one); the address to listen on."""
        self._providers = SimulatedProviders(playbook)
        self._address = (port, host)
        self._listening: Listening | None = None
        self.url = ""

    @property
    def log(self) -> Log:
        """The requests so far."""
        return self._providers.log

    @property
    def base_urls(self) -> Mapping[Provider, str]:
        """Base URLs for the providers' SDKs."""
        return base_urls(self.url)

    def play(self, playbook: Playbook) -> None:
        """Answer from another playbook from now on; the log and all counts restart."""
        self._providers.play(playbook)

    def interject(self, raw: RawAnswer) -> None:
        """Answer the next request with this, whatever it asks; the play does not advance."""
        self._providers.interject(raw)

    async def __aenter__(self) -> Self:
        port, host = self._address
        # The application's imports are heavy, so it is built in a thread.
        self._listening = await Listening(make_app(self._providers), port, host).__aenter__()
        self.url = self._listening.url
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._listening is not None:
            await self._listening.__aexit__()


def base_urls(url: str) -> Mapping[Provider, str]:
    """Return the base URL of each provider's SDK for a simulator at `url`."""
    return {"anthropic": url, "openai": f"{url}/v1", "google": url}


async def serve(path: Path, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Run the simulator until this call is cancelled.

    Args:
        path: the playbook's file.
        host: the address to listen on.
        port: 0 takes any free port.
        announce: called with the URL when requests are accepted; `base_urls` derives the SDKs'.

    Raises:
        DocumentError: the playbook is wrong.
        OSError: the playbook cannot be read, or the port is taken.
    """
    async with Simulator(read_playbook(path), port, host) as simulator:
        announce(simulator.url)
        await asyncio.Event().wait()
