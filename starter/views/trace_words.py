"""A trace in words: a tree of spans with their start, time and cost. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from starter.console.terminal import one_line, shown
from starter.sessions.turn_history import task_of
from workers.telemetry.traces.span_values import Span, Trace
from workflows.policy.money.amounts_in_words import counted, money

_WIDTH: Final = 100
_FOLDED: Final = "turn"


def tree(trace: Trace, now: datetime, opened: str | None = None) -> list[str]:
    """Return a line for each span, the time since the session's start first.

    Args:
        trace: of one session.
        now: for spans that have not ended.
        opened: an agent whose turns are shown, with all agents of a task; None: turns are counted.
    """
    below: dict[str | None, list[Span]] = {}
    known = {each.id for each in trace.spans}
    for each in trace.spans:
        if each.kind == "run":
            continue  # its work is shown below its workflow
        below.setdefault(each.parent if each.parent in known else None, []).append(each)
    first = min((each.began for each in trace.spans), default=now)
    lines = [f"{'at':>9} {'took':>9} {'cost':>9}"]
    for root in below.get(None, []):
        lines += _lines(root, below, _Look(first, now, opened), 0)
    return lines


class _Look(NamedTuple):
    first: datetime
    now: datetime
    opened: str | None


def is_agent(span: Span, wanted: str) -> bool:
    """Whether a span is the agent of this name, or an agent of this task."""
    return span.kind == "workflow" and wanted in {span.name, task_of(span.name)}


def _lines(
    span: Span, below: dict[str | None, list[Span]], look: _Look, depth: int
) -> Iterator[str]:
    parts = below.get(span.id, [])
    turns = [each for each in parts if each.kind == _FOLDED]
    is_folded = bool(turns) and not (look.opened is not None and is_agent(span, look.opened))
    yield _line(span, look, depth, _inside(turns, below) if is_folded else "")
    for each in parts:
        if not (is_folded and each.kind == _FOLDED):
            yield from _lines(each, below, look, depth + 1)


def _inside(turns: Iterable[Span], below: dict[str | None, list[Span]]) -> str:
    """Count what is in turns that are not shown."""
    turns = list(turns)
    calls = [each for turn in turns for each in below.get(turn.id, [])]
    bad = Counter(each.outcome for each in calls if each.outcome not in {"completed", "running"})
    told = [f"{number} {outcome}" for outcome, number in sorted(bad.items())]
    return ", ".join([counted(len(turns), "turn"), *told])


def _line(span: Span, look: _Look, depth: int, inside: str) -> str:
    took = _clock((span.ended or look.now) - span.began) + ("" if span.ended else "…")
    cost = "" if span.cost_usd is None else money(span.cost_usd)
    facts = [
        f"({inside})" if inside else "",
        "" if span.outcome in {"completed", "running"} else span.outcome.upper(),
        counted(span.attempts, "attempt") if span.attempts > 1 else "",
        one_line(_about(span), _WIDTH),
    ]
    said = "  ".join(filter(None, (shown(span.name), *facts)))
    return f"{_clock(span.began - look.first):>9} {took:>9} {cost:>9}  {'  ' * depth}{said}"


def _about(span: Span) -> str:
    return str(span.attributes.get("error.message", "")) or span.summary


def _clock(took: timedelta) -> str:
    """Return minutes and seconds: `0:00.4`, `125:03.0`."""
    tenths = max(0, round(took / timedelta(milliseconds=100)))
    minutes, rest = divmod(tenths, 600)
    return f"{minutes}:{rest // 10:02}.{rest % 10}"
