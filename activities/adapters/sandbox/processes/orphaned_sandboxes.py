"""Ends sandboxes that a killed worker left half-made.

Bubblewrap dies with its parent. If the parent dies after bubblewrap has cloned the sandbox's
process 1 and before it has released it, process 1 waits for ever: it runs nothing, but it holds the
worktree's lock. Bubblewrap itself and the handshake in `bubblewrap` cover every later moment. This
one is visible from outside: a process 1 of bubblewrap whose parent is not bubblewrap.
"""

import contextlib
import os
import re
import signal
from pathlib import Path

_PROC = Path("/proc")
_COMM = "bwrap"


def sweep_orphans() -> int:
    """End every half-made sandbox of this user whose bubblewrap is dead; safe at any time.

    Call it when a host starts, and while waiting long for a worktree's lock.

    Returns:
        How many it ended.
    """
    return sum(_end_if_orphan(int(name)) for name in os.listdir(_PROC) if name.isdigit())


def _end_if_orphan(pid: int) -> bool:
    try:
        if (_PROC / str(pid)).stat().st_uid != os.getuid():
            return False
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # Judged after opening the descriptor, so that the number cannot belong to another process.
        if not _is_orphan(pid):
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        return True
    finally:
        os.close(pidfd)


def _is_orphan(pid: int) -> bool:
    status = _status(pid)
    is_first_inside = status.get("NSpid", "").split()[1:][-1:] == ["1"]
    if status.get("Name") != _COMM or not is_first_inside:
        return False
    return _status(int(status["PPid"])).get("Name") != _COMM


def _status(pid: int) -> dict[str, str]:
    try:
        text = (_PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r"^(\w+):\s*(.*)$", text, re.MULTILINE))
