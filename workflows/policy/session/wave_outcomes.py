"""What a wave's outcome does to the session's state.

The outcome of an attempt that is no longer current (the task was skipped, reset or retried since)
moves nothing; only its cost counts.
"""

from datetime import datetime

from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.changeset import Changeset, ChangesetEvent
from workflows.domain.gate import GateReport, Judgement
from workflows.domain.ids import ChangesetId, TaskId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import (
    Developed,
    DevelopItem,
    DevelopResult,
    HeldChangeset,
    MergedChangeset,
    MergeItem,
    MergeResult,
    NotDeveloped,
    Refused,
    ReturnedChangeset,
    TaskWord,
    UnjudgedChangeset,
    Validated,
    ValidateItem,
    ValidateResult,
    Waits,
)
from workflows.domain.task import TaskEvent, TaskRecord, TaskState
from workflows.policy.gates.base_notices import base_notices
from workflows.policy.gates.green_rule import why_not_judged
from workflows.policy.money.amounts_in_words import counted
from workflows.policy.plan.changeset_forming import changeset_of
from workflows.policy.session import notice_grouping
from workflows.policy.session.changeset_states import move_changeset
from workflows.policy.session.task_states import FINAL, can_move, move

REWORKS_ALLOWED = 10
"""How often a task's work may come back because of conflicts, which do not use up an attempt."""
_NOTES_KEPT = 6
_GREEN_KEPT = 50
_NOT_ITS_FAULT = frozenset({AgentEnd.STOPPED, AgentEnd.CAP})
"""Ends that do not use up an attempt: a person stopped it, or no money was left. After the last the
session halts until a person acts, so it cannot loop for ever."""


def put(state: SessionState, record: TaskRecord) -> SessionState:
    """Return the state with one task's record replaced."""
    return state.evolve(records={**state.records, record.task.id: record})


def notice(
    state: SessionState, kind: NoticeKind, subject: str, text: str, at: datetime
) -> SessionState:
    """Return the state with one more notice."""
    return state.evolve(notices=notice_grouping.add(state.notices, kind, subject, text, at))


def baseline(state: SessionState, report: GateReport, at: datetime) -> SessionState:
    """Take up the gates' results on the base."""
    state = state.evolve(baseline=report)
    for text in (*report.notices, *base_notices(report)):
        state = notice(state, NoticeKind.REPOSITORY, text, text, at)
    return state


StageResult = DevelopResult | ValidateResult | MergeResult


def take(state: SessionState, result: StageResult, at: datetime) -> SessionState:
    """Take up a wave's whole result."""
    match result:
        case DevelopResult():
            for item in result.items:
                state = develop_item(state, item, at)
            for word in result.unheard:
                state = _unheard(state, word, at)
        case ValidateResult():
            for each in result.items:
                state = validate_item(state, each, at)
        case MergeResult():
            state = merge_result(state, result, at)
    return state


def wave_lost(
    state: SessionState,
    tasks: tuple[TaskId, ...],
    changesets: tuple[ChangesetId, ...],
    text: str,
    at: datetime,
) -> SessionState:
    """Take up the failure of a wave itself: its tasks get another attempt, and a person is told.

    Args:
        state: before.
        tasks: of a develop or validate wave.
        changesets: of a merge wave.
        text: what went wrong.
        at: now, by the workflow's clock.
    """
    for task in tasks:
        record = state.records[task]
        if can_move(record, TaskEvent.REJECTED):
            state = put(state, _again(move(record, TaskEvent.REJECTED, text[:200])))
    for changeset in state.changesets:
        if changeset.id in changesets:
            for task in _merging(state, changeset):
                state = put(state, move(state.records[task], TaskEvent.HELD, text[:200]))
            state = put_changeset(state, move_changeset(changeset, ChangesetEvent.RETURNED))
    return notice(state, NoticeKind.NOT_POSSIBLE, "", f"a wave failed: {text}", at)


def _unheard(state: SessionState, word: TaskWord, at: datetime) -> SessionState:
    """Report a message that came after an attempt's agent ended, and whether another gets it."""
    record = state.records[word.task]
    comes = "there is none to come" if record.state in FINAL else "the next one will"
    if record.state is TaskState.DEVELOPED:
        comes = "another will only if the work is rejected"
    text = f"the agent of attempt {record.attempt} has not heard {word.text[:200]!r}; {comes}"
    return notice(state, NoticeKind.NOT_POSSIBLE, word.task, text, at)


