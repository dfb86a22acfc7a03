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


def watch(descriptor: int, stop: asyncio.Event) -> None:
    """Set `stop` when the supervisor is gone; end the process if that does not help.

    A thread does it, so that a blocked event loop cannot keep the process alive.

    Args:
        descriptor: the reading end of the supervisor's pipe; taken over.
        stop: of the running loop.
    """
    os.set_inheritable(descriptor, False)  # noqa: FBT003 (takes no keyword)
    loop = asyncio.get_running_loop()
    thread = threading.Thread(
        target=_wait, args=(descriptor, loop, stop), daemon=True, name="lifeline"
    )
    thread.start()


def _wait(descriptor: int, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    os.read(descriptor, 1)
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        return  # The loop is closed: the process is ending already.
    time.sleep(_LAST_RESORT_SECONDS)
    os._exit(1)
