"""`schedule.ending`: what a session says of itself where nothing goes on by itself."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.unit.policy.examples import a_plan, a_task
from workflows.domain.changeset import ChangesetState
from workflows.domain.gate import Judgement
from workflows.domain.ids import Commit, TaskId
from workflows.domain.session.session_config import Approvals, Routes, SessionConfig
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.session import scheduling, wave_outcomes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
ASK = SessionConfig(routes=ROUTES)
AUTO = SessionConfig(routes=ROUTES, approvals=Approvals(plan="auto", changeset="auto_if_green"))


def ended_as(*states: TaskState) -> SessionState:
    """A session whose tasks stand so."""
    state = SessionState(started_at=NOON, cap_usd=Decimal(10))
    names = [f"t{number}" for number, _ in enumerate(states)]
    state = scheduling.adopt(state, a_plan(*map(a_task, names)), ASK)
    for record, where in zip(state.records.values(), states, strict=True):
        state = wave_outcomes.put(state, record.model_copy(update={"state": where}))
    return state


@pytest.mark.parametrize(
    ("config", "kind", "reason"),
    [
        (ASK, "waits", "not done: t1 (failed); retry, skip or stop"),
        # No one can answer a session that has ended.
        (AUTO, "incomplete", "not done: t1 (failed)"),
    ],
)
def test_the_end_names_what_to_do_only_if_a_person_decides(
    config: SessionConfig, kind: str, reason: str
) -> None:
    end = scheduling.ending(ended_as(TaskState.MERGED, TaskState.FAILED), config)
    assert (end.kind, end.reason) == (kind, reason)


def test_g21_what_lacks_a_task_waits_for_no_one_where_no_one_decides() -> None:
    state = SessionState(started_at=NOON, cap_usd=Decimal(10))
    state = scheduling.adopt(state, a_plan(a_task("a", group="g"), a_task("b", group="g")), AUTO)
    facts = {"state": TaskState.VALIDATED, "commit": Commit("1" * 40)}
    a, b = (state.records[TaskId(name)] for name in ("a", "b"))
    state = wave_outcomes.put(state, a.model_copy(update=facts))
    state = wave_outcomes.put(state, b.model_copy(update={"state": TaskState.FAILED}))
    end = scheduling.ending(scheduling.settle(state, AUTO, NOON), AUTO)
    assert end.kind == "incomplete"
    assert end.reason == (
        "no rule merges g without b (failed); not done: a (validated), b (failed)"
    )


def test_merged_or_skipped_tasks_make_a_session_complete() -> None:
    """Field report R40."""
    assert scheduling.ending(ended_as(TaskState.MERGED, TaskState.SKIPPED), ASK).kind == "complete"


@pytest.mark.parametrize(
    ("config", "where"),
    [(ASK, ChangesetState.AWAITING_APPROVAL), (AUTO, ChangesetState.APPROVED)],
)
def test_a_task_left_out_of_a_merge_is_merged_once_it_was_retried(
    config: SessionConfig, where: ChangesetState
) -> None:
    state = SessionState(started_at=NOON, cap_usd=Decimal(10))
    state = scheduling.adopt(state, a_plan(a_task("a", group="g"), a_task("b", group="g")), config)
    merged = state.changesets[0].model_copy(update={"state": ChangesetState.MERGED})
    state = wave_outcomes.put_changeset(state, merged)
    a, b = (state.records[TaskId(name)] for name in ("a", "b"))
    state = wave_outcomes.put(state, a.model_copy(update={"state": TaskState.MERGED}))

    for at_work in (TaskState.PENDING, TaskState.FAILED):
        tried = wave_outcomes.put(state, b.model_copy(update={"state": at_work}))
        assert scheduling.settle(tried, config, NOON).changesets == (merged,)

    facts = {
        "state": TaskState.VALIDATED,
        "commit": Commit("1" * 40),
        "judgement": Judgement(by=("tests",)),
    }
    state = scheduling.settle(wave_outcomes.put(state, b.model_copy(update=facts)), config, NOON)
    (changeset,) = state.changesets
    assert (changeset.state, [each.task for each in changeset.items]) == (where, ["b"])

    # Left out after all: what was merged is merged.
    skipped = state.records[TaskId("b")].model_copy(update={"state": TaskState.SKIPPED})
    (changeset,) = scheduling.settle(wave_outcomes.put(state, skipped), config, NOON).changesets
    assert changeset.state is ChangesetState.MERGED


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (("a: silence",), "or `retry --review a`; silence)"),
        (("a: silence", "b: refusal"), "or `retry --review a`; 1 more; silence)"),
    ],
)
@pytest.mark.parametrize("config", [ASK, AUTO])
def test_a_question_says_that_the_reviewers_abstained(
    config: SessionConfig, reasons: tuple[str, ...], told: str
) -> None:
    state = ended_as(*(TaskState.VALIDATED for _ in reasons))
    for record, why in zip(state.records.values(), reasons, strict=True):
        judged = Judgement(by=("tests",)).without_review(why)
        facts = {"commit": Commit("1" * 40), "judgement": judged}
        state = wave_outcomes.put(state, record.model_copy(update=facts))
    settled = scheduling.settle(state, config, NOON)
    found = scheduling.ending(settled, config)
    assert found.kind == ("waits" if config is ASK else "incomplete")
    assert f" (the reviewers abstained: approve, reject, {told}" in found.reason
