"""Ending a child process so that none is left, whatever is cancelled.

The ladder is SIGTERM, a grace period, SIGKILL; the child is always reaped. A child that may start
others is started with `process_group=0` and ended with its whole group.
"""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from typing import Final

from activities.uninterrupted import uninterrupted

GRACE_SECONDS: Final = 5.0


async def end_process(
    process: Process, *, has_group: bool, grace_seconds: float = GRACE_SECONDS
) -> None:
    """End a child process if it still runs, and reap it; a cancellation is raised after that.

    Args:
        process: the child.
        has_group: it leads a process group of its own, which is ended with it.
        grace_seconds: how long it may take after SIGTERM.
    """
    if process.returncode is None:
        await uninterrupted(_end(process, has_group=has_group, grace_seconds=grace_seconds))


async def _end(process: Process, *, has_group: bool, grace_seconds: float) -> None:
    _send(process, signal.SIGTERM, has_group=has_group)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace_seconds):
            await process.wait()
    if process.returncode is None:
        _send(process, signal.SIGKILL, has_group=has_group)
        await process.wait()


def _send(process: Process, number: signal.Signals, *, has_group: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        if has_group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
