"""How asyncio learns that a child process has ended: from a pidfd, not from a thread for each.

Python 3.11 starts a thread for every child, which costs more than a quarter of what a process does
that starts git. Later versions use a pidfd by themselves wherever the kernel has one.
"""

import asyncio
import os
import sys


def watch_by_pidfd() -> None:
    """Let the main thread's event loops watch their children so.

    Call it before the first of them; a loop in another thread could start no child afterwards.
    """
    if sys.version_info < (3, 12) and _has_pidfd():
        # Each new loop of the main thread attaches itself to its policy's watcher.
        watcher = asyncio.PidfdChildWatcher()
        asyncio.set_child_watcher(watcher)  # pyright: ignore[reportDeprecated] -- on 3.11 alone


def _has_pidfd() -> bool:
    """Say whether kernel and system filter allow a pidfd, as Python 3.12 asks."""
    try:
        os.close(os.pidfd_open(os.getpid(), 0))
    except (AttributeError, OSError):
        return False
    return True
