"""`phase_changes.close`: in a session that has ended nothing is open."""

import pytest

from tests.unit.policy.examples import a_plan, a_task
from tests.unit.policy.session.test_ending import CONFIG, state
from workflows.domain.changeset import ChangesetState
from workflows.domain.gate import Judgement
from workflows.domain.ids import TaskId
from workflows.domain.task import TaskState
from workflows.policy.session import (
    changeset_states,
    phase_changes,
    scheduling,
    task_states,
    wave_outcomes,
)

A = TaskId("a")


@pytest.mark.parametrize("where", sorted(TaskState))
def test_a_task_that_is_not_final_is_cancelled_and_says_why(where: TaskState):
    before = state(where)
    record = phase_changes.close(before, "stopped by p").records[A]
    if where in task_states.FINAL:
        assert record == before.records[A]
    else:
        assert (record.state, record.reason) == (TaskState.CANCELLED, "stopped by p")


@pytest.mark.parametrize("where", sorted(ChangesetState))
def test_a_changeset_that_is_not_merged_is_dropped_and_says_why(where: ChangesetState):
    before = state(TaskState.SKIPPED)
    (changeset,) = before.changesets
    before = wave_outcomes.put_changeset(before, changeset.model_copy(update={"state": where}))
    (after,) = phase_changes.close(before, "stopped by p").changesets
    if where in changeset_states.FINAL:
        assert after == before.changesets[0]
    else:
        assert (after.state, after.reason) == (ChangesetState.DROPPED, "stopped by p")


def test_an_approved_unmerged_changeset_stays_approved():
    before = state(TaskState.VALIDATED)
    record = before.records[A].model_copy(
        update={"commit": "c" * 40, "judgement": Judgement(by=("tests",))}
    )
    rule = CONFIG.model_copy(
        update={"approvals": CONFIG.approvals.model_copy(update={"changeset": "auto_if_green"})}
    )
    settled = scheduling.settle(wave_outcomes.put(before, record), rule, before.started_at)
    (after,) = phase_changes.close(settled, "stopped by p").changesets
    assert (after.state, after.approved_by) == (ChangesetState.DROPPED, "rule auto_if_green")


@pytest.mark.parametrize("where", sorted(set(ChangesetState) - changeset_states.FINAL))
def test_a_partly_merged_changeset_is_merged(where: ChangesetState):
    before = state(TaskState.MERGED)
    (changeset,) = before.changesets
    before = wave_outcomes.put_changeset(before, changeset.model_copy(update={"state": where}))
    (after,) = phase_changes.close(before, "stopped by p").changesets
    assert after.state is ChangesetState.MERGED


def test_it_is_done_once():
    empty = state(TaskState.READY)
    both = scheduling.adopt(empty, a_plan(a_task("a"), a_task("b")), CONFIG)
    once = phase_changes.close(both, "stopped by p")
    assert phase_changes.close(once, "another reason") == once
