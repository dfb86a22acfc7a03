"""Waits for a file lock, across processes and within one.

A lock is never released by name. It is free when the last descriptor of its open file is closed, so
a child that inherited it keeps it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from activities.file_locks import FileLock

FIRST_PAUSE_SECONDS = 0.002
LONGEST_PAUSE_SECONDS = 0.1
SETTLE_SECONDS = 0.05

Locking = Callable[[Path, Callable[[], None] | None], AbstractAsyncContextManager[int]]
"""How a lock is taken: `exclusive`, or a test's replacement that shows why it is needed."""


@asynccontextmanager
async def exclusive(
    path: Path, on_wait: Callable[[], None] | None = None
) -> AsyncGenerator[int, None]:
    """Hold the lock on `path`; yield its descriptor.

    Args:
        path: the lock's file; created, with its folder, if missing.
        on_wait: called before each pause.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        pause = FIRST_PAUSE_SECONDS
        has_waited = False
        while not lock.try_acquire():
            has_waited = True
            if on_wait is not None:
                on_wait()
            # Polled, because a thread blocked in flock() cannot be cancelled.
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        if has_waited:
            # A sandbox's process 1 closes its files a moment before the kernel ends the others.
            await asyncio.sleep(SETTLE_SECONDS)
        yield lock.fileno()
    finally:
        lock.release()


def remove_stale(folder: Path) -> None:
    """Delete `*.lock` files of killed git commands; call only while no git command can own one."""
    for stale in folder.glob("*.lock"):
        stale.unlink(missing_ok=True)
