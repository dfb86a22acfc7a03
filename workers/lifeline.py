"""A worker's own watch over its supervisor: when the pipe ends, the supervisor is dead.

A pipe and not a signal on the parent's death: that one is lost when a process changes its user, as
the host worker does.
"""

import asyncio
import os
import threading
import time
from typing import Final

_LAST_RESORT_SECONDS: Final = 25.0
"""More than the grace of a worker: after it, a stuck process ends whatever it does."""


def watch(
    descriptor: int, stop: asyncio.Event, last_resort_seconds: float = _LAST_RESORT_SECONDS
) -> None:
    """Set `stop` when the supervisor is gone; end the process if that does not help.

    A thread does it, so that a blocked event loop cannot keep the process alive.

    Args:
        descriptor: the reading end of the supervisor's pipe; taken over.
        stop: of the running loop.
        last_resort_seconds: from the pipe's end to the process's.
    """
    os.set_inheritable(descriptor, False)  # noqa: FBT003 (takes no keyword)
    loop = asyncio.get_running_loop()
    thread = threading.Thread(
        target=_wait,
        args=(descriptor, loop, stop, last_resort_seconds),
        daemon=True,
        name="lifeline",
    )
    thread.start()


def _wait(
    descriptor: int,
    loop: asyncio.AbstractEventLoop,
    stop: asyncio.Event,
    last_resort_seconds: float,
) -> None:
    os.read(descriptor, 1)
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        return  # The loop is closed: the process is ending already.
    time.sleep(last_resort_seconds)
    os._exit(1)
