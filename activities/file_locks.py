"""File locks between processes: held by a descriptor, so that the kernel frees them at death.

By `flock`, and not by the library filelock: children must be able to inherit a lock, so that an
orphan keeps it. The files hold nothing and are never deleted (deleting one that another process
waits for would give two owners).
"""

import fcntl
import os
from pathlib import Path


class FileLock:
    """An exclusive flock on a file.

    The descriptor is not inherited unless it is passed on by name; a child that gets it keeps the
    lock until it dies too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free; return whether we hold it now."""
        if self._descriptor is not None:
            return True
        descriptor = os.open(
            self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Give the lock back; a child that inherited it goes on holding it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def fileno(self) -> int:
        """Return the descriptor that holds the lock, for a child that must hold it too."""
        assert self._descriptor is not None, "the lock is not held"
        return self._descriptor


def is_held(path: Path) -> bool:
    """Tell whether some process holds the lock on `path`.

    The look takes a shared lock for a moment: a process that tries to acquire at that very moment
    fails, and must try again before believing it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
