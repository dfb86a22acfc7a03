"""The session's scheduling: what is ready, which waves start, and when the session is over.

| pacing | develop                               | validate            | merge                     |
|--------|---------------------------------------|---------------------|---------------------------|
| wave   | all ready tasks, when no stage runs   | all developed, when | approved changesets, when |
|        | and no approved changeset waits       | no development runs | the merge slot frees      |
| flow   | each ready task, as slots free        | each developed task | the same                  |

A merge wave takes at most `MERGED_TOGETHER` changesets; the rest wait for the next one.
"""

from datetime import datetime
from itertools import islice
from typing import Final, Literal

from pydantic import BaseModel

from workflows.domain.changeset import Changeset, ChangesetEvent, ChangesetItem, ChangesetState
from workflows.domain.gate import Judgement
from workflows.domain.ids import ChangesetId, TaskId
from workflows.domain.plan import Plan
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_modes import Pacing
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskEvent, TaskRecord, TaskState
from workflows.policy.gates.green_rule import joined, may_approve_by_rule, why_not_judged
from workflows.policy.plan.changeset_forming import form_changesets
from workflows.policy.session import decision_record
from workflows.policy.session.changeset_states import (
    approve_by_rule,
    digest_of,
    move_changeset,
    reopen,
)
from workflows.policy.session.readiness import (
    held,
    is_at_work,
    newly_blocked,
    newly_ready,
    newly_unblocked,
    next_batch,
)
from workflows.policy.session.task_states import FINAL, move
from workflows.policy.session.wave_outcomes import put, put_changeset

MERGED_TOGETHER: Final = 30
"""Merged work is delivered when its wave ends, and a wave's history grows with its changesets."""
_NAMED = 10
_RULE = "rule auto_if_green"
_TO_MERGE = frozenset({ChangesetState.APPROVED, ChangesetState.QUEUED})


class Running(BaseModel, frozen=True, extra="forbid"):
    """How much runs now: tasks in develop and validate, waves in merge."""

    develop: int = 0
    validation: int = 0
    merge: int = 0


class StageStart(BaseModel, frozen=True, extra="forbid"):
    """One wave to start."""

    stage: Literal["develop", "validate", "merge"]
    tasks: tuple[TaskId, ...] = ()
    changesets: tuple[ChangesetId, ...] = ()


class Ending(BaseModel, frozen=True, extra="forbid"):
    """The session is over, or waits only for a person."""

    kind: Literal["complete", "incomplete", "waits"]
    reason: str


def adopt(state: SessionState, plan: Plan, config: SessionConfig) -> SessionState:
    """Adopt a plan: a record for each task, and the changesets in dependency order."""
    records = {
        task.id: TaskRecord(task=task, attempts_allowed=config.attempts) for task in plan.tasks
    }
    changesets = form_changesets(plan)
    return state.evolve(plan=plan, records=records, changesets=changesets)


def settle(state: SessionState, config: SessionConfig, at: datetime) -> SessionState:
    """Move every task and changeset that can move without a wave or a person.

    Args:
        state: before.
        config: the session's own.
        at: now, by the workflow's clock.
    """
    for task in newly_unblocked(state.records):
        state = put(state, move(state.records[task], TaskEvent.UNBLOCKED))
    for task, reason in newly_blocked(state.records):
        state = put(state, move(state.records[task], TaskEvent.BLOCKED, reason))
    for task in newly_ready(state.records, config.pacing):
        state = put(state, move(state.records[task], TaskEvent.DEPENDENCIES_MET))
    for changeset in state.changesets:
        settled = _settle_changeset(state, changeset, config)
        if settled is changeset:
            continue
        state = put_changeset(state, settled)
        if settled.approved_by == _RULE and settled.approved_digest != changeset.approved_digest:
            state = decision_record.by_rule(state, "approve_changeset", changeset.id, _RULE, at)
    return state


def _settle_changeset(
    state: SessionState, changeset: Changeset, config: SessionConfig
) -> Changeset:
    """Complete or reopen one changeset, depending on its tasks.

    | tasks                                       | changeset                             |
    |---------------------------------------------|---------------------------------------|
    | one is still at work, or none is validated  | collecting (an approval is withdrawn) |
    | all validated, or left out by a person      | awaits approval, or approved by rule  |
    | the same, and no gate judged the work       | awaits a person, whatever the rule    |
    | some validated, some failed                 | awaits a person, whatever the rule    |
    | some merged, the rest retried and validated | the same, as another change           |
    | some merged, the rest left out or failed    | merged                                |
    """
    if changeset.state in {ChangesetState.TESTING, ChangesetState.DROPPED}:
        return changeset
    every = [state.records[task] for task in changeset.tasks]
    records = [each for each in every if each.state is not TaskState.MERGED]
    items = tuple(
        ChangesetItem(task=each.task.id, commit=each.commit, title=each.task.title)
        for each in records
        if each.state is TaskState.VALIDATED and each.commit is not None
    )
    rest = [each for each in records if each.state is not TaskState.VALIDATED]
    if any(each.state not in FINAL for each in rest) or not items:
        if changeset.state is ChangesetState.MERGED:
            return changeset
        reopened = reopen(changeset)
        is_over = all(each.state in FINAL for each in rest) and len(records) < len(every)
        return move_changeset(reopened, ChangesetEvent.MERGED) if is_over else reopened
    if changeset.state is not ChangesetState.COLLECTING:
        if changeset.digest == digest_of(items):
            return changeset
        changeset = reopen(changeset)  # a person skipped one of its tasks: it is another change
    return _completed(state, changeset, items, rest, config)


