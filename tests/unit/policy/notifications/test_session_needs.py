"""Who is told what: each state of a session, with the command that answers it."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.theatre import request
from tests.unit.policy.examples import a_plan, a_record, a_task, records_of
from workflows.domain.changeset import Changeset, ChangesetState
from workflows.domain.ids import AgentId, ChangesetId, Digest, SessionId, TaskId
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.query_answers import SessionOutcome
from workflows.domain.session.question import Question
from workflows.domain.session.session_config import Approvals, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionChanges, SessionState
from workflows.domain.task import TaskState
from workflows.policy.notifications.session_needs import end_need, session_needs
from workflows.policy.session.phase_changes import PAUSED_BY_A_PERSON

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
SESSION = SessionId("s1")
ALL = tuple(NotificationKind)
ASK = Approvals(plan="ask", changeset="ask")
GREEN = Approvals(plan="ask", changeset="auto_if_green")
TASK = a_task("a")
DIGEST = Digest("d" * 64)
WAITING = Changeset(
    id=ChangesetId("c1"),
    tasks=(TaskId("a"), TaskId("b")),
    state=ChangesetState.AWAITING_APPROVAL,
    digest=DIGEST,
)


def state(
    phase: SessionPhase = SessionPhase.RUNNING, changes: SessionChanges | None = None
) -> SessionState:
    running = SessionState(started_at=NOON, cap_usd=Decimal(10), phase=phase)
    return running.evolve(**(changes or {}))


def config(approvals: Approvals = ASK, notify: tuple[NotificationKind, ...] = ALL) -> SessionConfig:
    return request(approvals=approvals, notify=notify).config


def with_task(where: TaskState, reason: str = "") -> SessionChanges:
    return {"records": dict(records_of(a_record(TASK, where, attempt=1, reason=reason)))}


def asked(where: TaskState = TaskState.DEVELOPING, hour: int = 12) -> SessionState:
    question = Question(
        agent=AgentId("dev.a.1"), about="a", text="Ask @everyone?", asked_at=NOON.replace(hour=hour)
    )
    return state(changes={"questions": (question,), **with_task(where)})


PLANNED: SessionChanges = {"plan": a_plan(TASK), "plans_made": 1}
PAUSED = SessionPhase.PAUSED
PLAN_WAITS = state(SessionPhase.AWAITING_PLAN, PLANNED)
CASES = {
    "plan": (
        PLAN_WAITS,
        "approval",
        "the plan waits for approval: 1 task",
        "approve plan --session s1",
    ),
    "paused plan": (
        state(
            PAUSED,
            {**PLANNED, "resumes_to": SessionPhase.AWAITING_PLAN, "reason": PAUSED_BY_A_PERSON},
        ),
        "approval",
        "the plan waits for approval: 1 task",
        "approve plan --session s1",
    ),
    "no plan": (
        state(SessionPhase.AWAITING_PLAN, {"plan_fault": "it gave up", "plans_made": 1}),
        "paused",
        "the planner made no plan: it gave up",
        "reject plan --session s1",
    ),
    "changeset": (
        state(changes={"changesets": (WAITING,)}),
        "approval",
        "changeset 'c1' waits for approval (tasks: a, b)",
        "approve c1 --digest dddddddddddd --session s1",
    ),
    "question": (
        asked(),
        "question",
        "task 'a' asks: Ask @\u200beveryone?",
        'answer s1 a "TEXT"',
    ),
    "cap": (
        state(PAUSED, {"reason": "the cap is reached", "is_cap_reached": True}),
        "paused",
        "the session paused: the cap is reached",
        "budget USD --session s1",
    ),
    "key": (
        state(PAUSED, {"reason": "the key was refused"}),
        "paused",
        "the session paused: the key was refused",
        "resume s1",
    ),
    "failed": (
        state(changes=with_task(TaskState.FAILED, "3 attempts used")),
        "failed",
        "task 'a' failed: 3 attempts used",
        "retry a --session s1",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_need_is_told_with_the_command_that_answers_it(case: str) -> None:
    at, kind, text, command = CASES[case]
    (found,) = session_needs(SESSION, config(), at)
    assert (found.kind, found.text, found.command) == (kind, text, f"blueflame {command}")


@pytest.mark.parametrize(
    ("at", "approvals"),
    [
        (state(), ASK),
        (state(SessionPhase.AWAITING_PLAN, {"is_plan_approved": True, **PLANNED}), ASK),
        (state(PAUSED, {"reason": PAUSED_BY_A_PERSON}), ASK),
        (state(SessionPhase.STOPPING, {"changesets": (WAITING,)}), ASK),
        (state(SessionPhase.ENDED, {"changesets": (WAITING,)}), ASK),
        (state(changes={"changesets": (WAITING,)}), GREEN),
        (state(changes={"changesets": (WAITING.evolve(state=ChangesetState.APPROVED),)}), ASK),
        (asked(TaskState.VALIDATED), ASK),
        (state(changes=with_task(TaskState.FAILED)), GREEN),
    ],
)
def test_what_needs_no_one_is_not_told(at: SessionState, approvals: Approvals) -> None:
    assert session_needs(SESSION, config(approvals), at) == ()


def test_kinds_that_no_one_wants_are_not_told() -> None:
    assert session_needs(SESSION, config(notify=(NotificationKind.DONE,)), PLAN_WAITS) == ()


def test_the_same_agents_next_question_is_another_need() -> None:
    (first,) = session_needs(SESSION, config(), asked())
    (second,) = session_needs(SESSION, config(), asked(hour=13))
    assert first.key != second.key


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [("complete", "done"), ("stopped", "done"), ("incomplete", "failed"), ("failed", "failed")],
)
def test_the_end_is_told_with_the_command_for_the_report(
    outcome: SessionOutcome, kind: str
) -> None:
    found = end_need(SESSION, outcome, "because")
    assert (found.kind, found.command) == (kind, "blueflame report s1")
    assert found.text == f"the session ended as {outcome}: because"
    assert end_need(SESSION, outcome, "").text == f"the session ended as {outcome}"
