"""Become a program that dies with its parent: `python -I -S tether.py PARENT_PID program args…`.

For third-party programs, which cannot watch a pipe. Run by path, with only the standard library.
Outside Linux the program also runs, but may outlive a killed parent.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, and replace it with the program."""
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    # A parent that died before the call above sends no signal, but the parent's id has changed.
    if os.getppid() != parent:
        sys.exit("the parent is gone")
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 (no shell is what we want)


if __name__ == "__main__":
    main()
