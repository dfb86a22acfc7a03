"""What a person's signals do: change the session's state, ask for effects, or become a notice.

Nothing that a person sends is ignored silently: an unreadable payload, a stale digest, an unknown
id or an impossible request each becomes a notice that names it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from workflows.domain.changeset import Changeset, ChangesetEvent
from workflows.domain.gate import Judgement
from workflows.domain.ids import TaskId
from workflows.domain.session.decision import UNNAMED
from workflows.domain.session.decision_inputs import (
    AnswerQuestion,
    ApproveChangeset,
    ApprovePlan,
    EditPlan,
    Nothing,
    RejectChangeset,
    RejectPlan,
    ReplacePlan,
    RetryTask,
    RevertTask,
    RewindTask,
    Rework,
    Said,
    SetBudget,
    SetPriority,
    SkipTask,
    SteerTask,
)
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskEvent, TaskRecord, TaskState
from workflows.policy.agent import questions
from workflows.policy.decision import hosted_feedback, line_comments, plan_edits
from workflows.policy.decision.reverting import revert
from workflows.policy.decision.rewinding import rewind
from workflows.policy.gates.green_rule import may_approve_by_rule, why_by_hand
from workflows.policy.money.grants import read_usd
from workflows.policy.plan.json_shape import shape_faults
from workflows.policy.plan.plan_check import brief, plan_faults
from workflows.policy.session import decision_record, phase_changes, reported_events, wave_outcomes
from workflows.policy.session.changeset_states import (
    approve_by_rule,
    can_move_changeset,
    judge_approval,
    move_changeset,
)
from workflows.policy.session.decision_record import Case
from workflows.policy.session.effects import (
    Answer,
    Applied,
    PlanAgain,
    Sent,
    SetCap,
    Steer,
    TellWaves,
)
from workflows.policy.session.phase_changes import phase_beneath
from workflows.policy.session.scheduling import adopt
from workflows.policy.session.task_states import FINAL, can_move, move

_STEERABLE = frozenset(
    {TaskState.PENDING, TaskState.READY, TaskState.BLOCKED, TaskState.DEVELOPING}
)
_INSTEAD = {
    TaskState.MERGED: "Start a session for what is still to be done",
    **dict.fromkeys(FINAL - {TaskState.MERGED}, "Retry it with notes instead"),
}
_WITH_PLAN = frozenset({SessionPhase.AWAITING_PLAN, SessionPhase.RUNNING})
_STEERS_CHARACTERS = 100_000
"""How much of persons' messages a task keeps: each of its attempts starts with all of them."""
_FAULTS = 3
"""How many faults of an input a notice names: it is one line for a person."""


def apply(state: SessionState, config: SessionConfig, sent: Sent, at: datetime) -> Applied:
    """Take up one decision, and record it with its author, even if it is refused.

    Args:
        state: before the decision.
        config: the session's own.
        sent: what arrived, by signal or Update; a name not in `NAMES` becomes a notice.
        at: now, by the workflow's clock.
    """
    name, inputs = sent.name, sent.inputs
    if name == reported_events.QUESTION_ASKED and inputs == 1:
        return reported_events.take_question(state, config, sent.payload, at)
    if name not in _HANDLERS:
        text = f"there is no signal {name[:100]!r}; the signals are {', '.join(_HANDLERS)}"
        return Case(state, config, at).notice(NoticeKind.BAD_SIGNAL, name[:100], text)
    if inputs != 1:
        text = f"{name!r} was not understood: it came with {inputs} inputs; send one JSON object"
        return Case(state, config, at).notice(NoticeKind.BAD_SIGNAL, name, text)
    return _HANDLERS[name](Case(state, config, at, sent.found), name, sent.payload)


# --- the plan -------------------------------------------------------------------------------


def _approve_plan(case: Case, signal: ApprovePlan) -> Applied:
    if case.state.is_plan_approved:
        return case.not_possible("", "the plan is approved already")
    if phase_beneath(case.state) is not SessionPhase.AWAITING_PLAN:
        return case.not_possible("", f"no plan waits for approval ({case.state.phase})")
    if case.state.plan is None:
        text = "there is no plan: replace_plan gives one, reject_plan asks the planner again"
        return case.not_possible("", text)
    by = signal.by or UNNAMED
    return Applied(state=case.state.evolve(is_plan_approved=True, plan_approved_by=by))


