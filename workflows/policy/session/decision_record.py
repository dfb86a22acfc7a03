"""The record of decisions: bounded; persons' approvals and rejections are kept longest."""

from datetime import datetime
from decimal import Decimal
from typing import Final

from workflows.domain.ids import TaskId
from workflows.domain.session.decision import UNNAMED, Decision, DecisionOutcome
from workflows.domain.session.decision_inputs import (
    AnswerQuestion,
    ApproveChangeset,
    EditPlan,
    RejectChangeset,
    RejectPlan,
    ReplacePlan,
    RetryTask,
    RevertTask,
    RewindTask,
    Said,
    SaidOf,
    SetBudget,
    SetPriority,
    SkipTask,
    SteerTask,
)
from workflows.domain.session.earlier_work import HostAnswer
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskRecord
from workflows.policy.money.amounts_in_words import counted, money
from workflows.policy.money.grants import read_usd
from workflows.policy.session import wave_outcomes
from workflows.policy.session.effects import Applied, Sent

MOST: Final = 100
_CHARACTERS: Final = 200
_RULE: Final = "rule auto"
_JUDGING: Final = frozenset(
    {
        "approve_plan",
        "reject_plan",
        "replace_plan",
        "edit_plan",
        "approve_changeset",
        "reject_changeset",
    }
)


def said(
    state: SessionState, name: str, signal: Said, at: datetime, refused: str = ""
) -> SessionState:
    """Return the state with a signal's decision added.

    Args:
        state: before the signal.
        name: the signal's.
        signal: its content.
        at: now, by the workflow's clock.
        refused: why the session did not carry it out; empty if it did.
    """
    decision = Decision(
        what=name,
        subject=signal.id if isinstance(signal, SaidOf) else "",
        by=signal.by or UNNAMED,
        source="signal",
        at=at,
        note=_note(signal)[:_CHARACTERS],
        refused=refused[:_CHARACTERS],
    )
    return _with(state, decision)


def _note(signal: Said) -> str:
    """Return what a signal says apart from its subject."""
    note = ""
    match signal:
        case (
            RejectPlan(notes=text)
            | RetryTask(notes=text)
            | RejectChangeset(reason=text)
            | RevertTask(reason=text)
            | SteerTask(text=text)
            | AnswerQuestion(text=text)
        ):
            note = text
        case RewindTask(turn=turn, notes=text):
            note = f"turn {turn} {text}".rstrip()
        case ReplacePlan(plan=plan) | EditPlan(plan=plan):
            note = f"a plan of {counted(len(plan.tasks), 'task')}"
        case ApproveChangeset(digest=digest):
            note = f"digest {digest[:12]}"
        case SkipTask(satisfies=True):
            note = "its dependants may start all the same"
        case SetPriority(n=number):
            note = f"priority {number}"
        case SetBudget(usd=usd):
            amount = read_usd(usd)
            note = money(amount) if isinstance(amount, Decimal) else str(usd)
        case _:
            pass
    return note


def own_plan(state: SessionState, by: str, at: datetime) -> SessionState:
    """Return the state with a person's own plan; bringing it approves it."""
    decision = Decision(what="approve_plan", by=by, source="start", at=at, note="their own plan")
    return _with(state.evolve(is_plan_approved=True, plan_approved_by=by), decision)


def plan_by_rule(state: SessionState, at: datetime) -> SessionState:
    """Return the state with its plan approved by `approvals.plan: auto`."""
    approved = state.evolve(is_plan_approved=True, plan_approved_by=_RULE)
    return by_rule(approved, "approve_plan", "", _RULE, at)


def by_rule(state: SessionState, name: str, subject: str, rule: str, at: datetime) -> SessionState:
    """Return the state with the approval by a rule of the configuration.

    Args:
        state: before the approval.
        name: the name of the corresponding signal.
        subject: a changeset's id, or empty for the plan.
        rule: its name.
        at: now, by the workflow's clock.
    """
    decision = Decision(what=name, subject=subject, by=rule, source="rule", at=at)
    return _with(state, decision)


def _with(state: SessionState, decision: Decision) -> SessionState:
    kept, dropped = add(state.decisions, decision)
    return state.evolve(decisions=kept, decisions_dropped=state.decisions_dropped + dropped)


def remember(applied: Applied, update_id: str, sent: Sent) -> tuple[Applied, DecisionOutcome]:
    """Return an Update's outcome, and what was applied: a state that repeats the same answer."""
    outcome = _outcome(applied, sent)
    newest = list({**applied.state.answered, update_id: outcome}.items())[-MOST:]
    return applied.with_state(applied.state.evolve(answered=dict(newest))), outcome


def _outcome(applied: Applied, sent: Sent) -> DecisionOutcome:
    """Return the result of a decision that was taken up, from the state after it."""
    state = applied.state
    content = sent.payload if isinstance(sent.payload, dict) else {}
    subject = str(content.get("id", ""))
    record = state.records.get(TaskId(subject))
    changeset = next((each for each in state.changesets if each.id == subject), None)
    where = record.state if record else changeset.state if changeset else state.phase
    return DecisionOutcome(decision=sent.name, subject=subject, state=str(where), told=applied.told)


def add(decisions: tuple[Decision, ...], new: Decision) -> tuple[tuple[Decision, ...], int]:
    """Return the decisions with one more, oldest first, and how many were dropped.

    | beyond 100, the oldest of these is dropped first  |
    |---------------------------------------------------|
    | rules' approvals                                  |
    | refused, or neither an approval nor a rejection   |
    | all                                               |
    """
    if decisions and new.repeats(decisions[-1]):
        again = new.counted(decisions[-1].count + 1)
        return (*decisions[:-1], again), 0
    more = (*decisions, new)
    if len(more) <= MOST:
        return more, 0
    place = min(range(MOST), key=lambda each: _weight(more[each]))
    return (*more[:place], *more[place + 1 :]), 1


def _weight(decision: Decision) -> int:
    if decision.source == "rule":
        return 0
    return 2 if decision.what in _JUDGING and not decision.refused else 1


class Case:
    """One decision's context, and ways to refuse it."""

    def __init__(
        self,
        state: SessionState,
        config: SessionConfig,
        at: datetime,
        found: HostAnswer | None = None,
    ) -> None:
        self.state = state
        self.config = config
        self.at = at
        self.found = found

    def notice(self, kind: NoticeKind, subject: str, text: str) -> Applied:
        """Refuse it with a notice."""
        state = wave_outcomes.notice(self.state, kind, subject, text, self.at)
        return Applied(state=state, refused=text)

    def record(self, task: str) -> TaskRecord | None:
        """Return a task's record; None: there is no such task."""
        return self.state.records.get(TaskId(task))

    def unknown(self, what: str, name: str) -> Applied:
        """Refuse it: it names something that does not exist."""
        return self.notice(NoticeKind.UNKNOWN_SUBJECT, name[:200], f"there is no {what} {name!r}")

    def not_possible(self, subject: str, text: str) -> Applied:
        """Refuse it: it cannot be done now."""
        return self.notice(NoticeKind.NOT_POSSIBLE, subject, text)
