"""Reads a child's output on the event loop as it arrives: bounded, and never waited for."""

import asyncio
import contextlib
import os
import socket
from dataclasses import dataclass, field

CHUNK_BYTES = 1 << 16
_MOST_CHUNKS = 64


@dataclass
class PipeReader:
    """Reads a pipe as it fills; keeps the first and the last bytes, and counts all."""

    limit: int
    """Bytes kept: the first half at the start, the rest at the end."""
    handshake: tuple[bytes, bytes] | None = None
    head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    total: int = 0
    started: asyncio.Event = field(default_factory=asyncio.Event)
    """Set after the handshake."""
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no process can write any more."""
    _fd: int = -1

    def open(self) -> int:
        """Start reading and return the descriptor to write to; the caller closes that one."""
        if self.handshake:
            ours, theirs = socket.socketpair()
            self._fd, writer = ours.detach(), theirs.detach()
        else:
            self._fd, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._fd, False)
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        return writer

    @property
    def kept(self) -> bytes:
        """What is kept: all, or both ends without what is between them."""
        room = self.limit - len(self.head)
        return bytes(self.head + self._tail[max(0, len(self._tail) - room) :])

    @property
    def cut_at(self) -> int | None:
        """Where in `kept` bytes are missing; None: nowhere."""
        return len(self.head) if self.total > self.limit else None

    @property
    def is_open(self) -> bool:
        """Whether a process may still write."""
        return self._fd >= 0

    def close(self) -> None:
        """Stop reading, even if others may still write."""
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
            self.finished.set()

    def finish(self) -> None:
        """Read what is already there, without waiting; at most a few megabytes (a pipe's size)."""
        for _ in range(_MOST_CHUNKS):
            if not self.is_open or not self._read():
                return

    def _read(self) -> bool:
        """Read one chunk; return False if there is none yet."""
        try:
            data = os.read(self._fd, CHUNK_BYTES)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self.close()
            return False
        self.total += len(data)
        self._keep(data)
        if self.handshake and not self.started.is_set() and self.handshake[0] in self.head:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._fd, self.handshake[1])
            self.started.set()
        return True

    def _keep(self, data: bytes) -> None:
        start = data[: self.limit // 2 - len(self.head)]
        self.head += start
        self._tail += data[len(start) :]
        room = self.limit - len(self.head)
        # Only now and then: each time costs as much as what stays.
        if len(self._tail) > 2 * room + CHUNK_BYTES:
            del self._tail[: len(self._tail) - room]
