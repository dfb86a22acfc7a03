"""The demo's person: what is shown is what is approved, each thing once."""

from collections.abc import Iterable
from typing import Any, cast

import pytest

from starter.console.command_errors import CommandError
from starter.demo.course import Course, Pace
from starter.sessions.session_client import Sessions
from starter.sessions.shown_session import ShownSession
from tests.unit.starter.demo.examples import SESSION, view
from workflows.domain.changeset import ChangesetState
from workflows.domain.ids import SessionId, TaskId
from workflows.domain.plan import Task
from workflows.domain.session.decision import DecisionOutcome
from workflows.domain.session.query_answers import ChangesetLine, TaskLine
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskRecord, TaskState

QUICK = Pace(look_s=0, pause_s=0)
TASK = Task(id=TaskId("tax"), title="Exact tax", acceptance_criteria=("exact",), claims=("tax.py",))
DIGEST = "ab" * 32


class PlayedSessions(Sessions):
    """Answers with one view after another, and keeps what is signalled."""

    def __init__(self, views: Iterable[ShownSession], notes: tuple[str, ...] = ()) -> None:
        super().__init__(cast(Any, None))
        self._views = list(views)
        self._notes = notes
        self.signals: list[tuple[str, Any]] = []

    async def view(self, session: SessionId) -> ShownSession:
        return self._views.pop(0) if len(self._views) > 1 else self._views[0]

    async def task(self, session: SessionId, task: str) -> TaskRecord | None:
        return TaskRecord(task=TASK, notes=self._notes)

    async def decide(self, session: SessionId, name: str, content: object) -> DecisionOutcome:
        self.signals.append((name, content))
        return DecisionOutcome(decision=name, state="running")


def line(state: TaskState, attempt: int = 1) -> TaskLine:
    return TaskLine(id=TASK.id, state=state, attempt=attempt, priority=0, title=TASK.title)


def changeset(state: ChangesetState, digest: str | None = None) -> ChangesetLine:
    return ChangesetLine.model_validate(
        {"id": "tax", "state": state, "digest": digest, "tasks": ("tax",)}
    )


END = view(outcome="complete", live=False, tasks=(line(TaskState.MERGED),))


async def play(sessions: PlayedSessions, pace: Pace = QUICK) -> list[str]:
    said: list[str] = []
    await Course(sessions, SESSION, said.extend, pace).follow()
    return said


async def test_the_plan_is_shown_before_it_is_approved_and_approved_once():
    waiting = view(phase=SessionPhase.AWAITING_PLAN, tasks=(line(TaskState.PENDING, 0),))
    sessions = PlayedSessions([waiting, waiting, waiting, END])
    said = await play(sessions)
    assert [name for name, _ in sessions.signals] == ["approve_plan"]
    shown = next(n for n, text in enumerate(said) if "Exact tax" in text)
    approved = next(n for n, text in enumerate(said) if text.startswith("approve"))
    assert shown < approved


async def test_a_changeset_is_approved_by_its_digest_and_again_when_that_changes():
    def waits(digest: str) -> ShownSession:
        waiting = changeset(ChangesetState.AWAITING_APPROVAL, digest)
        return view(changesets=(waiting,), tasks=(line(TaskState.VALIDATED),))

    sessions = PlayedSessions([waits(DIGEST), waits(DIGEST), waits("cd" * 32), END])
    await play(sessions)
    assert [(name, sent.digest) for name, sent in sessions.signals] == [
        ("approve_changeset", DIGEST),
        ("approve_changeset", "cd" * 32),
    ]


async def test_stages_and_rejections_are_printed_as_they_happen():
    sessions = PlayedSessions(
        [
            view(tasks=(line(TaskState.DEVELOPING),)),
            view(tasks=(line(TaskState.VALIDATING),)),
            view(tasks=(line(TaskState.DEVELOPING, 2),)),
            END,
        ],
        notes=("attempt 1 was refused by the gate: gate 'unittest' failed: t",),
    )
    said = await play(sessions)
    told = [text for text in said if not text.startswith("merged")]
    assert (
        told.count("REJECTED  tax, attempt 1 was refused by the gate: gate 'unittest' failed: t")
        == 1
    )
    assert "validate  tax" in told
    assert told[-1] == "develop   tax (attempt 2)"


async def test_a_lost_task_ends_the_demo():
    sessions = PlayedSessions([view(tasks=(line(TaskState.FAILED, 3),))])
    with pytest.raises(CommandError, match="lost tax"):
        await play(sessions)


async def test_a_session_without_progress_ends_the_demo():
    with pytest.raises(CommandError, match="stands still"):
        await play(PlayedSessions([view()]), Pace(look_s=0, pause_s=0, patience_s=0))
