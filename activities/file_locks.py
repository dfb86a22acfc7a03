"""File locks between processes: held by a descriptor, so that the kernel frees them at death.

By `flock`, and not by the library filelock: children must be able to inherit a lock, so that an
orphan keeps it. The files hold nothing. Only a lock's holder may delete its file: another process
that opened it before finds that the path no longer leads to it, and tries again.

They are opened read-only: an inherited descriptor can then not be written, and no process can delay
the opening with a lease. What is wrong with a file, its mode or content, is put right here.
"""

import fcntl
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MODE = 0o600


class FileLock:
    """An exclusive flock on a file.

    The descriptor is not inherited unless it is passed on by name; a child that gets it keeps the
    lock until it dies too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free; return whether we hold it now.

        Raises:
            OSError: there is something else than a file of this user.
        """
        if self._descriptor is not None:
            return True
        descriptor = _opened(self._path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        if not _is_at(self._path, descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        if os.fstat(descriptor).st_size:
            _emptied(self._path)
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


def _is_at(path: Path, descriptor: int) -> bool:
    """Tell whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def is_held(path: Path) -> bool:
    """Tell whether some process holds the lock on `path`.

    The look takes a shared lock for a moment: a process that tries to acquire at that very moment
    fails, and must try again before believing it.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _opened(path: Path) -> int:
    try:
        return os.open(path, _FLAGS | os.O_CREAT, _MODE)
    except PermissionError:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise
        path.chmod(_MODE)
        return os.open(path, _FLAGS)


def _emptied(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.truncate(descriptor, 0)
    finally:
        os.close(descriptor)
