"""Whether another process of this machine still runs."""

import os
import select


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and was not waited for does not.

    Args:
        pid: as this process's own namespace numbers it.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([descriptor], [], [], 0)[0]
    finally:
        os.close(descriptor)
