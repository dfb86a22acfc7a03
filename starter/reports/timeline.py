"""A session's time as rows of bars, for a picture. Pure.

One row each for planning, gates on the base, the waves of each stage and the waits for decisions;
then one row for each task, with its agents and gates. Places are in pixels from the left edge.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from starter.reports import decision_waits
from starter.reports.report_facts import Facts
from starter.sessions.turn_history import task_of
from workers.telemetry.session_record import GateRun
from workers.telemetry.traces.span_values import Span

WIDTH: Final = 860
ROW: Final = 18
_LEAST: Final = 2.0
_ON_TASK: Final = re.compile(r"gates on (?P<task>\S+), attempt \d+")
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200)
_TICKS: Final = 10

Kind = Literal["plan", "develop", "review", "validate", "gates", "merge", "wait"]


class Bar(NamedTuple):
    """One stretch of time."""

    kind: Kind
    x: float
    width: float
    title: str
    is_open: bool


class Row(NamedTuple):
    """One line of the picture."""

    label: str
    task: str
    """The task that it is about; empty: none."""
    bars: list[Bar]


class Tick(NamedTuple):
    """One mark on the time's axis."""

    x: float
    label: str


class Timeline(NamedTuple):
    """The whole picture."""

    rows: list[Row]
    ticks: list[Tick]
    seconds: float


def timeline(facts: Facts) -> Timeline:
    """Return the session's time from its start to its end, or to now."""
    scale = _Scale(facts.view.started_at, facts.until)
    shared = [
        Row("plan", "", [scale.span("plan", each) for each in _waves(facts, "plan")]),
        Row("gates on the base", "", [scale.gates(each) for each in _base_gates(facts)]),
        Row("waits for decisions", "", [scale.wait(each) for each in decision_waits.waits(facts)]),
        Row("develop", "", [scale.span("develop", each) for each in _waves(facts, "develop")]),
        Row("validate", "", [scale.span("validate", each) for each in _waves(facts, "validate")]),
        Row("merge", "", [scale.span("merge", each) for each in _waves(facts, "merge")]),
    ]
    rows = [*shared, *(Row(name, name, bars) for name, bars in _by_task(facts, scale).items())]
    return Timeline([each for each in rows if each.bars], scale.ticks(), scale.seconds)


class _Scale:
    """Turns times into places."""

    def __init__(self, first: datetime, last: datetime) -> None:
        self._first = first
        self._last = last
        self.seconds = max((last - first).total_seconds(), 1.0)

    def span(self, kind: Kind, span: Span) -> Bar:
        outcome = "" if span.outcome == "completed" else f", {span.outcome}"
        return self._bar(kind, span.name + outcome, span.began, span.ended)

    def gates(self, run: GateRun) -> Bar:
        return self._bar("gates", run.what, run.began, run.ended)

    def wait(self, wait: decision_waits.Wait) -> Bar:
        return self._bar("wait", f"waits for {wait.what}", wait.since, wait.until)

    def _bar(self, kind: Kind, name: str, began: datetime, ended: datetime | None) -> Bar:
        end = ended or self._last
        x = self._place(began)
        took = clock(end - began)
        title = f"{name}: {took}" if ended else f"{name}: {took} so far"
        return Bar(kind, x, max(self._place(end) - x, _LEAST), title, ended is None)

    def _place(self, at: datetime) -> float:
        part = (at - self._first).total_seconds() / self.seconds
        return round(WIDTH * min(max(part, 0.0), 1.0), 1)

    def ticks(self) -> list[Tick]:
        step = next((each for each in _STEPS if self.seconds / each <= _TICKS), None)
        step = step or max(int(self.seconds / _TICKS), 1)
        seconds = range(0, int(self.seconds) + 1, step)
        return [
            Tick(round(WIDTH * s / self.seconds, 1), clock(timedelta(seconds=s))) for s in seconds
        ]


def clock(took: timedelta) -> str:
    """Return a time in words: `4.2 s`, `3 min 05 s`, `2 h 07 min`, `3 d 04 h`."""
    seconds = max(took.total_seconds(), 0.0)
    if seconds < 60:  # noqa: PLR2004 (a minute)
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _waves(facts: Facts, stage: str) -> Iterator[Span]:
    for each in facts.trace.spans:
        name, _, number = each.name.partition(" ")
        if each.kind == "workflow" and name == stage and number.isdigit():
            yield each


def _base_gates(facts: Facts) -> Iterable[GateRun]:
    return (each for each in facts.record.gates if each.what.startswith("baseline"))


def _by_task(facts: Facts, scale: _Scale) -> dict[str, list[Bar]]:
    rows: dict[str, list[Bar]] = {each.id: [] for each in facts.view.tasks}
    for each in facts.trace.spans:
        if each.kind == "workflow" and (task := task_of(each.name)) in rows:
            kind: Kind = "develop" if each.name.startswith("dev.") else "review"
            rows[task].append(scale.span(kind, each))
    for run in facts.record.gates:
        found = _ON_TASK.fullmatch(run.what)
        if found is not None and found["task"] in rows:
            rows[found["task"]].append(scale.gates(run))
    return rows
