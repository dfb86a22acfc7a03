"""The processes inside of a sandbox, reached through the first one, with which all others end."""

import asyncio
import contextlib
import os
import re
import signal
from typing import Self

from activities.adapters.sandbox.process import Child, readable, within

_TOLD_S = 5.0
"""Far longer than bubblewrap takes to name its process 1."""


class Namespace:
    """A context: while it is open, it reaches them. Implements `process.Reach`.

    Attributes:
        first: the number of process 1 as the host sees it; 0 until it is named.
    """

    def __init__(self, child: Child, info: int) -> None:
        """Watch.

        Args:
            child: bubblewrap outside.
            info: the pipe on which it tells the number of process 1 inside; does not block.
        """
        self._child = child
        self._info = info
        self._told = b""
        self._pidfd = -1
        self.first = 0
        self._named = asyncio.Event()
        asyncio.get_running_loop().add_reader(info, self._learn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._info)
        if self._pidfd >= 0:
            os.close(self._pidfd)

    def terminate(self) -> None:
        """Send SIGTERM to the group of process 1, which itself ignores it."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.first, signal.SIGTERM)

    async def kill(self) -> None:
        """Kill process 1, and with it all others.

        If it is not named yet, wait for that: killing bubblewrap outside alone would leave a
        process 1 that waits for ever for its set-up, with the worktree's lock in its hand.
        """
        await within(self._named.wait(), _TOLD_S)
        with contextlib.suppress(ProcessLookupError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            else:
                os.kill(self._child.pid, signal.SIGKILL)

    async def after_exit(self) -> int:
        """Wait until process 1 is dead, which it is only once all others are.

        Bubblewrap outside ends before: as soon as process 1 has told it the exit code.
        """
        self._learn()
        if self._pidfd >= 0:
            await readable(self._pidfd)
        return 0

    def _learn(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._info, 4096)
            self._told += data
            if not data:
                asyncio.get_running_loop().remove_reader(self._info)
        found = re.search(rb'"child-pid": (\d+)\D', self._told)
        if found and not self.first:
            self.first = int(found[1])
            self._named.set()
            with contextlib.suppress(ProcessLookupError):
                self._pidfd = os.pidfd_open(self.first)
