"""A worker's watch over its supervisor, which holds the other end of the worker's standard input.

The pipe first brings one line, the server's address, as soon as there is one. When the pipe ends,
the supervisor is dead. This is a pipe, not a signal on the parent's death, because that signal is
lost when a process changes its user, as the host worker does.
"""

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Final

_LAST_RESORT_SECONDS: Final = 25.0
"""Longer than a worker's grace; after it a stuck process is ended."""
_CHUNK: Final = 1_024


def watch(
    descriptor: int, stop: asyncio.Event, last_resort_seconds: float = _LAST_RESORT_SECONDS
) -> "asyncio.Future[str]":
    """Set `stop` when the supervisor is gone; end the process if that does not help.

    Runs in a thread, so that a blocked event loop cannot keep the process alive.

    Args:
        descriptor: the reading end of the supervisor's pipe. It is taken over: programs that this
            process starts find nothing to read there.
        stop: an event of the running loop.
        last_resort_seconds: from the pipe's end to the process's.

    Returns:
        A future for the first line; it never completes if the supervisor is gone before.
    """
    pipe = os.dup(descriptor)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), descriptor)
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()
    thread = threading.Thread(
        target=_wait,
        args=(pipe, loop, line, stop, last_resort_seconds),
        daemon=True,
        name="lifeline",
    )
    thread.start()
    return line


def _wait(
    pipe: int,
    loop: asyncio.AbstractEventLoop,
    line: "asyncio.Future[str]",
    stop: asyncio.Event,
    last_resort_seconds: float,
) -> None:
    try:
        first, has_come = _line(pipe)
        if has_come:
            loop.call_soon_threadsafe(lambda: line.done() or line.set_result(first))
            os.read(pipe, 1)
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        return  # The loop is closed, so the process is already ending.
    time.sleep(last_resort_seconds)
    os._exit(1)


def _line(pipe: int) -> tuple[str, bool]:
    """Return the text up to a line's end, and whether the line was complete."""
    read = b""
    while chunk := os.read(pipe, _CHUNK):
        read += chunk
        line, end, _ = read.partition(b"\n")
        if end:
            return line.decode(), True
    return "", False
