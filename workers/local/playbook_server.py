"""The simulator of the providers' HTTP APIs: plays a playbook, or records real models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from activities.adapters.models.simulator.recording.recorder import Recorder
from activities.adapters.models.simulator.recording.transcript import Keeping, Transcript
from activities.adapters.models.simulator.recording.upstreams import Upstreams
from activities.adapters.models.simulator.simulator_server import serve
from workers.atomic_file import replace_text
from workers.provider_wiring import addresses, known_keys
from workers.settings import Settings
from workflows.domain.agent.model_values import Provider


async def serve_playbook(playbook: Path, port: int, announce: Callable[[str], None]) -> None:
    """Answer from a playbook on 127.0.0.1 until this call is cancelled.

    Args:
        playbook: its file.
        port: 0 takes any free port.
        announce: called with the URL when requests are accepted.

    Raises:
        DocumentError: the playbook is wrong.
        OSError: the playbook cannot be read, or the port is taken.
    """
    await serve(playbook, "127.0.0.1", port, announce)


@dataclass(frozen=True)
class Recorded:
    """What a recording holds, and what its replay will lack."""

    turns: int
    agents: int
    failing: tuple[str, ...] = ()
    """The turns that never got an answer, in words."""
    missing: tuple[str, ...] = ()
    """The first turn of each gap, in words."""


class PlaybookRecording:
    """An asynchronous context: while it is open, calls to real models pass and are recorded.

    Closing it saves everything that passed.

    Attributes:
        addresses: by provider, the URL for its calls.
    """

    def __init__(
        self,
        settings: Settings,
        playbook: Path,
        port: int,
        given: Mapping[Provider, str],
        warn: Callable[[str], None],
    ) -> None:
        """Prepare the recording; nothing listens yet.

        Args:
            settings: where providers are, and the keys that must not be recorded.
            playbook: the file to write.
            port: on 127.0.0.1; 0 takes any free port.
            given: base URLs that replace those of the settings.
            warn: called with each warning, a line of text.
        """
        self._port = port
        self._upstreams = Upstreams({**addresses(settings), **given})
        keeping = Keeping(partial(replace_text, playbook), warn)
        self._transcript = Transcript(playbook.stem, keeping, known_keys(settings))
        self._recorder = Recorder(self._upstreams, self._transcript, port)
        self.addresses: Mapping[Provider, str] = self._upstreams.urls

    @property
    def url(self) -> str:
        """Its own URL without a path; empty until it is open."""
        return self._recorder.url

    @property
    def loops(self) -> list[Provider]:
        """The providers whose address is the recorder itself."""
        return self._upstreams.own(self._port)

    @property
    def recorded(self) -> Recorded:
        """What was recorded so far."""
        takes = self._transcript.takes
        turns, agents = takes.counts
        return Recorded(
            turns=turns,
            agents=agents,
            failing=tuple(map(str, takes.left_open())),
            missing=tuple(map(str, takes.unheard())),
        )

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        await self._recorder.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._recorder.__aexit__()
