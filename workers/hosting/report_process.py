"""A process of the command line that writes reports, and stays a while for the next ones.

Loading the command line's code costs several times what a report does. Where sessions end one after
the other, one process writes all their reports. It ends with its standard input: when nothing was
asked of it for some seconds, or when this worker is gone, however that ended.
"""

import asyncio
import sys
from contextlib import suppress
from typing import Final

from activities.process_end import end_child
from workflows.domain.ids import SessionId

MODULE: Final = "starter.session_report"
_STAYS_SECONDS: Final = 10.0


class ReportProcessError(RuntimeError):
    """The process ended without an answer."""


class ReportProcess:
    """Asks one process for one report at a time, and starts it where there is none."""

    def __init__(self, module: str = MODULE, stays_seconds: float = _STAYS_SECONDS) -> None:
        """Start nothing yet.

        Args:
            module: answers each line of its standard input with one of its standard output.
            stays_seconds: how long the process is kept after an answer.
        """
        self._module = module
        self._stays_seconds = stays_seconds
        self._turn = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._leaving: asyncio.TimerHandle | None = None

    async def write(self, session: SessionId) -> str:
        """Let a session's report be written.

        Returns:
            Why there is none, in one line; empty if there is one.

        Raises:
            ReportProcessError: the process ended; its last line says why.
        """
        async with self._turn:
            self._stay()
            try:
                answer = await self._answer(session)
            except BaseException:
                # Also after a cancellation: the next one asked would get this one's answer.
                await self.close()
                raise
            self._leaving = asyncio.get_running_loop().call_later(self._stays_seconds, self._leave)
        return answer

    async def close(self) -> None:
        """End the process, if there is one."""
        self._stay()
        child, self._child = self._child, None
        if child is not None:
            await end_child(child, has_group=True)

    async def _answer(self, session: SessionId) -> str:
        child = self._child
        if child is None or child.returncode is not None:
            child = self._child = await self._started()
        assert child.stdin is not None
        assert child.stdout is not None
        with suppress(ConnectionError):  # it has ended: that is said below
            child.stdin.write(f"{session}\n".encode())
            await child.stdin.drain()
        line = await child.stdout.readline()
        if not line.endswith(b"\n"):
            assert child.stderr is not None
            said = (await child.stderr.read()).decode(errors="replace").strip()
            raise ReportProcessError(said.rpartition("\n")[2][:1_000] or "it said nothing")
        return line.decode().strip()

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", self._module),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            process_group=0,
        )

    def _stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _leave(self) -> None:
        """Close its standard input, at which it ends."""
        child, self._child = self._child, None
        if child is not None and child.stdin is not None:
            child.stdin.close()
