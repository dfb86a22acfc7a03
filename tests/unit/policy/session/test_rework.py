"""What a task's next attempt goes on from, and which ends of its work use up an attempt."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.unit.policy.examples import a_plan, a_task
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.budget import Bill
from workflows.domain.changeset import ChangesetState
from workflows.domain.ids import ChangesetId, Commit, TaskId, Tree
from workflows.domain.session.session_config import Routes, SessionConfig
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import (
    Developed,
    DevelopResult,
    MergeResult,
    NotDeveloped,
    Refused,
    ReturnedChangeset,
    ValidateResult,
)
from workflows.domain.task import TaskRecord, TaskState
from workflows.policy.session import scheduling, wave_outcomes
from workflows.policy.session.wave_outcomes import REWORKS_ALLOWED

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
CONFIG = SessionConfig(routes=ROUTES, attempts=2)
A, B = TaskId("a"), TaskId("b")
HEAD, BASE, OLD, WORK, NEW = (Commit(letter * 40) for letter in "12345")


def session(state: TaskState, **facts: object) -> SessionState:
    """A session of `a`, which stands so after attempt 1, and `b`, which is built upon it."""
    before = SessionState(started_at=NOON, cap_usd=Decimal(10), head=HEAD)
    plan = a_plan(a_task("a", group="g"), a_task("b", depends_on=["a"], group="g"))
    before = scheduling.adopt(before, plan, CONFIG)
    known = {"attempt": 1, "base": BASE, "first_base": OLD, "commit": WORK, "restart_from": WORK}
    record = before.records[A].model_copy(update={"state": state, **known, **facts})
    return wave_outcomes.put(before, record)


def starts_from(record: TaskRecord) -> tuple[Commit | None, Commit | None]:
    """The work that the next attempt goes on from, and what that was based on."""
    return record.restart_from, record.base


def returned(state: SessionState, by: str) -> SessionState:
    """The merge queue sends `a` back."""
    (changeset,) = state.changesets
    testing = changeset.model_copy(update={"state": ChangesetState.TESTING})
    state = wave_outcomes.put_changeset(state, testing)
    item = ReturnedChangeset.model_validate(
        {"id": ChangesetId("g"), "task": A, "by": by, "notes": "in f"}
    )
    result = MergeResult(items=(item,), head=HEAD, delivered=None, branch=None)
    return wave_outcomes.take(state, result, NOON)


@pytest.mark.parametrize("by", ["conflict", "gate"])
def test_what_the_moved_head_does_to_work_keeps_it_and_uses_up_no_attempt(by: str) -> None:
    record = returned(session(TaskState.MERGING), by).records[A]
    assert record.state is TaskState.READY
    assert starts_from(record) == (WORK, BASE)
    assert (record.reworks, record.attempts_allowed) == (1, 3)
    assert record.notes == ("in f",)


@pytest.mark.parametrize("by", ["gate", "conflict"])
def test_a_revert_that_git_made_starts_no_agent_unless_a_person_asks(by: str) -> None:
    gits = returned(session(TaskState.MERGING, is_made_by_git=True), by).records[A]
    assert (gits.state, gits.attempts_allowed) == (TaskState.FAILED, CONFIG.attempts)
    agents = returned(session(TaskState.MERGING, is_made_by_git=True, attempt=2), by).records[A]
    assert agents.state is TaskState.READY


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("conflict", "conflicts again after 10 reworks; retry or skip it"),
        ("gate", "the checks fail on the merged tree again after 10 reworks; retry or skip it"),
    ],
)
def test_reworks_are_limited_and_the_limit_is_reported(by: str, said: str) -> None:
    often = session(TaskState.MERGING, reworks=REWORKS_ALLOWED, attempts_allowed=99)
    record = returned(often, by).records[A]
    assert record.state is TaskState.FAILED
    assert record.reason == said


def test_what_a_reviewer_rejects_goes_on_from_the_tasks_commit() -> None:
    item = Refused(task=A, attempt=1, by="reviewer", notes="no", bill=Bill())
    after = wave_outcomes.take(session(TaskState.VALIDATING), ValidateResult(items=(item,)), NOON)
    assert starts_from(after.records[A]) == (WORK, BASE)


def test_g52_repeated_rejections_by_a_person_use_up_no_attempt() -> None:
    state = session(TaskState.VALIDATED)
    for number in (1, 2, 3):
        state = wave_outcomes.send_back(state, A, "not so")
        record = state.records[A]
        assert record.state is TaskState.READY
        assert starts_from(record) == (WORK, BASE)
        assert record.attempts_allowed - number == CONFIG.attempts
        again = record.model_copy(update={"state": TaskState.VALIDATED, "attempt": number + 1})
        state = wave_outcomes.put(state, again)


def test_what_is_built_upon_changed_work_keeps_its_own() -> None:
    state = session(TaskState.VALIDATED)
    built = state.records[B].model_copy(
        update={"state": TaskState.VALIDATED, "attempt": 1, "base": WORK, "restart_from": NEW}
    )
    record = wave_outcomes.send_back(wave_outcomes.put(state, built), A, "no").records[B]
    assert record.state is TaskState.PENDING
    assert starts_from(record) == (NEW, WORK)
    assert record.attempts_allowed == CONFIG.attempts + 1


@pytest.mark.parametrize("end", list(AgentEnd))
@pytest.mark.parametrize(
    ("checkpoint", "expected"), [(NEW, (NEW, HEAD)), (None, (WORK, BASE))], ids=["own", "none"]
)
def test_an_attempt_without_work_goes_on_from_its_last_checkpoint(
    end: AgentEnd, checkpoint: Commit | None, expected: tuple[Commit, Commit]
) -> None:
    item = NotDeveloped(
        task=A,
        attempt=1,
        end=end,
        detail="so",
        base=HEAD,
        checkpoint=checkpoint,
        bill=Bill(),
    )
    before = session(TaskState.DEVELOPING)
    after = wave_outcomes.take(before, DevelopResult(items=(item,)), NOON)
    assert starts_from(after.records[A]) == expected


def test_the_first_base_is_that_of_the_first_attempt() -> None:
    item = Developed(
        task=A,
        attempt=1,
        base=HEAD,
        commit=NEW,
        tree=Tree("6" * 40),
        family="f",
        ignored=(),
        bill=Bill(),
    )
    result = DevelopResult(items=(item,))
    later = wave_outcomes.take(session(TaskState.DEVELOPING), result, NOON).records[A]
    assert (later.first_base, starts_from(later)) == (OLD, (NEW, HEAD))
    first = session(TaskState.DEVELOPING, first_base=None)
    assert wave_outcomes.take(first, result, NOON).records[A].first_base == HEAD
