"""A trace as values: its spans, and what each says of its work."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, Self, TypedDict, Unpack

from pydantic import BaseModel

from workflows.domain.evolution import evolve

Attribute = str | int | float | bool | tuple[str, ...]
Outcome = Literal["running", "completed", "failed", "timed out", "cancelled", "terminated"]


class _SpanChanges(TypedDict, total=False):
    ended: datetime | None
    outcome: Outcome
    attempts: int
    cost_usd: Decimal
    attributes: dict[str, Attribute]


class Span(BaseModel, frozen=True, extra="forbid"):
    """One piece of work and its time."""

    id: str
    """16 hexadecimal digits, unique in the trace."""
    parent: str | None
    """The span around it; None: the session itself."""
    kind: Literal["workflow", "run", "turn", "activity", "call", "gate", "setup", "wait"]
    name: str
    """`session`, `ledger`, an agent's name, `develop 1` (a wave and its cycle), `turn 3`, `run 2`,
    an activity's type, a tool, a gate, or what was waited for."""
    summary: str = ""
    """In words, as the Web UI shows it."""
    began: datetime
    ended: datetime | None = None
    """None: it has not ended."""
    outcome: Outcome = "running"
    attempts: int = 1
    cost_usd: Decimal | None = None
    """What model calls in it cost; None: there was none."""
    attributes: dict[str, Attribute] = {}
    """Facts by the names of OpenTelemetry's semantic conventions, where there is one."""
    follows: str | None = None
    """Of a run: the span of the run that it continues."""

    def evolve(self, **changes: Unpack[_SpanChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class Trace(BaseModel, frozen=True, extra="forbid"):
    """All spans of a session."""

    trace_id: str
    """32 hexadecimal digits, which follow from the session's id."""
    session: str
    spans: tuple[Span, ...]
    """The session's first; otherwise in the order in which they began."""
