"""Comments on lines: kept with their task and attempt, told with their place, never cut."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from tests.unit.policy.session.test_decision_record import DIGEST, WAITING
from workflows.domain.ids import TaskId
from workflows.domain.line_comment import LineComment
from workflows.domain.session.session_config import Approvals, Routes, SessionConfig
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.decision.decisions import apply
from workflows.policy.session.effects import Applied, Sent

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
CONFIG = SessionConfig(routes=ROUTES, attempts=2, approvals=Approvals(plan="ask", changeset="ask"))
PLACED = {"path": "a.py", "line": 3, "quote": "x = 1", "text": "name it"}


def decided(name: str, more: Mapping[str, object], state: SessionState = WAITING) -> Applied:
    """Decide on the changeset that waits."""
    return apply(state, CONFIG, Sent(name, {"id": "a", **more}), NOON)  # pyright: ignore[reportArgumentType] (JSON)


def test_a_rejection_tells_the_next_attempt_each_comment_with_its_place() -> None:
    record = WAITING.records[TaskId("a")].evolve(state=TaskState.VALIDATED, attempt=2)
    state = WAITING.evolve(records={**WAITING.records, TaskId("a"): record})
    applied = decided("reject_changeset", {"reason": "not yet", "comments": [PLACED]}, state)
    again = applied.state.records[TaskId("a")]
    assert again.notes[-1] == (
        "a person rejected the work: not yet\n"
        "Comments on lines of the work, each with its place:\n"
        "- a.py:3 `x = 1`: name it"
    )
    assert again.comments == (LineComment.model_validate({**PLACED, "attempt": 2}),)
    assert applied.state.records[TaskId("b")].comments == ()


def test_an_approval_with_comments_keeps_them_for_work_that_comes_back() -> None:
    applied = decided("approve_changeset", {"digest": DIGEST, "comments": [PLACED]})
    record = applied.state.records[TaskId("a")]
    assert applied.refused == ""
    assert "a.py:3 `x = 1`: name it" in record.notes[-1]
    assert len(record.comments) == 1


@pytest.mark.parametrize(
    ("name", "more"),
    [("reject_changeset", {}), ("approve_changeset", {"digest": DIGEST})],
)
@pytest.mark.parametrize(
    ("comments", "said"),
    [
        ([{**PLACED, "task": "b"}], "names task 'b', but changeset 'a' has a"),
        ([{**PLACED, "text": "x" * 2_000}] * 6, "shorten them to 10000"),
        ([{**PLACED, "line": 0}], "was not understood"),
    ],
)
def test_comments_that_cannot_be_kept_whole_refuse_the_decision(
    name: str, more: dict[str, object], comments: list[object], said: str
) -> None:
    applied = decided(name, {"comments": comments, **more})
    assert said in applied.refused
    assert applied.state.changesets == WAITING.changesets
