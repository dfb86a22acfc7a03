"""What a `run` says that is interrupted before it follows its session: whether there is one."""

import asyncio
import contextlib
from collections.abc import Generator
from dataclasses import dataclass

from starter.console.terminal import write


@dataclass
class Beginning:
    """How far a `run` has come."""

    session: str | None = None
    """Set once the server may have heard of it."""
    is_in_background: bool = False
    """An `up` may have been left running."""
    is_followed: bool = False
    """Whoever follows the session says how it goes on."""


@contextlib.contextmanager
def told_if_interrupted(program: str, *, beside: bool) -> Generator[Beginning]:
    """Say what there is where a person interrupts the block.

    Args:
        program: how commands are called that a person is told.
        beside: on the error stream, since the output is documents.
    """
    beginning = Beginning()
    try:
        yield beginning
    except (asyncio.CancelledError, KeyboardInterrupt):
        if not beginning.is_followed:
            write(interrupted(beginning, program), beside=beside)
        raise


def interrupted(beginning: Beginning, program: str) -> list[str]:
    """Return what there is at this point, and how to look or to end it."""
    if beginning.session is None:
        first = "interrupted: no session was started"
    else:
        look = f"`{program} status {beginning.session}` tells"
        first = f"interrupted: session {beginning.session} may have been started; {look}"
    background = f"server and workers may run in the background; `{program} up --stop` ends them"
    return [first, background] if beginning.is_in_background else [first]
