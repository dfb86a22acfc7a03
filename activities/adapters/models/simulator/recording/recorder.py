"""The recorder: passes a session's calls on, and records them.

Answers are read in the background, one after another, so recording delays no caller. After each one
(or several that came during the last save) the whole playbook is saved.
"""

import asyncio
from typing import Self

from activities.adapters.http_listener import Listening
from activities.adapters.models.simulator.recording.captured_answer import Captured
from activities.adapters.models.simulator.recording.recording_proxy import Asked, Proxy
from activities.adapters.models.simulator.recording.transcript import Transcript
from activities.adapters.models.simulator.recording.upstreams import Destination, Upstreams

Passed = tuple[Asked, Destination, Captured]


class Recorder:
    """An asynchronous context: requests pass and are recorded while it is open.

    Closing it records and saves everything that passed.

    Attributes:
        url: its address, without a path; known once it is open.
    """

    def __init__(
        self, upstreams: Upstreams, transcript: Transcript, port: int = 0, *, trust_env: bool = True
    ) -> None:
        """Prepare it; nothing listens yet.

        Args:
            upstreams: where requests go.
            transcript: records what passes.
            port: on 127.0.0.1; 0 takes any free port.
            trust_env: whether proxies of the environment are used.
        """
        self.url = ""
        self._transcript = transcript
        self._passed: asyncio.Queue[Passed | None] = asyncio.Queue()
        self._proxy = Proxy(upstreams, transcript.meet, self._note, trust_env=trust_env)
        self._listening = Listening(self._proxy, port)
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        await self._listening.__aenter__()
        self._writing = asyncio.create_task(self._write())
        self.url = self._listening.url
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listening.__aexit__()
        self._passed.put_nowait(None)
        if self._writing is not None:
            await self._writing
        await self._proxy.aclose()
        await self._transcript.aclose()

    def _note(self, asked: Asked, destination: Destination, captured: Captured) -> None:
        self._passed.put_nowait((asked, destination, captured))

    async def _write(self) -> None:
        is_open = True
        while is_open:
            batch = [await self._passed.get()]
            while not self._passed.empty():
                batch.append(self._passed.get_nowait())
            is_open = None not in batch
            taken = [await self._transcript.take(*each) for each in batch if each is not None]
            if any(taken):
                await self._transcript.save()
