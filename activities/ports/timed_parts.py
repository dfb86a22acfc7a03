"""What an activity spends its time on: told by what does the work, returned with the outcome.

As in `measures`, who takes the parts follows from the activity that runs; outside of one, no one.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal

from workflows.domain.gate import TimedPart

_MOST: Final = 200


@dataclass
class Parts:
    """The parts of one activity, in the order of their ends."""

    began: float = field(default_factory=time.monotonic)
    found: list[TimedPart] = field(default_factory=list[TimedPart])


_taker: ContextVar[Parts | None] = ContextVar("timed_parts", default=None)


@contextmanager
def parts_taken() -> Generator[Parts]:
    """Take the parts of what runs in the block, also in tasks that it starts."""
    parts = Parts()
    token = _taker.set(parts)
    try:
        yield parts
    finally:
        _taker.reset(token)


def took_part(kind: Literal["gate", "setup"], name: str, began: float, outcome: str = "") -> None:
    """Tell of a part that has just ended.

    Args:
        kind: of work.
        name: see `TimedPart`.
        began: by `time.monotonic`.
        outcome: a gate's result.
    """
    parts = _taker.get()
    if parts is None or len(parts.found) >= _MOST:
        return
    after, took = began - parts.began, time.monotonic() - began
    parts.found.append(
        TimedPart(
            kind=kind,
            name=name,
            after=timedelta(seconds=round(max(after, 0.0), 3)),
            took=timedelta(seconds=round(took, 3)),
            outcome=outcome,
        )
    )
