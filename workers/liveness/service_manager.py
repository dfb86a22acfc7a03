"""Tells systemd that this process is ready, alive, or ending: the protocol of sd_notify(3).

systemd names a socket in `NOTIFY_SOCKET`, and takes one datagram of lines `NAME=value`. Without
that variable nothing is sent.
"""

import logging
import socket
from collections.abc import Mapping
from typing import Final

from workflows.policy.text.log_events import log_event

READY: Final = "READY=1"
ALIVE: Final = "WATCHDOG=1"
"""To be sent more often than the unit's `WatchdogSec`."""
STOPPING: Final = "STOPPING=1"

_log = logging.getLogger(__name__)


def notify(environment: Mapping[str, str], *lines: str) -> None:
    """Send lines to the service manager that started this process, if one did.

    If it cannot be reached, that is only logged: the work continues without it.

    Args:
        environment: the process's.
        lines: such as `READY`, or `STATUS=…` with a text for people.
    """
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    # "@" stands for the zero byte that begins the name of an abstract socket.
    place = f"\0{address[1:]}" if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to_manager:
        to_manager.settimeout(0)  # a manager that does not read must not hold up the worker
        try:
            to_manager.sendto("\n".join(lines).encode(), place)
        except OSError as error:
            log_event(_log, "service_manager_deaf", address=address, lines=lines, reason=error)
