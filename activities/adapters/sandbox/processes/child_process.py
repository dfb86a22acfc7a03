"""One child process from its start to its certain end: bounded output, limits, kill, reap.

The child is started with `subprocess.Popen` on the event loop's own thread and watched through a
pidfd. asyncio's child watchers are not used: their `wait` can hang on a pipe that a background
process keeps open. bubblewrap's `--die-with-parent` follows the thread that started it, so that
thread must live as long as the worker.
"""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol, Self

from activities.adapters.sandbox.processes.descriptors import standard_input
from activities.adapters.sandbox.processes.pipes import CHUNK_BYTES, PipeReader
from activities.uninterrupted import uninterrupted

End = Literal["exited", "signalled", "timed_out", "out_of_memory", "out_of_disk"]
Breach = Literal["out_of_memory", "out_of_disk"]

GRACE = timedelta(seconds=3)
"""Between SIGTERM and SIGKILL; on a busy machine a program may wait a second for its turn."""

_DRAIN_S = 0.5
"""How long to wait for the rest of the output after the first process has ended."""
_DEATH_S = 10.0
"""SIGKILL acts at once, except on a process stuck in the kernel."""
_OPEN_FILES = 8192


def open_files() -> int:
    """Return how many descriptors one process of a command may have."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)


@dataclass(frozen=True)
class Spawn:
    """What to start."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str | None = None
    stdin: bytes = b""
    pass_fds: tuple[int, ...] = ()
    handshake: tuple[bytes, bytes] | None = None
    """Not None: descriptor 2 is a private channel, separate from the output. When the child sends
    the first value there, it is sent the second. If this process dies or gives up, the channel
    ends.
    """


class Reach(Protocol):
    """How the processes of one command are reached; each sandbox has its own way."""

    def terminate(self) -> None:
        """Ask all of them to end (SIGTERM)."""
        ...

    async def kill(self) -> None:
        """End all of them (SIGKILL); this process must reap the first."""
        ...

    async def after_exit(self) -> int:
        """After the first process has ended: end the others, and return how many there were."""
        ...


@dataclass(frozen=True)
class Ended:
    """How the child ended."""

    end: End
    code: int
    output: bytes
    output_bytes: int
    cut_at: int | None
    private: bytes
    survivors: int
    elapsed: timedelta


class Child:
    """A started process, watched through its pidfd. Use as an asynchronous context manager."""

    def __init__(self, spawn: Spawn, output_bytes: int) -> None:
        self._spawn = spawn
        self.output = PipeReader(output_bytes)
        self.private = PipeReader(CHUNK_BYTES, spawn.handshake)
        self._exited = asyncio.Event()
        self._pidfd = -1
        self._process: subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> Self:
        with contextlib.ExitStack() as ours:
            try:
                stdin = _owned(ours, standard_input(self._spawn.stdin))
                stdout = _owned(ours, self.output.open())
                stderr = _owned(ours, self.private.open()) if self._spawn.handshake else stdout
                self._process = subprocess.Popen(  # noqa: ASYNC220 -- see the module
                    self._spawn.argv,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env=self._spawn.env,
                    cwd=self._spawn.cwd,
                    pass_fds=self._spawn.pass_fds,
                    start_new_session=True,
                )
            except BaseException:
                self._close()
                raise
        # Nothing is awaited between the start and this watch, so no cancellation can come between.
        self._pidfd = os.pidfd_open(self.pid)
        asyncio.get_running_loop().add_reader(self._pidfd, self._on_exit)
        return self

    async def __aexit__(self, *_: object) -> None:
        await uninterrupted(self._bury())

    @property
    def pid(self) -> int:
        """The first process."""
        assert self._process is not None
        return self._process.pid

    @property
    def has_exited(self) -> bool:
        """Whether the first process has ended and was reaped."""
        return self._exited.is_set()

    @property
    def returncode(self) -> int:
        """As in `subprocess`; only after the process has exited."""
        assert self._process is not None
        assert self._process.returncode is not None
        return self._process.returncode

    async def exited(self) -> None:
        """Wait for the end of the first process."""
        await self._exited.wait()

    async def drain(self) -> None:
        """Read what is left in the pipes, but wait briefly for processes that keep them open."""
        for reader in (self.output, self.private):
            reader.finish()
            if reader.is_open:
                await within(reader.finished.wait(), _DRAIN_S)
            reader.close()

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        assert self._process is not None
        self._process.wait()
        self._exited.set()

    async def _bury(self) -> None:
        try:
            if not self.has_exited:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
                await within(self.exited(), _DEATH_S)
            if not self.has_exited:
                raise RuntimeError(
                    f"Process {self.pid} does not die from SIGKILL: it is stuck in the kernel, "
                    "mostly in a dead network file system. Look at its `wchan` under /proc."
                )
        finally:
            self._close()

    def _close(self) -> None:
        self.output.close()
        self.private.close()
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1