def _completed(
    state: SessionState,
    changeset: Changeset,
    items: tuple[ChangesetItem, ...],
    rest: list[TaskRecord],
    config: SessionConfig,
) -> Changeset:
    """Pin a changeset to its items; approve it if a rule may or the same commits were approved."""
    done = move_changeset(changeset, ChangesetEvent.COMPLETED, items=items, reason=_left_out(rest))
    judgement = joined(state.records[item.task].judgement or Judgement() for item in items)
    done = done.evolve(judgement=judgement)
    if done.digest == changeset.approved_digest:
        by, needs_judged = changeset.approved_by, changeset.needs_judged
        return approve_by_rule(done, by, needs_judged=needs_judged)
    is_whole = all(each.state is TaskState.SKIPPED for each in rest)
    is_asked = config.approvals.changeset == "ask" or not is_whole
    if is_asked or not may_approve_by_rule(judgement, config.approvals.unjudged):
        return done
    return approve_by_rule(done, _RULE, needs_judged=config.approvals.unjudged == "ask")


def _left_out(rest: list[TaskRecord]) -> str:
    names = ", ".join(f"{each.task.id} ({each.state})" for each in rest)
    return f"without {names}" if names else ""


def next_starts(
    state: SessionState, config: SessionConfig, running: Running
) -> tuple[StageStart, ...]:
    """Decide which waves start now."""
    starts: list[StageStart] = []
    queue = _mergeable(state)
    if queue and running.merge == 0:
        starts.append(StageStart(stage="merge", changesets=queue))
    developed = _in_state(state, TaskState.DEVELOPED)
    if config.pacing is Pacing.FLOW:
        return (*starts, *_flow_starts(state, config, running, developed))
    if _is_busy(state, config, running):
        return tuple(starts)
    if developed:
        return (*starts, StageStart(stage="validate", tasks=developed))
    if queue or running.merge:
        return tuple(starts)
    batch = next_batch(state.records, config.pacing, None)
    return (StageStart(stage="develop", tasks=batch),) if batch else ()


def _is_busy(state: SessionState, config: SessionConfig, running: Running) -> bool:
    """Whether the next stage of a cycle must wait; it does not wait for agents that hold."""
    if held(state):
        return is_at_work(state, config)
    return bool(running.develop or running.validation)


def _mergeable(state: SessionState) -> tuple[ChangesetId, ...]:
    """Return the first approved changesets whose work is based only on merged work.

    A commit brings its ancestors along: if merged before its dependencies, it would carry their
    work into the branch without their approval.
    """
    mergeable = (
        each.id
        for each in state.changesets
        if each.state in _TO_MERGE
        and all(_may_precede(state, each, needed) for needed in _needs(state, each))
    )
    return tuple(islice(mergeable, MERGED_TOGETHER))


def _needs(state: SessionState, changeset: Changeset) -> list[TaskId]:
    """List what the commits to be merged are based on; tasks left out need nothing."""
    return [need for item in changeset.items for need in state.records[item.task].task.depends_on]


def _may_precede(state: SessionState, changeset: Changeset, task: TaskId) -> bool:
    return task in changeset.tasks or state.records[task].state in _DONE


def _flow_starts(
    state: SessionState, config: SessionConfig, running: Running, developed: tuple[TaskId, ...]
) -> list[StageStart]:
    free = config.concurrency.validation - running.validation
    starts = [StageStart(stage="validate", tasks=(task,)) for task in developed[: max(free, 0)]]
    slots = config.concurrency.develop - running.develop
    batch = next_batch(state.records, config.pacing, slots) if slots > 0 else ()
    return [*starts, *(StageStart(stage="develop", tasks=(task,)) for task in batch)]


def _in_state(state: SessionState, wanted: TaskState) -> tuple[TaskId, ...]:
    return tuple(task for task, record in state.records.items() if record.state is wanted)


