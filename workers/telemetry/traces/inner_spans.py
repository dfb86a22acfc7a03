"""What happened inside an activity, as spans below its own: tool calls, gates, set-up. Pure.

Outcomes tell it. Those of earlier versions tell no times: their tool calls have no length.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import BaseModel

from workers.telemetry.traces.span_values import Attribute, Outcome, Span
from workers.telemetry.traces.trace_ids import digest
from workflows.contracts.gate_contracts import RUN_GATES
from workflows.contracts.host_contracts import PREPARE_WORKTREE, RUN_TOOLS
from workflows.domain.gate import TimedPart


class _Call(BaseModel, frozen=True, extra="ignore"):
    call_id: str
    name: str
    is_error: bool = False
    is_failed: bool = False
    took: timedelta | None = None


class Calls(BaseModel, frozen=True, extra="ignore"):
    """What is read of a batch's outcome; its texts are not."""

    observations: tuple[_Call, ...] = ()


class Timed(BaseModel, frozen=True, extra="ignore"):
    """What is read of the outcome of gates, and of a worktree that was made."""

    parts: tuple[TimedPart, ...] = ()


READ: Final[dict[str, type[Calls] | type[Timed]]] = {
    RUN_TOOLS.name: Calls,
    RUN_GATES.name: Timed,
    PREPARE_WORKTREE.name: Timed,
}
"""What is read of an activity's outcome, by the activity's name."""


def inner_spans(around: Span, started: datetime, outcome: object) -> list[Span]:
    """Return the spans inside of an activity that has completed.

    Args:
        around: the activity's.
        started: when a worker took it.
        outcome: as read by `READ`; anything else has no spans inside.
    """
    if isinstance(outcome, Calls):
        return list(_calls(around, started, outcome.observations))
    return list(_parts(around, started, outcome.parts)) if isinstance(outcome, Timed) else []


def _calls(around: Span, started: datetime, calls: Iterable[_Call]) -> Iterator[Span]:
    """Yield the calls, which ran one after another."""
    at = started
    for number, call in enumerate(calls):
        facts: dict[str, Attribute] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.call_id,
        }
        if call.is_failed or call.is_error:
            facts["error.type"] = "error" if call.is_error else "exit"
        outcome: Outcome = "failed" if call.is_error else "completed"
        took = call.took or timedelta()
        yield _inside(around, f"call {number}", "call", call.name, (at, took)).evolve(
            outcome=outcome, attributes=facts
        )
        at += took


def _parts(around: Span, started: datetime, parts: Iterable[TimedPart]) -> Iterator[Span]:
    for number, part in enumerate(parts):
        name = part.name if part.kind == "gate" else f"set-up from {part.name}"
        outcome: Outcome = "failed" if part.outcome == "failed" else "completed"
        facts: dict[str, Attribute] = (
            {"blueflame.gate.result": part.outcome} if part.kind == "gate" else {}
        )
        yield _inside(
            around, f"part {number}", part.kind, name, (started + part.after, part.took)
        ).evolve(outcome=outcome, attributes=facts)


def _inside(
    around: Span,
    key: str,
    kind: Literal["call", "gate", "setup"],
    name: str,
    time: tuple[datetime, timedelta],
) -> Span:
    """Return a span within the other's time; hosts and server have different clocks."""
    last = around.ended or time[0] + time[1]
    began = min(max(time[0], around.began), last)
    return Span(
        id=digest(key, around.id)[:16],
        parent=around.id,
        kind=kind,
        name=name,
        began=began,
        ended=min(began + time[1], last),
        outcome="completed",
    )
