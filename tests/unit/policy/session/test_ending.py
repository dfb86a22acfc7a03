"""`schedule.ending`: a session is complete only once the person has what was merged."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.unit.policy.examples import a_plan, a_preparation, a_task
from workflows.domain.changeset import ChangesetState
from workflows.domain.gate import Judgement
from workflows.domain.ids import Commit, TaskId
from workflows.domain.session.session_config import Approvals, Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import MergeResult
from workflows.domain.task import TaskState
from workflows.policy.session import scheduling, wave_outcomes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CONFIG = SessionConfig(
    routes=Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
)
BASE, WORK, MORE = (Commit(letter * 40) for letter in "abc")


def state(where: TaskState) -> SessionState:
    empty = SessionState(
        started_at=NOON,
        cap_usd=Decimal(10),
        phase=SessionPhase.RUNNING,
        head=BASE,
        prepared=a_preparation(BASE),
    )
    adopted = scheduling.adopt(empty, a_plan(a_task("a")), CONFIG)
    return wave_outcomes.put(
        adopted, adopted.records[TaskId("a")].model_copy(update={"state": where})
    )


def after(head: Commit, delivered: Commit | None, refused: str = "") -> SessionState:
    branch = "blueflame/s" if delivered else None
    result = MergeResult(
        items=(), head=head, delivered=delivered, branch=branch, delivery_refused=refused
    )
    return wave_outcomes.merge_result(state(TaskState.MERGED), result, NOON)


@pytest.mark.parametrize(
    ("session", "kind"),
    [
        (state(TaskState.SKIPPED), "complete"),
        (after(WORK, WORK), "complete"),
        (after(WORK, None, "it is elsewhere"), "incomplete"),
        (after(MORE, WORK, "it was moved"), "incomplete"),
        (
            wave_outcomes.merge_result(
                after(WORK, None, "it was held"),
                MergeResult(items=(), head=MORE, delivered=MORE, branch="blueflame/s"),
                NOON,
            ),
            "complete",
        ),
    ],
)
def test_what_is_merged_and_not_delivered_leaves_it_incomplete(session: SessionState, kind: str):
    assert scheduling.ending(session, CONFIG).kind == kind


JUDGED = Judgement(by=("tests",))
NOT_JUDGED = Judgement(nothing=("tests: could not start",))
UNATTENDED = (
    "no one was there to approve a (no gate judged a: tests: could not start);"
    " not done: a (validated)"
)


@pytest.mark.parametrize(
    ("approvals", "judgement", "kind", "reason"),
    [
        (Approvals(), JUDGED, "waits", "waits for approval of a"),
        (
            Approvals(),
            NOT_JUDGED,
            "waits",
            "waits for approval of a (no gate judged a: tests: could not start)",
        ),
        (
            Approvals(changeset="auto_if_green"),
            JUDGED,
            "incomplete",
            "no one was there to approve a; not done: a (validated)",
        ),
        (
            Approvals(changeset="auto_if_green"),
            NOT_JUDGED,
            "incomplete",
            UNATTENDED,
        ),
    ],
)
def test_a_waiting_changeset_ends_an_unattended_session(
    approvals: Approvals, judgement: Judgement, kind: str, reason: str
):
    session = state(TaskState.VALIDATED)
    (changeset,) = session.changesets
    facts = {"state": ChangesetState.AWAITING_APPROVAL, "judgement": judgement}
    waits = changeset.model_copy(update=facts)
    config = CONFIG.model_copy(update={"approvals": approvals})
    ending = scheduling.ending(wave_outcomes.put_changeset(session, waits), config)
    assert (ending.kind, ending.reason) == (kind, reason)
