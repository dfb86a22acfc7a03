"""The end of a child process: SIGTERM, grace, SIGKILL, to its group where it leads one.

For children that asyncio started. `adapters.sandbox.child_process` keeps a way of its own, because
it must not use asyncio's watchers, and ends processes outside this process's groups.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from activities.uninterrupted import uninterrupted

GRACE_SECONDS: Final = 5.0
DEATH_SECONDS: Final = 10.0
"""SIGKILL acts at once, save on a busy machine and on what left the group."""


async def end_group(
    process: asyncio.subprocess.Process,
    asked: Literal["group", "process"],
    grace_seconds: float,
    ended: Callable[[], Awaitable[object]],
) -> None:
    """Ask a process to end, then kill its whole group.

    Run it through `uninterrupted`: cancelled halfway it would leave processes behind.

    Args:
        process: the leader of its group; dead or alive.
        asked: who gets SIGTERM. `process`: one that ends its own children, in its own order.
        grace_seconds: between SIGTERM and SIGKILL, at most.
        ended: waits until the process has ended, and whatever else must be over by then.
    """
    if asked == "group":
        _signal(process, signal.SIGTERM)
    elif process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    await _within(grace_seconds, ended)
    # Also after a clean end: a child of it may be deaf to SIGTERM, and must not outlive it.
    _signal(process, signal.SIGKILL)
    await _within(DEATH_SECONDS, ended)


async def end_child(
    process: asyncio.subprocess.Process, *, has_group: bool, grace_seconds: float = GRACE_SECONDS
) -> None:
    """End a child that still runs, and reap it; a cancellation is raised after that.

    Args:
        process: the child.
        has_group: it leads a process group of its own, which is ended with it.
        grace_seconds: how long it may take after SIGTERM.
    """
    if process.returncode is not None:
        return
    if has_group:
        await uninterrupted(end_group(process, "group", grace_seconds, process.wait))
    else:
        await uninterrupted(_end_alone(process, grace_seconds))


async def _end_alone(process: asyncio.subprocess.Process, grace_seconds: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    await _within(grace_seconds, process.wait)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _within(seconds: float, ended: Callable[[], Awaitable[object]]) -> None:
    with contextlib.suppress(OSError):  # a time-out is one, too
        async with asyncio.timeout(seconds):
            await ended()
