"""Follows the demo's session to its end: reports what happens, and decides as a person would.

Decisions take a person's path: what waits is shown, and answered by a signal that names exactly
that. This output is only for the eye; `evidence` has what the demo claims at its end.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.decisions import decision_checks
from starter.demo import wording
from starter.views import session_words
from workflows.domain.ids import SessionId, TaskId
from workflows.domain.session.query_answers import TaskLine
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession

Say = Callable[[Iterable[str]], None]

_LOST: Final = {TaskState.FAILED, TaskState.TIMED_OUT, TaskState.BLOCKED}
_STAGES: Final = {
    TaskState.DEVELOPING: "develop",
    TaskState.VALIDATING: "validate",
    TaskState.MERGING: "merge",
    TaskState.MERGED: "merged",
}


@dataclass(frozen=True)
class Pace:
    """How fast the demo's simulated person is."""

    look_s: float = 0.3
    pause_s: float = 0.5
    """So that a person can see the subject before its approval."""
    patience_s: float = 180
    """Nothing in the demo takes this long; without any change something is wrong."""


class Course:
    """One session of the demo."""

    def __init__(
        self, sessions: "Sessions", session: SessionId, say: Say, pace: Pace | None = None
    ) -> None:
        """Args: `say` prints lines as they come."""
        self._pace = pace or Pace()
        self._sessions = sessions
        self._session = session
        self._say = say
        self._before: dict[TaskId, TaskLine] = {}
        self._notes: dict[TaskId, int] = {}
        self._decided: set[decision_checks.Ask] = set()
        self._told: set[str] = set()

    async def follow(self) -> "ShownSession":
        """Follow the session to its end and return its last view.

        Raises:
            CommandError: it stalls, or a task is lost.
        """
        last: ShownSession | None = None
        changed = time.monotonic()
        while True:
            now = await self._sessions.view(self._session)
            if now != last:
                last, changed = now, time.monotonic()
                await self._tell(now)
            if now.outcome is not None:
                return now
            await self._decide(now)
            self._check(now, time.monotonic() - changed)
            await asyncio.sleep(self._pace.look_s)

    def _check(self, now: "ShownSession", unchanged_s: float) -> None:
        lost = [task.id for task in now.tasks if task.state in _LOST]
        if lost or unchanged_s > self._pace.patience_s:
            what = f"lost {', '.join(lost)}" if lost else "stands still"
            raise CommandError(
                f"the demo's session {what}: {session_words.state(now)}; "
                "`status` and the logs tell more",
                ExitCode.FAILED,
            )

    # --- reporting --------------------------------------------------------------------------------

    async def _tell(self, now: "ShownSession") -> None:
        moved = [task for task in now.tasks if self._before.get(task.id) != task]
        for task in moved:
            await self._tell_notes(task)
        for state, word in _STAGES.items():
            new = [task for task in moved if task.state is state and self._has_entered(task)]
            if new:
                names = [wording.named(task.id, task.attempt) for task in new]
                self._say([wording.step(word, ", ".join(names))])
        self._before = {task.id: task for task in now.tasks}
        for notice in now.notices:
            if notice.text not in self._told:
                self._told.add(notice.text)
                self._say(wording.notice(notice))

    def _has_entered(self, task: TaskLine) -> bool:
        before = self._before.get(task.id)
        return before is None or (before.state, before.attempt) != (task.state, task.attempt)

    async def _tell_notes(self, task: TaskLine) -> None:
        """Report new notes of a task; they grow only when an attempt did not pass."""
        if task.attempt == 0 or task.state not in {TaskState.READY, TaskState.DEVELOPING}:
            return
        record = await self._sessions.task(self._session, task.id)
        if record is None:
            return
        for text in record.notes[self._notes.get(task.id, 0) :]:
            self._say(wording.note(task.id, text))
        self._notes[task.id] = len(record.notes)

    # --- deciding ---------------------------------------------------------------------------------

    async def _decide(self, now: "ShownSession") -> None:
        if now.phase is SessionPhase.AWAITING_PLAN and now.tasks:
            await self._approve_plan(now)
        for changeset in session_words.waiting(now):
            ask = decision_checks.changeset(now, changeset.id, None)
            if ask not in self._decided:
                await asyncio.sleep(self._pace.pause_s)
                self._say([wording.changeset_approved(changeset)])
                await self._approve(ask)

    async def _approve_plan(self, now: "ShownSession") -> None:
        ask = decision_checks.plan(now)
        if ask in self._decided:
            return
        records = [await self._sessions.task(self._session, task.id) for task in now.tasks]
        self._say(wording.plan([record.task for record in records if record is not None]))
        await asyncio.sleep(2 * self._pace.pause_s)
        self._say([wording.step("approve", "the plan, by Update approve_plan")])
        await self._approve(ask)

    async def _approve(self, ask: decision_checks.Ask) -> None:
        from starter.sessions.sent_decisions import decider

        self._decided.add(ask)
        signal, content = decision_checks.approval(ask, decider())
        await self._sessions.decide(self._session, signal, content)
