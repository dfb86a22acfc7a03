"""Merged work taken back: by which task, on whose claims, and when not."""

from datetime import UTC, datetime

import pytest

from tests.unit.policy.examples import a_plan, a_record, a_task
from tests.unit.policy.session.test_decision_record import ASK, a_state
from workflows.domain.ids import Commit, TaskId
from workflows.domain.session.earlier_work import HostAnswer, MakeRevert, RevertMade
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.decision.decisions import apply
from workflows.policy.decision.plan_edits import running_plan
from workflows.policy.decision.reverting import reverting
from workflows.policy.plan.plan_check import plan_faults
from workflows.policy.session import scheduling, wave_outcomes
from workflows.policy.session.effects import Applied, Sent
from workflows.policy.session.wave_requests import assignment, candidate

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
A, BACK = TaskId("a"), TaskId("revert-a")
HEAD, WORK, BASE, MADE = (Commit(letter * 40) for letter in "abcd")
CLEAN = RevertMade(commit=MADE, base=HEAD)
BLOCKED = RevertMade(commit=MADE, base=HEAD, conflicts="x.py: both sides changed the same lines")


def session(**states: TaskState) -> SessionState:
    """A running session: `a` is merged, `b` stands on it and `c` on that; other tasks as said."""
    tasks = [a_task("a", ["x.py"]), a_task("b", depends_on=["a"]), a_task("c", depends_on=["b"])]
    state = scheduling.adopt(a_state(SessionPhase.RUNNING), a_plan(*tasks), ASK).evolve(head=HEAD)
    for name, where in {"a": TaskState.MERGED, **states}.items():
        record = state.records[TaskId(name)]
        state = wave_outcomes.put(state, record.evolve(state=where, attempt=1))
    done = state.records[A].evolve(commit=WORK, base=BASE)
    return wave_outcomes.put(state, done)


def reverted(state: SessionState, found: HostAnswer | None = CLEAN, **more: object) -> Applied:
    payload = {"id": "a", "by": "ann", **more}
    return apply(state, ASK, Sent("revert_task", payload, found=found), NOON)  # pyright: ignore[reportArgumentType] (JSON)


def test_the_host_makes_the_work_on_the_head_first() -> None:
    asks = reverted(session(), None).asks
    assert asks == MakeRevert(task=A, title="Revert: do a", head=HEAD, commit=WORK, base=BASE)


def test_a_task_of_its_own_takes_the_work_back_without_an_agent() -> None:
    applied = reverted(session(b=TaskState.MERGED, c=TaskState.DEVELOPING), reason="too slow")
    assert applied.told == (
        "task 'revert-a' takes back task 'a' (made by git, without a review); "
        "tasks that depend on it: b (merged), c (developing)"
    )
    record = applied.state.records[BACK]
    assert (record.task.claims, record.task.depends_on) == (("x.py",), (A,))
    assert "Why: too slow" in record.task.description
    assert (record.reverts, record.is_made_by_git, record.attempts_allowed) == (A, True, 1)
    assert [each.tasks for each in applied.state.changesets if each.id == BACK] == [(BACK,)]
    start = assignment(applied.state, BACK)
    assert (start.restart_from, start.base, start.is_made_by_git) == (MADE, HEAD, True)
    assert applied.state.records[A].reason == "task 'revert-a' takes it back"
    assert "ann decided: task 'revert-a' takes back" in applied.state.notices[-1].text
    plan = running_plan(applied.state)
    assert plan is not None
    assert plan_faults(plan) == ()


def test_no_reviewer_looks_at_what_git_made_unless_a_person_asks_for_another_review() -> None:
    state = reverted(session()).state
    done = state.records[BACK].evolve(
        attempt=1, base=HEAD, commit=MADE, restart_from=MADE, author_family="git"
    )
    assert candidate(wave_outcomes.put(state, done), BACK).is_made_by_git
    for again in ({"validations": 1}, {"attempt": 2}, {"steers": ("leave the docs",)}):
        record = done.model_copy(update=again)
        assert not candidate(wave_outcomes.put(state, record), BACK).is_made_by_git


def test_an_agent_works_on_it_after_a_refusal_or_a_persons_word() -> None:
    state = reverted(session()).state
    rejected = state.records[BACK].evolve(attempt=1)
    assert not assignment(wave_outcomes.put(state, rejected), BACK).is_made_by_git
    steered = state.records[BACK].evolve(steers=("leave the docs",))
    assert not assignment(wave_outcomes.put(state, steered), BACK).is_made_by_git


def test_where_later_work_is_in_the_way_an_agent_starts_from_the_conflict_if_that_is_wanted() -> (
    None
):
    refused = reverted(session(), BLOCKED)
    assert "x.py: both sides changed the same lines" in refused.refused
    assert "`revert a --by-agent` adds a task for an agent" in refused.refused
    record = reverted(session(), BLOCKED, by_agent=True).state.records[BACK]
    assert (record.is_made_by_git, record.restart_from) == (False, MADE)
    assert "x.py: both sides changed" in record.notes[0]
    assert record.attempts_allowed == ASK.attempts


@pytest.mark.parametrize("found", [None, CLEAN])
@pytest.mark.parametrize(
    ("state", "content", "said"),
    [
        (session(b=TaskState.VALIDATED), {"id": "b"}, "task 'b' is validated, so nothing of it"),
        (session(), {"id": "z"}, "there is no task 'z'"),
        (session().evolve(phase=SessionPhase.AWAITING_PLAN), {}, "while the session is awaiting"),
        (reverted(session()).state, {}, "task 'revert-a' takes 'a' back already (pending)"),
    ],
)
def test_what_cannot_be_taken_back_is_refused_with_the_reason(
    state: SessionState, content: dict[str, object], said: str, found: HostAnswer | None
) -> None:
    applied = reverted(state, found, **content)
    assert said in applied.refused
    assert applied.asks is None


@pytest.mark.parametrize("gone", [TaskState.FAILED, TaskState.SKIPPED])
def test_it_can_be_tried_again_under_another_name(gone: TaskState) -> None:
    state = reverted(session()).state
    state = wave_outcomes.put(state, state.records[BACK].evolve(state=gone))
    assert "task 'revert-a-2' takes back" in reverted(state).told


def test_what_was_taken_back_and_brought_again_can_be_taken_back_again() -> None:
    state = reverted(session()).state
    merged = a_record(state.records[BACK].task, TaskState.MERGED, reverts=A, commit=MADE, base=HEAD)
    state = wave_outcomes.put(state, merged)
    assert reverting(state, A) == BACK
    state = reverted(state, id="revert-a").state
    assert reverting(state, A) == BACK  # until the second one is merged, too
    again = state.records[TaskId("revert-revert-a")]
    state = wave_outcomes.put(state, again.evolve(state=TaskState.MERGED))
    assert reverting(state, A) is None


def test_a_long_name_stays_a_valid_one() -> None:
    name = "a" * 63
    plan = a_plan(a_task(name))
    state = scheduling.adopt(a_state(SessionPhase.RUNNING), plan, ASK).evolve(head=HEAD)
    done = state.records[TaskId(name)].evolve(state=TaskState.MERGED, commit=WORK, base=BASE)
    state = reverted(wave_outcomes.put(state, done), id=name).state
    assert f"revert-{'a' * 56}" in state.records
