"""A session without a person: sends the decisions of its decisions file as a person's own signals.

Each question is decided once. What the file leaves open stays open, and the command that follows
the session says so and ends.
"""

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.decisions import decision_checks
from starter.decisions.decisions_file import (
    Decisions,
    PlanRule,
    answer_to,
    on_changeset,
    on_plan,
)
from starter.sessions.open_questions import plan_question
from starter.sessions.shown_session import ShownSession
from starter.views import session_words, work_words
from workflows.domain.session.decision_inputs import AnswerQuestion, Nothing, RetryTask, SkipTask
from workflows.domain.session.question import Question
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState
from workflows.policy.money.amounts_in_words import money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starter.sessions.open_questions import Ask
    from starter.sessions.session_client import Sessions
    from workflows.domain.ids import SessionId, TaskId
    from workflows.domain.plan import Task

_GAVE_UP: Final = {TaskState.FAILED, TaskState.TIMED_OUT}
_PLANS_REJECTED: Final = 2
"""A planner that failed the rules twice will fail them a third time: the session waits."""


class Unattended:
    """Decides on one session by one decisions file."""

    def __init__(
        self, sessions: "Sessions", session: "SessionId", decisions: Decisions, name: str
    ) -> None:
        """Args: `name`: the file's name in the session's records, with who started it."""
        from starter.sessions.sent_decisions import decider

        self._sessions = sessions
        self._session = session
        self._decisions = decisions
        self._by = f"{name} of {decider()}"[:200]
        self._settled: set[str] = set()
        self._rejected = 0

    async def act(self, now: ShownSession) -> list[str]:
        """Send the file's decisions on what waits now; return a line for each decision."""
        if not now.live or now.outcome is not None:
            return []
        if now.questions:
            return [line for each in now.questions for line in await self._answer(each)]
        if now.phase is SessionPhase.AWAITING_PLAN and now.tasks:
            return await self._plan(now)
        if now.phase is SessionPhase.PAUSED:
            return await self._cap(now)
        lines = [
            line
            for each in session_words.waiting(now)
            for line in await self._changeset(now, each.id)
        ]
        return lines or await self._failed(now)

    async def _answer(self, question: Question) -> list[str]:
        if not self._is_new(f"question of {question.agent}"):
            return []
        text = answer_to(self._decisions, question.about)
        content = AnswerQuestion(id=question.about, text=text, by=self._by)
        done = session_words.told(f"answer {question.about}, by the decisions file", self._session)
        return await self._decide(done, "answer", content)

    async def _plan(self, now: ShownSession) -> list[str]:
        tasks = await self._tasks([task.id for task in now.tasks])
        rule = on_plan(self._decisions, tasks) if tasks else None
        if rule is None or rule.decide == "wait" or not self._is_new(plan_question(now)):
            return []
        if rule.decide == "reject":
            self._rejected += 1
            if self._rejected > _PLANS_REJECTED:
                return []
        return await self._send(decision_checks.plan(now), rule)

    async def _changeset(self, now: ShownSession, name: str) -> list[str]:
        ask = decision_checks.changeset(now, name, None)
        line = next(c for c in now.changesets if c.id == name)
        tasks = await self._tasks(line.tasks)
        rule = on_changeset(self._decisions, name, tasks) if tasks else None
        is_unjudged = work_words.is_unjudged(line) and now.unjudged == "ask"
        if (is_unjudged or line.not_reviewed) and rule and rule.decide == "approve":
            return []  # the session would refuse it: a person must decide
        if rule is None or rule.decide == "wait" or not self._is_new(f"{name} {ask.digest}"):
            return []
        return await self._send(ask, rule)

    async def _send(self, ask: "Ask", rule: PlanRule) -> list[str]:
        if rule.decide == "approve":
            decision = decision_checks.approval(ask, self._by, by_rule=True)
            done = session_words.decided("approved by the decisions file", ask, self._session)
            return await self._decide(done, *decision)
        reason = rule.reason or "rejected by the decisions file"
        decision = decision_checks.rejection(ask, reason, self._by)
        done = session_words.decided("sent back by the decisions file", ask, self._session)
        return await self._decide(done, *decision)

    async def _decide(self, done: list[str], name: str, content: object) -> list[str]:
        """Send a decision; return what to say about it: `done`, or why the session refused it."""
        try:
            await self._sessions.decide(self._session, name, content)
        except CommandError as error:
            if error.code is not ExitCode.STALE:
                raise
            return [str(error)]  # for example, a person was faster; the session continues
        return done

    async def _cap(self, now: ShownSession) -> list[str]:
        raised = self._decisions.raise_cap_to_usd
        is_cap = session_words.is_at_cap(now)
        if not is_cap or raised is None or now.cap_usd >= raised or not self._is_new("cap"):
            return await self._stop("cap") if is_cap and self._decisions.cap == "stop" else []
        done = session_words.told(
            f"budget {money(Decimal(str(raised)))}, by the decisions file", self._session
        )
        return await self._decide(done, "set_budget", {"usd": raised, "by": self._by})

    async def _failed(self, now: ShownSession) -> list[str]:
        if not session_words.is_stuck(now) or self._decisions.failed == "wait":
            return []
        if self._decisions.failed == "stop":
            return await self._stop("failed tasks")
        lines: list[str] = []
        is_skip = self._decisions.failed == "skip"
        states = _GAVE_UP | {TaskState.BLOCKED} if is_skip else _GAVE_UP
        for task in (each.id for each in now.tasks if each.state in states):
            if not self._is_new(f"failed {task}"):
                continue
            content = (SkipTask if is_skip else RetryTask)(id=task, by=self._by)
            name = "skip" if is_skip else "retry"
            done = session_words.told(f"{name} {task}, by the decisions file", self._session)
            lines += await self._decide(done, f"{name}_task", content)
        return lines

    async def _stop(self, why: str) -> list[str]:
        if not self._is_new("stop"):
            return []
        done = session_words.told(f"stop ({why}), by the decisions file", self._session)
        return await self._decide(done, "stop", Nothing(by=self._by))

    async def _tasks(self, names: "Sequence[TaskId]") -> "list[Task]":
        """Return the tasks, all or none: a rule must not judge a part of them."""
        found = [await self._sessions.task(self._session, name) for name in names]
        known = [record.task for record in found if record is not None]
        return known if len(known) == len(names) else []

    def _is_new(self, question: str) -> bool:
        """Record that a question is settled; return False if it already was."""
        is_new = question not in self._settled
        self._settled.add(question)
        return is_new
