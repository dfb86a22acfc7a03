"""Waits for a file lock, across processes and within one.

A lock is never released by name. It is free when the last descriptor of its open file is closed, so
a child that inherited it keeps it.
"""

import asyncio
import errno
import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

from activities.file_locks import FileLock
from activities.ports.git_errors import StateDamagedError

FIRST_PAUSE_SECONDS = 0.002
LONGEST_PAUSE_SECONDS = 0.1
SETTLE_SECONDS = 0.05

_NOT_A_LOCK = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.EEXIST, errno.EISDIR)

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

    Raises:
        StateDamagedError: what is there cannot be a lock, and could not be put right.
    """
    lock = FileLock(path)
    try:
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        pause = FIRST_PAUSE_SECONDS
        has_waited = False
        while not _taken(lock, path):
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


def _taken(lock: FileLock, path: Path) -> bool:
    with _explained(path):
        return lock.try_acquire()


@contextmanager
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NOT_A_LOCK:
            raise
        reason = os.strerror(error.errno)
        raise StateDamagedError(
            f"the lock {str(path)!r} cannot be used: {reason}. Give it and its folder to the user "
            "of the worker, or delete it while no session runs"
        ) from error


def remove_stale(folder: Path) -> None:
    """Delete `*.lock` files of killed git commands; call only while no git command can own one."""
    for stale in folder.glob("*.lock"):
        stale.unlink(missing_ok=True)
