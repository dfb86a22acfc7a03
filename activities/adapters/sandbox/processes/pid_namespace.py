"""Reaches the processes inside a sandbox through the first one, whose end ends all others."""

import asyncio
import contextlib
import os
import re
import signal
from typing import Self

from activities.adapters.sandbox.processes.child_process import Child, readable

_TOLD_S = 30.0
"""Far longer than bubblewrap takes to name its process 1, even on a busy machine."""


class Namespace:
    """A context that reaches the processes while it is open. Implements `child_process.Reach`.

    Attributes:
        first: the number of process 1 as the host sees it; 0 until known.
    """

    def __init__(self, child: Child, info: int) -> None:
        """Start to watch.

        Args:
            child: bubblewrap outside.
            info: the pipe on which it sends the number of process 1 inside; does not block.
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

        If its number is not known yet, wait for it: killing only bubblewrap outside would leave a
        process 1 that waits for ever for its set-up and holds the worktree's lock. If bubblewrap
        ends instead, there is no process 1, and the number may already belong to another process.
        """
        await self._named_or_over()
        self._learn()
        with contextlib.suppress(ProcessLookupError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            elif not self._child.has_exited:
                os.kill(self._child.pid, signal.SIGKILL)

    async def after_exit(self) -> int:
        """Wait until process 1 is dead, which happens only after all others are.

        Bubblewrap outside ends earlier: as soon as process 1 has sent it the exit code.
        """
        self._learn()
        if self._pidfd >= 0:
            await readable(self._pidfd)
        return 0

    async def _named_or_over(self) -> None:
        ends = (self._named.wait(), self._child.exited())
        waiting = [asyncio.ensure_future(each) for each in ends]
        await asyncio.wait(waiting, timeout=_TOLD_S, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()
        await asyncio.wait(waiting)

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
