"""Descriptors for a child: bytes without a file or a writer task, pipes and channels."""

import contextlib
import fcntl
import os
import socket
from typing import Self


def memory_file(content: bytes, name: str) -> int:
    """Return a sealed anonymous file that holds `content`, read from its start.

    Args:
        content: any bytes; the child can read them again, but no process can change them.
        name: shown in `/proc/self/fd` of each holder; never a secret.
    """
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.truncate(fd, len(content))
        written = 0
        while written < len(content):
            written += os.pwrite(fd, content[written : written + (1 << 30)], written)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(fd)
        raise
    return fd


def standard_input(content: bytes) -> int:
    """Return a descriptor to read `content` from; an empty one is `/dev/null`.

    Not an empty pipe: a search tool without a path would search the pipe, find nothing, and never
    look at the files.
    """
    if content:
        return memory_file(content, "stdin")
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


class Descriptors:
    """The descriptors that a child inherits; this process closes its own at the end.

    Attributes:
        passed: their numbers, which are the same in the child.
    """

    def __init__(self) -> None:
        """Start with no descriptor."""
        self._owned = contextlib.ExitStack()
        self.passed: tuple[int, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._owned.close()

    def lend(self, fd: int) -> int:
        """Pass on a descriptor that someone else closes; return its number."""
        self.passed += (fd,)
        return fd

    def data(self, content: bytes, name: str) -> int:
        """Return a descriptor to read `content` from; see `memory_file`."""
        fd = memory_file(content, name)
        self._owned.callback(os.close, fd)
        return self.lend(fd)

    def pipe(self) -> tuple[int, int]:
        """Return the end to read here, without waiting, and the end that the child writes."""
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._owned.callback(os.close, reader)
        self._owned.callback(os.close, writer)
        return reader, self.lend(writer)

    def channel(self) -> tuple[socket.socket, int]:
        """Return this process's end of a channel, which does not block, and the inherited end."""
        ours, theirs = socket.socketpair()
        self._owned.enter_context(ours)
        self._owned.enter_context(theirs)
        ours.settimeout(0)
        return ours, self.lend(theirs.fileno())
