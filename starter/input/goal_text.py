"""The goal of a session: typed, from a file, or from the standard input."""

import asyncio
import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import Final

from activities.text.surrogates import clean
from activities.text.text_files import TextFileError, decode_text, read_bounded
from starter.console.command_errors import CommandError

_MOST_BYTES: Final = 400_000
"""More than any goal may have; the session's model reports the exact limit."""


async def read_goal(goal: str | None, file: Path | None) -> str:
    """Return a person's goal, from one of its three sources.

    Args:
        goal: as typed; `-`: the standard input; None: not given.
        file: a text file with the goal; None: not given.

    Raises:
        CommandError: it is given twice or not at all, cannot be read, or is empty.
    """
    if (goal is None) == (file is None):
        how = "say the goal once" if goal else "say what you want"
        raise CommandError(
            f'{how}: run "GOAL" with the words, run - to read it from the standard input, '
            "or run --file FILE"
        )
    if file is None and goal != "-":
        return _as_text(goal or "")
    try:
        data = read_bounded(file, _MOST_BYTES) if file else await _standard_input()
        name = str(file) if file else "the standard input"
        return _as_text(decode_text(data, _MOST_BYTES, name))
    except TextFileError as error:
        raise CommandError(f"goal: {error}") from None


def _as_text(typed: str) -> str:
    if not typed.strip():
        raise CommandError("the goal is empty; say what you want in a sentence")
    if clean(typed) == typed:
        return typed
    try:
        # In an ASCII locale other characters arrive as single bytes.
        return os.fsencode(typed).decode()
    except UnicodeDecodeError as error:
        raise CommandError(
            "the goal is not UTF-8 text; type it in a terminal that writes UTF-8"
        ) from error


async def _standard_input() -> bytes:
    """Read in a thread: a read that blocks the loop would keep Ctrl-C waiting."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes | Exception] = loop.create_future()

    def settle(outcome: bytes | Exception) -> None:
        if not done.done():
            done.set_result(outcome)

    def read() -> None:
        outcome = _all_of_standard_input()
        with contextlib.suppress(RuntimeError):  # interrupted: nothing waits, the loop is closed
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=read, daemon=True, name="standard input").start()
    outcome = await done
    if isinstance(outcome, Exception):
        raise CommandError(f"the standard input cannot be read: {outcome}") from outcome
    return outcome


def _all_of_standard_input() -> bytes | Exception:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  (started with it closed)
        return ValueError("it is closed")
    # Not through `sys.stdin`, whose lock, if still held at the end, would abort the program.
    descriptor, data = sys.stdin.fileno(), bytearray()
    try:
        while len(data) <= _MOST_BYTES and (part := os.read(descriptor, 1 << 16)):
            data += part
    except OSError as error:
        return error
    return bytes(data)