def develop_item(state: SessionState, item: DevelopItem, at: datetime) -> SessionState:
    """Take up one attempt's outcome."""
    record = state.records[item.task]
    if not isinstance(item, Waits):
        state = _spend(state, item)
        record = state.records[item.task]
    if (record.attempt, record.state) != (item.attempt, TaskState.DEVELOPING):
        return state
    match item:
        case Developed():
            return _developed(state, record, item, at)
        case Waits():
            return put(state, _wait(state, record, item))
        case NotDeveloped():
            return _not_developed(state, record, item, at)


def _wait(state: SessionState, record: TaskRecord, item: Waits) -> TaskRecord:
    """Let a task wait until its conflicting dependencies are merged, if they can be.

    Dependencies in its own changeset merge only together with it: waiting cannot help, so it fails.
    """
    needed = [state.records[each] for each in record.task.depends_on]
    unmerged = [each for each in needed if each.state in {TaskState.VALIDATED, TaskState.MERGING}]
    home = changeset_of(record.task)
    if unmerged and all(changeset_of(each.task) == home for each in unmerged):
        reason = f"{item.detail}; but they merge only together with it: skip one or replan"
        return move(move(record, TaskEvent.REJECTED), TaskEvent.GAVE_UP, reason[:200])
    again = record.evolve(attempts_allowed=record.attempts_allowed + 1, waits_for_merge=True)
    return move(again, TaskEvent.RESET, item.detail)


def _developed(
    state: SessionState, record: TaskRecord, item: Developed, at: datetime
) -> SessionState:
    record = record.evolve(
        first_base=record.first_base or item.base,
        base=item.base,
        commit=item.commit,
        tree=item.tree,
        restart_from=item.commit,
        author_family=item.family,
        summary=item.summary,
        validations=0,
    )
    if item.ignored:
        named = ", ".join(item.ignored)
        text = f"the agent wrote ignored files, which are not part of the work: {named}"
        state = notice(state, NoticeKind.REPOSITORY, item.task, text, at)
    if item.notices:
        text = f"in the work, allowed: {'; '.join(item.notices)}"
        state = notice(state, NoticeKind.REPOSITORY, item.task, text, at)
    return put(state, move(record, TaskEvent.SUBMITTED))


def _not_developed(
    state: SessionState, record: TaskRecord, item: NotDeveloped, at: datetime
) -> SessionState:
    record = record.evolve(first_base=record.first_base or item.base)
    if item.checkpoint is not None:
        record = record.evolve(base=item.base, restart_from=item.checkpoint)
    if item.end in _NOT_ITS_FAULT:
        record = record.evolve(attempts_allowed=record.attempts_allowed + 1)
    if item.end is AgentEnd.PROVIDER:
        state = notice(state, NoticeKind.PROVIDER, item.task, item.detail, at)
    if item.end is AgentEnd.HOST:
        state = notice(state, NoticeKind.REPOSITORY, item.task, item.detail, at)
    text = f"attempt {item.attempt} ended ({item.end}): {item.detail}"
    record = _note(record, text)
    return put(state, _again(move(record, TaskEvent.REJECTED, text[:200]), item.end))


def validate_item(state: SessionState, item: ValidateItem, at: datetime) -> SessionState:
    """Take up the judgement of gates and reviewers on one task."""
    state = _spend(state, item)
    record = state.records[item.task]
    if (record.attempt, record.state) != (item.attempt, TaskState.VALIDATING):
        return state
    match item:
        case Validated():
            return _validated(state, record, item, at)
        case Refused(by="cap"):
            # Not judged: it waits as it is, and is validated once there is money again.
            return put(state, move(record, TaskEvent.HELD, item.notes[:200]))
        case Refused(by="abstention"):
            nothing = Judgement(nothing=(item.notes[:200],))
            return _unreviewed(state, record, nothing, item.notes, at)
        case Refused():
            text = f"attempt {item.attempt} was refused by the {item.by}"
            record = _note(record, f"{text}: {item.notes}")
            return put(state, _again(move(record, TaskEvent.REJECTED, text)))


