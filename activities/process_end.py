"""The end of a child process that leads a group: SIGTERM, grace, SIGKILL to the group.

For children that asyncio started. `adapters.sandbox.child_process` keeps a way of its own, because
it must not use asyncio's watchers, and ends processes that are in no group of ours.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final, Literal

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


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _within(seconds: float, ended: Callable[[], Awaitable[object]]) -> None:
    with contextlib.suppress(OSError):  # a time-out is one, too
        async with asyncio.timeout(seconds):
            await ended()