def _reject_plan(case: Case, signal: RejectPlan) -> Applied:
    if case.state.is_plan_approved or phase_beneath(case.state) is not SessionPhase.AWAITING_PLAN:
        return case.not_possible("", f"no plan waits for approval ({case.state.phase})")
    if case.state.plans_made >= case.config.plans:
        return case.not_possible("", plan_edits.no_more_plans(case.state))
    notes = (*case.state.plan_notes, signal.notes or "rejected without a reason")
    state = case.state.evolve(plan_notes=notes, plan=None, records={}, changesets=())
    state = phase_changes.enter(state, SessionPhase.PLANNING)
    return Applied(state=state, effects=(PlanAgain(),))


def _replace_plan(case: Case, signal: ReplacePlan) -> Applied:
    if phase_beneath(case.state) is not SessionPhase.AWAITING_PLAN or case.state.is_plan_approved:
        text = f"a plan can be replaced while one waits for approval, not when {case.state.phase}"
        return case.not_possible("", text)
    if faults := plan_faults(signal.plan):
        return case.not_possible("", f"the plan is refused: {brief(faults, _FAULTS)}")
    state = adopt(case.state, signal.plan, case.config)
    by = signal.by or UNNAMED
    return Applied(state=state.evolve(is_plan_approved=True, plan_approved_by=by))


def _edit_plan(case: Case, signal: EditPlan) -> Applied:
    plan = plan_edits.running_plan(case.state)
    if plan is None or phase_beneath(case.state) not in _WITH_PLAN:
        return case.not_possible("", f"there is no plan to change ({case.state.phase})")
    if signal.digest != plan_edits.plan_digest(plan):
        text = "the plan was changed since this edit began: see `plan --json`, send with --digest"
        return case.notice(NoticeKind.STALE_APPROVAL, "plan", text)
    if not case.state.is_plan_approved:
        return _replace_plan(case, ReplacePlan(plan=signal.plan, by=signal.by))
    if refusal := plan_edits.refusal(case.state, signal.plan):
        return case.not_possible("plan", refusal)
    state = plan_edits.with_edited_plan(case.state, signal.plan, case.config)
    text = plan_edits.told(plan, signal.plan, signal.by or UNNAMED)
    notice = wave_outcomes.notice(state, NoticeKind.PLAN_EDITED, text[:60], text, case.at)
    return Applied(state=notice)


# --- changesets -----------------------------------------------------------------------------


def _changeset(case: Case, name: str) -> Changeset | None:
    return next((each for each in case.state.changesets if each.id == name), None)


def _approve_changeset(case: Case, signal: ApproveChangeset) -> Applied:
    changeset = _changeset(case, signal.id)
    if changeset is None:
        return case.unknown("changeset", signal.id)
    match judge_approval(changeset, signal.digest):
        case "accept":
            return _accept(case, changeset, signal)
        case "repeat":
            return Applied(state=case.state)
        case "stale":
            text = (
                f"an approval names digest {signal.digest[:12]!r}; now waits {changeset.digest!r}"
            )
            return case.notice(NoticeKind.STALE_APPROVAL, signal.id, text)
        case "not_waiting":
            text = f"changeset {signal.id!r} is {changeset.state} and waits for no approval"
            return case.not_possible(signal.id, text)


def _accept(case: Case, changeset: Changeset, signal: ApproveChangeset) -> Applied:
    """Approve a waiting changeset; a rule may only approve work that a gate judged."""
    by = signal.by or UNNAMED
    judged = changeset.judgement or Judgement()
    if not signal.by_rule:
        approved = move_changeset(changeset, ChangesetEvent.APPROVED, by=by)
    elif may_approve_by_rule(judged, case.config.approvals.unjudged):
        needs_judged = case.config.approvals.unjudged == "ask"
        approved = approve_by_rule(changeset, by, needs_judged=needs_judged)
    else:
        text = (
            f"no rule may approve changeset {signal.id!r}, a person has to approve it: "
            f"{why_by_hand(judged)}"
        )
        return case.not_possible(signal.id, text)
    if refusal := line_comments.refusal(changeset, signal.comments):
        return case.not_possible(signal.id, refusal)
    state = line_comments.noted(case.state, changeset, signal.comments)
    return Applied(state=wave_outcomes.put_changeset(state, approved))


