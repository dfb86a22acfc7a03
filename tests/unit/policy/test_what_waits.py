"""`schedule.ending`: what a session says of itself where nothing goes on by itself."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.unit.policy.examples import a_plan, a_task
from workflows.domain.config import Approvals, Routes, SessionConfig
from workflows.domain.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy import outcomes, schedule

ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
ASK = SessionConfig(routes=ROUTES)
AUTO = SessionConfig(routes=ROUTES, approvals=Approvals(plan="auto", changeset="auto_if_green"))


def ended_as(*states: TaskState) -> SessionState:
    """A session whose tasks stand so."""
    state = SessionState(started_at=datetime(2026, 1, 1, tzinfo=UTC), cap_usd=Decimal(10))
    names = [f"t{number}" for number, _ in enumerate(states)]
    state = schedule.adopt(state, a_plan(*map(a_task, names)), ASK)
    for record, where in zip(state.records.values(), states, strict=True):
        state = outcomes.put(state, record.model_copy(update={"state": where}))
    return state


@pytest.mark.parametrize(
    ("config", "kind", "reason"),
    [
        (ASK, "waits", "not done: t1 (failed); retry, skip or stop"),
        # Nobody can answer a session that has ended.
        (AUTO, "incomplete", "not done: t1 (failed)"),
    ],
)
def test_only_who_is_waited_for_is_told_what_to_do(
    config: SessionConfig, kind: str, reason: str
) -> None:
    end = schedule.ending(ended_as(TaskState.MERGED, TaskState.FAILED), config)
    assert (end.kind, end.reason) == (kind, reason)


def test_what_is_merged_or_skipped_is_complete() -> None:
    """Field report R40."""
    assert schedule.ending(ended_as(TaskState.MERGED, TaskState.SKIPPED), ASK).kind == "complete"