def ending(state: SessionState, config: SessionConfig) -> Ending:
    """Say whether the session is over. Only called when nothing runs and nothing can start.

    | tasks and changesets                   | a person decides   | no one does |
    |----------------------------------------|--------------------|-------------|
    | all merged, but not delivered to the   | incomplete         | incomplete  |
    | person's repository                    |                    |             |
    | all merged, or skipped by a person     | complete           | complete    |
    | a changeset awaits its approval        | waits              | incomplete  |
    | some failed, blocked, timed out        | waits              | incomplete  |

    If no person decides, a changeset that lacks a task's work waits for no approval: no rule
    merges a part of it.
    """
    left = [each for each in state.records.values() if each.state not in _DONE]
    if not left:
        if _is_undelivered(state):
            reason = "all is merged, but the branch could not be brought to the repository"
            return Ending(kind="incomplete", reason=reason)
        return Ending(kind="complete", reason="every task is merged or was skipped by a person")
    is_attended = config.approvals.changeset == "ask"
    waits = [each for each in state.changesets if each.state is ChangesetState.AWAITING_APPROVAL]
    waiting = ", ".join(each.id for each in waits)
    if is_attended and waiting:
        return Ending(kind="waits", reason=f"waits for approval of {waiting}{_not_judged(waits)}")
    reason = _not_done(left)
    if is_attended and _can_be_retried(left):
        return Ending(kind="waits", reason=f"{reason}; retry, skip or stop")
    if partial := [each for each in waits if _lacks_work(state, each)]:
        told = ", ".join(f"{each.id} {each.reason}" for each in partial[:_NAMED])
        reason = f"no rule merges {told}; {reason}"
    if whole := [each for each in waits if each not in partial]:
        waiting = ", ".join(each.id for each in whole)
        reason = f"no one was there to approve {waiting}{_not_judged(whole)}; {reason}"
    return Ending(kind="incomplete", reason=reason)


_DONE = frozenset({TaskState.MERGED, TaskState.SKIPPED})


def _lacks_work(state: SessionState, changeset: Changeset) -> bool:
    """Whether a task of a changeset ended without work, and was not skipped by a person."""
    ended = (state.records[task].state for task in changeset.tasks)
    return any(each in FINAL - _DONE for each in ended)


def _is_undelivered(state: SessionState) -> bool:
    """Whether the branch in the person's repository lacks merged work."""
    base = state.prepared.base.commit if state.prepared else None
    return state.head not in (base, state.delivered)


def _can_be_retried(left: list[TaskRecord]) -> bool:
    return any(each.state in FINAL and each.state is not TaskState.CANCELLED for each in left)


def _not_judged(waiting: list[Changeset]) -> str:
    """Say why a person must approve work that no gate or no reviewer judged.

    Only the first reason is given.
    """
    if abstained := [line for each in waiting for line in _unreviewed(each)]:
        task, _, reason = abstained[0].partition(": ")
        more = f"; {len(abstained) - 1} more" if len(abstained) > 1 else ""
        return (
            f" (the reviewers abstained: approve, reject, or `retry --review {task}`{more};"
            f" {reason})"
        )
    reasons = [(each.id, why_not_judged(each.judgement or Judgement())) for each in waiting]
    unjudged = [(name, reason) for name, reason in reasons if reason]
    if not unjudged:
        return ""
    name, reason = unjudged[0]
    more = f" and {len(unjudged) - 1} more" if len(unjudged) > 1 else ""
    return f" (no gate judged {name}{more}: {reason})"


def _unreviewed(changeset: Changeset) -> tuple[str, ...]:
    return changeset.judgement.unreviewed if changeset.judgement else ()


def _not_done(left: list[TaskRecord]) -> str:
    names = ", ".join(f"{each.task.id} ({each.state})" for each in left[:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return f"not done: {names}{more}"


def start(state: SessionState, starts: StageStart) -> SessionState:
    """Return the state with the wave's tasks and changesets under way."""
    cycle = state.cycle + 1
    for task in starts.tasks:
        record = state.records[task]
        if starts.stage == "develop":
            record = record.evolve(attempt=record.attempt + 1)
            state = put(state, move(record, TaskEvent.DEVELOPMENT_STARTED))
        else:
            record = record.evolve(validations=record.validations + 1)
            state = put(state, move(record, TaskEvent.VALIDATION_STARTED))
    for changeset in state.changesets:
        if changeset.id in starts.changesets:
            state = _take(state, changeset)
    return state.evolve(cycle=cycle)


def _take(state: SessionState, changeset: Changeset) -> SessionState:
    if changeset.state is ChangesetState.APPROVED:
        changeset = move_changeset(changeset, ChangesetEvent.QUEUED)
    for item in changeset.items:
        state = put(state, move(state.records[item.task], TaskEvent.MERGE_STARTED))
    return put_changeset(state, move_changeset(changeset, ChangesetEvent.TAKEN))