def _reject_changeset(case: Case, signal: RejectChangeset) -> Applied:
    changeset = _changeset(case, signal.id)
    if changeset is None:
        return case.unknown("changeset", signal.id)
    if not can_move_changeset(changeset, ChangesetEvent.REJECTED):
        text = f"changeset {signal.id!r} is {changeset.state} and waits for no approval"
        return case.not_possible(signal.id, text)
    if refusal := line_comments.refusal(changeset, signal.comments, signal.reason):
        return case.not_possible(signal.id, refusal)
    state = line_comments.kept(case.state, changeset, signal.comments)
    rejected = move_changeset(changeset, ChangesetEvent.REJECTED)
    state = wave_outcomes.put_changeset(state, rejected)
    for item in changeset.items:
        reason = line_comments.told(signal.reason, signal.comments, item.task)
        state = wave_outcomes.send_back(state, item.task, reason or "rejected by a person")
    return Applied(state=state)


# --- tasks ----------------------------------------------------------------------------------


def _skip(case: Case, signal: SkipTask) -> Applied:
    record = case.record(signal.id)
    if record is None:
        return case.unknown("task", signal.id)
    if not can_move(record, TaskEvent.SKIPPED):
        return case.not_possible(signal.id, f"task {signal.id!r} is {record.state} already")
    if record.state is TaskState.MERGING:
        return case.not_possible(signal.id, f"task {signal.id!r} is being merged: too late to skip")
    skipped = move(record, TaskEvent.SKIPPED, "skipped by a person")
    state = wave_outcomes.put(case.state, skipped.evolve(waived=signal.satisfies))
    if record.state is TaskState.VALIDATED:
        # Work based on it would bring its commits into the branch.
        state = wave_outcomes.reset_dependants(state, record.task.id, "was skipped")
    return Applied(state=state)


def _retry(case: Case, signal: RetryTask) -> Applied:
    record = case.record(signal.id)
    if record is None:
        return case.unknown("task", signal.id)
    if signal.review:
        return _review_again(case, record, signal)
    if not can_move(record, TaskEvent.RETRIED):
        text = f"task {signal.id!r} is {record.state}; only an ended task can be retried"
        return case.not_possible(signal.id, text)
    notes = (*record.notes, f"a person says: {signal.notes}") if signal.notes else record.notes
    allowed = max(record.attempts_allowed, record.attempt + 1)
    again = record.evolve(notes=notes, attempts_allowed=allowed, reworks=0, waived=False)
    again = move(again, TaskEvent.RETRIED, "retried by a person")
    state = wave_outcomes.put(case.state, again)
    if record.waived:
        state = wave_outcomes.reset_dependants(state, record.task.id, "is to be done after all")
    return Applied(state=state)


def _review_again(case: Case, record: TaskRecord, signal: RetryTask) -> Applied:
    """Have the same work reviewed again; an approval of its changeset is withdrawn."""
    if signal.notes:
        text = "notes are for a next attempt, and another review starts none: leave one of them out"
        return case.not_possible(signal.id, text)
    # Submitted by the last attempt, and its base has not moved since.
    is_whole = None not in (record.commit, record.base) and record.restart_from == record.commit
    if not can_move(record, TaskEvent.REVIEW) or not is_whole:
        text = (
            f"task {signal.id!r} is {record.state} and has no submitted work that could be reviewed"
            " again"
        )
        return case.not_possible(signal.id, text)
    again = move(record, TaskEvent.REVIEW, "a person asks for another review")
    state = wave_outcomes.put(case.state, again.evolve(judgement=None))
    home = next(each for each in state.changesets if record.task.id in each.tasks)
    return Applied(state=wave_outcomes.put_changeset(state, home.without_approval()))


def _steer(case: Case, signal: SteerTask) -> Applied:
    record = case.record(signal.id)
    if record is None:
        return case.unknown("task", signal.id)
    if record.state not in _STEERABLE:
        instead = _INSTEAD.get(record.state, "Reject its changeset with a reason instead")
        text = f"task {signal.id!r} is {record.state}: no agent hears this. {instead}"
        return case.not_possible(signal.id, text)
    steers = (*record.steers, signal.text)
    if sum(map(len, steers)) > _STEERS_CHARACTERS:
        text = f"task {signal.id!r} has {len(record.steers)} messages that each attempt gets"
        return case.not_possible(signal.id, f"{text}, and no more fit")
    state = wave_outcomes.put(case.state, record.evolve(steers=steers))
    if record.state is not TaskState.DEVELOPING:
        return Applied(state=state)
    return Applied(state=state, effects=(Steer(task=record.task.id, text=signal.text),))


