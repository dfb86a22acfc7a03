"""The message of a `run` that is interrupted before it follows its session."""

import asyncio
import contextlib
from collections.abc import Generator
from dataclasses import dataclass

from starter.console.terminal import write


@dataclass
class Beginning:
    """How far a `run` has come."""

    session: str | None = None
    """Set when the server may have received it."""
    is_in_background: bool = False
    """An `up` may have been left running."""
    is_followed: bool = False
    """From here on the code that follows the session reports how it goes on."""


@contextlib.contextmanager
def told_if_interrupted(program: str, *, beside: bool) -> Generator[Beginning]:
    """If a person interrupts the block, say what was started.

    Args:
        program: the program as the person types it.
        beside: on the error stream, because the output is documents.
    """
    beginning = Beginning()
    try:
        yield beginning
    except (asyncio.CancelledError, KeyboardInterrupt):
        if not beginning.is_followed:
            write(interrupted(beginning, program), beside=beside)
        raise


def interrupted(beginning: Beginning, program: str) -> list[str]:
    """Return what was started by then, and how to inspect or end it."""
    if beginning.session is None:
        first = "interrupted: no session was started"
    else:
        look = f"`{program} status {beginning.session}` tells"
        first = f"interrupted: session {beginning.session} may have been started; {look}"
    background = f"server and workers may run in the background; `{program} up --stop` ends them"
    return [first, background] if beginning.is_in_background else [first]
