"""Long-running child processes: their start, output, end, and restart with back-off.

Each has its own process group. To end it, the process gets SIGTERM and a grace, then its group
gets SIGKILL. It is always reaped, even if this task is cancelled. Its output goes to a bounded
log. This module knows nothing of servers and workers.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, Final

from activities.process_end import end_group
from activities.uninterrupted import uninterrupted
from workers.bounded_log import BoundedLog
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

BACK_OFF: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before each of several restarts in a row; the last one repeats."""
STEADY: Final = timedelta(seconds=60)
"""A child that lived this long is healthy: its next restart counts as the first in a row."""
_TOO_OFTEN: Final = 3
"""After this many ends in a row a person is told."""
_CHUNK: Final = 65_536
_LINE_LIMIT: Final = 10_000
_DRAIN_SECONDS: Final = 2.0
"""How long to read the last output of an ended child."""


@dataclass(frozen=True)
class Program:
    """What to start, and how."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    log: Path
    inherited: tuple[int, ...] = ()
    """Descriptors that the child inherits under the same numbers."""
    told: Callable[[], Awaitable[str]] | None = None
    """Returns the one line that the child reads from its standard input, which then stays open as
    long as this process lives; None: it has no input."""
    grace: timedelta = timedelta(seconds=20)
    """The time between SIGTERM and SIGKILL."""


@dataclass
class Child:
    """A running program."""

    program: Program
    process: asyncio.subprocess.Process
    pump: asyncio.Task[None] = field(repr=False)

    @property
    def pid(self) -> int:
        """The process id, which is also the process group's."""
        return self.process.pid

    async def wait(self) -> int:
        """Wait for the end and return the exit code, negative for a signal."""
        return await self.process.wait()

    async def stop(self) -> None:
        """End and reap the program: SIGTERM, grace, SIGKILL."""
        grace = self.program.grace.total_seconds()
        # SIGTERM only to the process itself, which ends its own children in order.
        await end_group(self.process, "process", grace, self.process.wait)
        await self.process.wait()
        await self._drain()

    async def _drain(self) -> None:
        # A process of another group may hold the pipe; do not wait for it.
        done, _ = await asyncio.wait([self.pump], timeout=_DRAIN_SECONDS)
        if not done:
            self.pump.cancel()
            await asyncio.wait([self.pump])


@contextlib.asynccontextmanager
async def running(program: Program, on_line: Callable[[str], None]) -> AsyncGenerator[Child]:
    """Start a program and end it on leaving.

    Args:
        program: what to start.
        on_line: called with each line of output, without its line end.

    Raises:
        OSError: it cannot be started.
    """
    with _input(program) as given:
        # A separate pipe: asyncio would wait not only for the process but also for its pipe's end,
        # and a process left behind may hold that pipe for ever.
        read_end, write_end = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *program.argv,
                stdin=given,
                stdout=write_end,
                stderr=write_end,
                env=dict(program.environment),
                cwd=program.directory,
                pass_fds=program.inherited,
                start_new_session=True,
            )
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        child = Child(program, process, asyncio.create_task(_pump(read_end, program.log, on_line)))
        try:
            yield child
        finally:
            await uninterrupted(child.stop())


async def keep_running(program: Program, on_line: Callable[[str], None]) -> None:
    """Run a program for ever: restart it, with back-off, each time it ends."""
    in_a_row = 0
    loop = asyncio.get_running_loop()
    while True:
        started = loop.time()
        end = await _run_once(program, on_line)
        in_a_row = 1 if loop.time() - started >= STEADY.total_seconds() else in_a_row + 1
        delay = BACK_OFF[min(in_a_row, len(BACK_OFF)) - 1]
        log_event(_log, "process_restarts", process=program.name, reason=end, seconds=delay)
        if in_a_row == _TOO_OFTEN:
            log_event(_log, "process_keeps_ending", process=program.name, log=program.log)
        await asyncio.sleep(delay)


def back_off() -> Iterator[float]:
    """Yield the delays of consecutive restarts, in seconds, without end."""
    yield from BACK_OFF
    while True:
        yield BACK_OFF[-1]


@contextlib.contextmanager
def _input(program: Program) -> Generator[int]:
    """Hold a program's input: nothing, or a pipe that ends with the block or with this process."""
    if program.told is None:
        yield asyncio.subprocess.DEVNULL
        return
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb", 0) as given, os.fdopen(write_end, "wb", 0) as pipe:
        telling = asyncio.create_task(_tell(program.name, program.told, pipe))
        try:
            yield given.fileno()
        finally:
            telling.cancel()


async def _tell(name: str, line: Callable[[], Awaitable[str]], pipe: BinaryIO) -> None:
    try:
        pipe.write(f"{await line()}\n".encode())  # fits into the pipe, so this does not block
    except Exception as error:  # noqa: BLE001 -- after any error the program must not wait for ever
        log_event(_log, "process_not_told", process=name, reason=error)
        pipe.close()


async def _run_once(program: Program, on_line: Callable[[str], None]) -> str:
    try:
        async with running(program, on_line) as child:
            return f"exit code {await child.wait()}"
    except OSError as error:
        return f"not started: {error}"


async def _pump(read_end: int, path: Path, on_line: Callable[[str], None]) -> None:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    log = BoundedLog(path)
    rest = b""
    try:
        while chunk := await reader.read(_CHUNK):
            log.write(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-_LINE_LIMIT:]
            for line in lines:
                on_line(line.decode(errors="replace"))
    finally:
        transport.close()
        log.close()