async def run_bounded(
    child: Child,
    reach: Reach,
    longest: timedelta,
    watch: Callable[[], Awaitable[Breach]],
) -> Ended:
    """Let a started child run to its end or its first breach of a limit, and end the rest.

    Args:
        child: already entered; its own exit reaps it in any case.
        reach: how to end its processes.
        longest: wall-clock time; then SIGTERM, `GRACE`, SIGKILL.
        watch: returns when a limit is broken, otherwise never; cancelled at the end.
    """
    started = time.monotonic()
    survivors = 0
    try:
        verdict = await _first_end(child, longest, watch)
        if verdict == "timed_out":
            reach.terminate()
            await within(child.exited(), GRACE.total_seconds())
    finally:
        survivors = await uninterrupted(_end_all(child, reach))
    await child.drain()
    end, code = _reading(child.returncode)
    return Ended(
        end=verdict or end,
        code=code if verdict is None or end == "signalled" else int(signal.SIGTERM),
        output=child.output.kept,
        output_bytes=child.output.total,
        cut_at=child.output.cut_at,
        private=child.private.kept,
        survivors=survivors if verdict is None else 0,
        elapsed=timedelta(seconds=time.monotonic() - started),
    )


async def _first_end(
    child: Child, longest: timedelta, watch: Callable[[], Awaitable[Breach]]
) -> Breach | Literal["timed_out"] | None:
    exited = asyncio.ensure_future(child.exited())
    watching = asyncio.ensure_future(watch())
    try:
        await asyncio.wait(
            {exited, watching},
            timeout=longest.total_seconds(),
            return_when=asyncio.FIRST_COMPLETED,
        )
        if exited.done():
            return None
        return watching.result() if watching.done() else "timed_out"
    finally:
        exited.cancel()
        watching.cancel()
        await asyncio.gather(exited, watching, return_exceptions=True)


async def _end_all(child: Child, reach: Reach) -> int:
    if not child.has_exited:
        await reach.kill()
        await within(child.exited(), _DEATH_S)
    return await reach.after_exit()


_DEADLY = frozenset(
    signal.Signals(number)
    for number in (
        *(signal.SIGINT, signal.SIGQUIT, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT),
        *(signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE),
        *(
            signal.SIGALRM,
            signal.SIGTERM,
            signal.SIGXCPU,
            signal.SIGXFSZ,
            signal.SIGSYS,
        ),
    )
)


def _reading(returncode: int) -> tuple[Literal["exited", "signalled"], int]:
    """Translate a return code as shells do: 128 + n means that signal n ended the command.

    Only for signals that end commands in practice, because git exits with 129 on wrong usage.
    """
    if returncode < 0:
        return "signalled", -returncode
    if returncode - 128 in _DEADLY:
        return "signalled", returncode - 128
    return "exited", returncode


async def within(waiting: Coroutine[object, object, object], seconds: float) -> bool:
    """Wait at most `seconds`; return whether the awaited event happened."""
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True


async def readable(fd: int, seconds: float = _DEATH_S) -> bool:
    """Wait until a descriptor can be read; for a pidfd that is when its process is dead."""
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, ready.set)
    try:
        return await within(ready.wait(), seconds)
    finally:
        loop.remove_reader(fd)


def _owned(stack: contextlib.ExitStack, fd: int) -> int:
    stack.callback(os.close, fd)
    return fd
