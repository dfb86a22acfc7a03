"""The one home of waiting: for files, logs, queries and words, each time up to a deadline.

A test brings about what must happen at a given moment, by a fail point, a pipe or a scripted model
that waits. Here it only waits for the effect, and says at the deadline what it awaited and what it
saw instead. Nothing else in `tests/` sleeps or polls; `tests/unit/test_waits.py` holds that.
"""

import asyncio
import inspect
import os
import select
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

PATIENCE: Final = 60.0
"""Seconds after which what should have happened counts as lost; below a test's own time."""
LONG_PATIENCE: Final = 480.0
"""The same for a whole session in a test that may take minutes."""
COMMAND_PATIENCE: Final = 100.0
"""The same for a command that a person types and that runs a whole session."""
MOMENT: Final = 0.3
"""Seconds in which what must not happen is given the chance to; too few only weaken a test."""
FOREVER: Final = "while :; do sleep 0.05; done"
"""A line of shell that only a limit from outside ends, where that limit is the subject."""

_LOOK_SECONDS: Final = 0.02
_SHOWN: Final = 2_000

Seen = Callable[[], object]
_T = TypeVar("_T")


async def until(
    holds: Callable[[], object | Awaitable[object]],
    what: str,
    patience: float = PATIENCE,
    seen: Seen | None = None,
) -> None:
    """Look again and again until something holds.

    Args:
        holds: looks, at once or asynchronously; what it returns is true once it holds.
        what: is said where it never does.
        patience: seconds.
        seen: looks at what is said to be there instead; None: what `holds` returned last.

    Raises:
        AssertionError: it did not happen.
    """
    deadline = _Deadline(what, patience, seen)
    while True:
        found = holds()
        last: object = await found if inspect.isawaitable(found) else found
        if last:
            return
        deadline.check(last)
        await asyncio.sleep(_LOOK_SECONDS)


def until_blocking(
    holds: Callable[[], object], what: str, patience: float = PATIENCE, seen: Seen | None = None
) -> None:
    """Do the same where there is no event loop."""
    deadline = _Deadline(what, patience, seen)
    while not (last := holds()):
        deadline.check(last)
        time.sleep(_LOOK_SECONDS)


async def ends(awaited: Awaitable[_T], what: str, patience: float = PATIENCE) -> _T:
    """Await something up to a deadline.

    Raises:
        AssertionError: it did not come; with what it was.
    """
    try:
        async with asyncio.timeout(patience):
            return await awaited
    except TimeoutError:
        raise AssertionError(f"waited {patience:.0f} s for: {what}") from None


async def is_still_going(running: "asyncio.Future[Any]") -> bool:
    """Say whether something that must not end by itself has not ended a moment later."""
    done, _ = await asyncio.wait({running}, timeout=MOMENT)
    return not done


def shell_until(file: str, test: str = "-e", seconds: int = int(PATIENCE)) -> str:
    """Return a line of shell that waits for a file, or says that it never came and exits with 99.

    Args:
        file: as it stands in shell, without spaces.
        test: of the shell's `[`.
        seconds: at least so many; it looks twenty times in each.
    """
    return (
        f"tries=0; until [ {test} {file} ]; do tries=$((tries + 1)); "
        f"if [ $tries -gt {seconds * 20} ]; then "
        f'echo "waited {seconds} s for: [ {test} {file} ]; there is: $(ls -m)" >&2; exit 99; fi; '
        "sleep 0.05; done"
    )


def text_of(path: Path) -> str:
    """Return the end of a file's text, or that it is not there: what a deadline shows of it."""
    try:
        return path.read_text(errors="replace")[-_SHOWN:]
    except OSError as error:
        return f"({error.strerror}: {str(path)!r})"


class Shown:
    """What another process has shown on a pipe or a terminal so far."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.text = ""

    def until(self, words: str, patience: float = PATIENCE) -> None:
        """Read until the words were shown since `text` was last emptied.

        Raises:
            AssertionError: they were not, or it ended before; with what was shown instead.
        """
        deadline = _Deadline(f"the words {words!r}", patience, lambda: self.text[-_SHOWN:])
        while words not in self.text:
            if not self._read(deadline):
                raise AssertionError(f"ended without the words {words!r}: {self.text[-_SHOWN:]!r}")

    def rest(self, patience: float = PATIENCE) -> str:
        """Read to the end and return all that was shown.

        Raises:
            AssertionError: it did not end; with what was shown.
        """
        deadline = _Deadline("the end of what is shown", patience, lambda: self.text[-_SHOWN:])
        while self._read(deadline):
            pass
        return self.text

    def _read(self, deadline: "_Deadline") -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], deadline.left())
        if not ready:
            deadline.check(None)
            return True
        try:
            chunk = os.read(self._descriptor, 65_536)
        except OSError:
            return False  # this is how a terminal's end shows
        self.text += chunk.decode(errors="replace")
        return bool(chunk)


class _Deadline:
    def __init__(self, what: str, patience: float, seen: Seen | None) -> None:
        self._what = what
        self._patience = patience
        self._seen = seen
        self._at = time.monotonic() + patience

    def left(self) -> float:
        return max(0.0, self._at - time.monotonic())

    def check(self, last: object) -> None:
        if time.monotonic() < self._at:
            return
        shown = last if self._seen is None else self._seen()
        raise AssertionError(
            f"waited {self._patience:.0f} s for: {self._what}; last seen: {shown!r}"
        )