def _answer(case: Case, signal: AnswerQuestion) -> Applied:
    waiting = questions.open_questions(case.state)
    question = questions.open_about(waiting, signal.id)
    if question is None:
        asked = ", ".join(each.about for each in waiting) or "none"
        text = f"no question of {signal.id!r} waits for an answer; questions wait of: {asked}"
        return case.not_possible(signal.id, text)
    left = tuple(each for each in waiting if each is not question)
    answer = Answer(task=TaskId(question.about), text=signal.text)
    return Applied(state=case.state.evolve(questions=left), effects=(answer,))


def _prioritise(case: Case, signal: SetPriority) -> Applied:
    record = case.record(signal.id)
    if record is None:
        return case.unknown("task", signal.id)
    again = record.evolve(task=record.task.with_priority(signal.n))
    return Applied(state=wave_outcomes.put(case.state, again))


# --- the session ----------------------------------------------------------------------------


def _set_budget(case: Case, signal: SetBudget) -> Applied:
    usd = read_usd(signal.usd)
    if isinstance(usd, str):
        return case.notice(NoticeKind.BAD_SIGNAL, "set_budget", f"signal 'set_budget': {usd}")
    state = case.state.evolve(cap_usd=usd)
    effects = (SetCap(usd=usd),)
    if state.is_cap_reached and usd > state.spent_usd:
        state = state.evolve(is_cap_reached=False)
        resumed = _resume(Case(state, case.config, case.at), Nothing())
        return Applied(state=resumed.state, effects=(*effects, *resumed.effects))
    return Applied(state=state, effects=effects)


def _proceed(case: Case, _: Nothing) -> Applied:
    if not any(each.state is TaskState.DEVELOPING for each in case.state.records.values()):
        return case.not_possible("", "no development runs that could be closed early")
    return Applied(state=case.state, effects=(TellWaves(signal="proceed"),))


def _pause(case: Case, _: Nothing) -> Applied:
    return phase_changes.pause(case.state, phase_changes.PAUSED_BY_A_PERSON)


def _resume(case: Case, _: Nothing) -> Applied:
    if not phase_changes.can_resume(case.state, case.at):
        return case.not_possible("", f"the session is not paused ({case.state.phase})")
    return phase_changes.resume(case.state)


def _stop(case: Case, signal: Nothing) -> Applied:
    return phase_changes.stop(case.state, f"stopped by {signal.by or 'a person'}")


_Decision = TypeVar("_Decision", bound=Said)
_Handler = Callable[[Case, str, JsonValue], Applied]


def _reading(model: type[_Decision], handle: Callable[[Case, _Decision], Applied]) -> _Handler:
    """Return a handler that parses a payload as `model`, handles it, and records it."""

    def read_and_handle(case: Case, name: str, payload: JsonValue) -> Applied:
        try:
            read = model.model_validate({} if payload is None else payload)
        except ValidationError as error:
            faults = "; ".join(shape_faults(error, _FAULTS))
            text = f"{name!r} was not understood: {faults}"
            return case.notice(NoticeKind.BAD_SIGNAL, name, text)
        applied = handle(case, read)
        kept = decision_record.said(applied.state, name, read, case.at, applied.refused)
        return applied.with_state(kept)

    return read_and_handle


_HANDLERS: dict[str, _Handler] = {
    "approve_plan": _reading(ApprovePlan, _approve_plan),
    "reject_plan": _reading(RejectPlan, _reject_plan),
    "replace_plan": _reading(ReplacePlan, _replace_plan),
    "edit_plan": _reading(EditPlan, _edit_plan),
    "approve_changeset": _reading(ApproveChangeset, _approve_changeset),
    "reject_changeset": _reading(RejectChangeset, _reject_changeset),
    "skip_task": _reading(SkipTask, _skip),
    "retry_task": _reading(RetryTask, _retry),
    "rewind_task": _reading(RewindTask, rewind),
    "revert_task": _reading(RevertTask, revert),
    "steer_task": _reading(SteerTask, _steer),
    "answer": _reading(AnswerQuestion, _answer),
    "set_priority": _reading(SetPriority, _prioritise),
    "set_budget": _reading(SetBudget, _set_budget),
    "rework": _reading(Rework, hosted_feedback.rework),
    "proceed": _reading(Nothing, _proceed),
    "pause": _reading(Nothing, _pause),
    "resume": _reading(Nothing, _resume),
    "stop": _reading(Nothing, _stop),
}
NAMES = tuple(_HANDLERS)
"""Every signal of a session that a person may send."""
ASKING = frozenset({"rewind_task", "revert_task"})
"""Those that a host must answer before they can be taken up (`Applied.asks`)."""