def _validated(
    state: SessionState, record: TaskRecord, item: Validated, at: datetime
) -> SessionState:
    if item.judgement.by:
        state = state.evolve(green=(*state.green, item.tree)[-_GREEN_KEPT:])
    if item.gate_remarks:
        state = notice(state, NoticeKind.GATE, item.task, item.gate_remarks, at)
    if item.weakened:
        text = f"tests are deleted, skipped or weakened: {'; '.join(item.weakened)}"
        state = notice(state, NoticeKind.GATE, item.task, text, at)
    record = record.evolve(diff=item.diff, judgement=item.judgement, weakened=item.weakened)
    record = record.evolve(verdict=item.verdict.words)
    if item.verdict.decision == "abstain":
        return _unreviewed(state, record, item.judgement, item.verdict.reason, at)
    if item.verdict.unchanged:
        numbers = ", ".join(map(str, item.verdict.unchanged))
        text = f"approved by two reviews, though only unchanged lines prove criterion {numbers}"
        state = notice(state, NoticeKind.REVIEWER, item.task, text, at)
    return put(state, move(record, TaskEvent.PASSED))


def _unreviewed(
    state: SessionState, record: TaskRecord, judgement: Judgement, reason: str, at: datetime
) -> SessionState:
    """Leave work without a reviewer's verdict to a person.

    It may be good: another attempt would fix nothing.
    """
    task = record.task.id
    text = (
        f"no reviewer gave a verdict; approve or reject its changeset, or `retry --review {task}`"
        f" asks again: {reason}"
    )
    state = notice(state, NoticeKind.ABSTENTION, task, text, at)
    told = judgement.without_review(f"{task}: {reason}"[:200])
    reason = f"no reviewer gave a verdict: {reason}"[:200]
    return put(state, move(record.evolve(judgement=told), TaskEvent.ABSTAINED, reason))


def merge_result(state: SessionState, result: MergeResult, at: datetime) -> SessionState:
    """Take up the result of the merge queue."""
    for item in result.items:
        state = _merge_item(state, item, at)
    for text in filter(None, (result.delivery_refused, result.delivery_notice)):
        state = notice(state, NoticeKind.DELIVERY, "", text, at)
    return state.evolve(
        landed={**state.landed, **result.landed},
        head=result.head,
        head_baseline=result.baseline or state.head_baseline,
        merged=(*state.merged, *result.merged),
        delivered=result.delivered,
        branch=result.branch,
    )


def _merge_item(state: SessionState, item: MergeItem, at: datetime) -> SessionState:
    changeset = next(each for each in state.changesets if each.id == item.id)
    match item:
        case MergedChangeset():
            if item.gate_remarks:
                state = notice(state, NoticeKind.GATE, item.id, item.gate_remarks, at)
            for task in _merging(state, changeset):
                state = put(state, move(state.records[task], TaskEvent.MERGED))
            return put_changeset(state, move_changeset(changeset, ChangesetEvent.MERGED))
        case HeldChangeset():
            return _held(state, changeset, item, at)
        case UnjudgedChangeset():
            return _unjudged(state, changeset, item, at)
        case ReturnedChangeset():
            for task in _merging(state, changeset):
                state = _returned(state, task, item)
            return put_changeset(state, move_changeset(changeset, ChangesetEvent.RETURNED))


def _held(
    state: SessionState, changeset: Changeset, item: HeldChangeset, at: datetime
) -> SessionState:
    for task in _merging(state, changeset):
        state = put(state, move(state.records[task], TaskEvent.HELD, item.reason[:200]))
    state = notice(state, NoticeKind.REPOSITORY, item.id, item.reason, at)
    halt = f"changeset {item.id!r} could not be merged: {item.reason}"[:300]
    state = state.evolve(halt=halt)
    return put_changeset(state, move_changeset(changeset, ChangesetEvent.QUEUED))


def _unjudged(
    state: SessionState, changeset: Changeset, item: UnjudgedChangeset, at: datetime
) -> SessionState:
    """Leave a changeset approved by a rule to a person, because no gate judged the merged tree."""
    reason = f"no gate judged the merged tree: {why_not_judged(item.judgement)}"
    for task in _merging(state, changeset):
        state = put(state, move(state.records[task], TaskEvent.HELD, reason[:200]))
    state = notice(state, NoticeKind.GATE, item.id, reason, at)
    waits = move_changeset(changeset, ChangesetEvent.UNJUDGED, reason=reason)
    return put_changeset(state, waits.evolve(judgement=item.judgement))


