"""A trace as a tree of lines."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from starter.views.trace_words import is_agent, tree
from workers.telemetry.traces.span_values import Span, Trace

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def span(name: str, parent: str | None, kind: str, at: float, took: float | None, **facts: Any):
    began = BEGAN + timedelta(seconds=at)
    return Span.model_validate(
        {
            "id": name,
            "parent": parent,
            "kind": kind,
            "name": name,
            "began": began,
            "ended": None if took is None else began + timedelta(seconds=took),
            "outcome": "running" if took is None else "completed",
            **facts,
        }
    )


TRACE = Trace(
    trace_id="0" * 32,
    session="s",
    spans=(
        span("session", None, "workflow", 0, None, cost_usd=Decimal("0.5")),
        span("dev.a.1", "session", "workflow", 1, 90, cost_usd=Decimal("0.5")),
        span("turn 1", "dev.a.1", "turn", 1, 3),
        span("models.call", "turn 1", "activity", 1, 2, attempts=3, outcome="failed"),
        span(
            "gates.run",
            "session",
            "activity",
            100,
            0.04,
            outcome="failed",
            attributes={"error.message": "no\nroom"},
        ),
    ),
)


def test_turns_are_counted_with_what_failed_in_them():
    assert tree(TRACE, BEGAN + timedelta(hours=2, seconds=5)) == [
        "       at      took      cost",
        "   0:00.0 120:05.0…     $0.50  session",
        "   0:01.0    1:30.0     $0.50    dev.a.1  (1 turn, 1 failed)",
        "   1:40.0    0:00.0              gates.run  FAILED  no room",
    ]


@pytest.mark.parametrize("opened", ["a", "dev.a.1"])
def test_the_turns_of_a_task_or_an_agent_are_shown_when_asked(opened: str):
    lines = tree(TRACE, BEGAN, opened)
    assert lines[3:5] == [
        "   0:01.0    0:03.0                turn 1",
        "   0:01.0    0:02.0                  models.call  FAILED  3 attempts",
    ]


def test_only_workflows_are_agents():
    assert [each.name for each in TRACE.spans if is_agent(each, "a")] == ["dev.a.1"]
    assert not any(is_agent(each, "turn 1") for each in TRACE.spans)


def test_a_span_whose_workflow_is_gone_is_still_shown():
    orphan = Trace(trace_id="0" * 32, session="s", spans=TRACE.spans[1:2])
    assert tree(orphan, BEGAN)[1].endswith("  dev.a.1")