def _merging(state: SessionState, changeset: Changeset) -> list[TaskId]:
    return [task for task in changeset.tasks if state.records[task].state is TaskState.MERGING]


def _returned(state: SessionState, task: TaskId, item: ReturnedChangeset) -> SessionState:
    record = state.records[task]
    if record.state is not TaskState.MERGING:
        return state  # based on the returned task, and reset with it
    if task != item.task:
        return put(state, move(record, TaskEvent.HELD))
    # Both are the head's doing: the work was validated on its own base, and others moved on since.
    is_conflict = item.by == "conflict"
    why = "its work conflicts with what was merged before"
    why = why if is_conflict else "the checks fail on the merged tree"
    record = move(_note(record, item.notes), TaskEvent.RETURNED, why)
    again = "conflicts again" if is_conflict else "the checks fail on the merged tree again"
    return reset_dependants(put(state, _reworked(record, again)), task)


def _reworked(record: TaskRecord, again: str) -> TaskRecord:
    """Send a task's work back without using up an attempt, as often as allowed."""
    if record.reworks >= REWORKS_ALLOWED or record.is_gits_alone:
        reason = f"{again} after {counted(record.reworks, 'rework')}; retry or skip it"
        return move(record, TaskEvent.GAVE_UP, reason)
    more = record.evolve(reworks=record.reworks + 1, attempts_allowed=record.attempts_allowed + 1)
    return move(more, TaskEvent.REWORK, record.reason)


def send_back(state: SessionState, task: TaskId, reason: str) -> SessionState:
    """Send validated work back to its task, because a person rejected it.

    The task gets one more attempt: a person's rejection does not count as a failed attempt.
    """
    record = state.records[task]
    if record.state is not TaskState.VALIDATED:
        return state  # based on a task that was sent back before, and reset with it
    record = record.evolve(attempts_allowed=record.attempts_allowed + 1)
    record = _note(record, f"a person rejected the work: {reason}")
    state = put(state, move(record, TaskEvent.REWORK, "rejected by a person"))
    return reset_dependants(state, task)


def put_changeset(state: SessionState, changeset: Changeset) -> SessionState:
    """Return the state with one changeset replaced."""
    changesets = tuple(changeset if old.id == changeset.id else old for old in state.changesets)
    return state.evolve(changesets=changesets)


def reset_dependants(
    state: SessionState, task: TaskId, because: str = "is reworked"
) -> SessionState:
    """Start over all work based on a task's unmerged commit or its waiver, transitively."""
    for dependant in sorted(state.records):
        record = state.records[dependant]
        if task in record.task.depends_on and can_move(record, TaskEvent.RESET):
            if record.state is TaskState.READY and record.attempt == 0:
                continue
            again = record.evolve(attempts_allowed=record.attempts_allowed + 1)
            reason = f"task {task!r}, on which it stands, {because}"
            state = put(state, move(again, TaskEvent.RESET, reason))
            state = reset_dependants(state, dependant)
    return state


def _again(record: TaskRecord, end: AgentEnd | None = None) -> TaskRecord:
    """Send a rejected task to its next attempt, or end it if it has none left."""
    if record.attempt < record.attempts_allowed:
        return move(record, TaskEvent.REWORK, record.reason)
    used = counted(record.attempt, "attempt")
    event = TaskEvent.RAN_OUT if end is AgentEnd.TIME_LIMIT else TaskEvent.GAVE_UP
    return move(record, event, f"{used} used; the last: {record.reason}"[:200])


def _note(record: TaskRecord, text: str) -> TaskRecord:
    return record.evolve(notes=(*record.notes, text[:12_000])[-_NOTES_KEPT:])


def _spend(
    state: SessionState, item: Developed | NotDeveloped | Validated | Refused
) -> SessionState:
    record = state.records[item.task]
    state = put(state, record.evolve(cost_usd=record.cost_usd + item.bill.usd))
    return state.evolve(ended=state.ended + item.bill)
