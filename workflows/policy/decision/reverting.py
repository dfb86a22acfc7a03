"""`revert_task`: a merged task's work is taken back by a new task, with a changeset of its own.

Git makes the work where nothing later is in the way, without an agent and a model. It is then
gated, approved and merged like any other; a reviewer could only repeat what git did. Where later
work is in the way, the decision is refused unless it lets an agent do it, whose work starts from
git's attempt and is reviewed.
"""

from typing import Final

from workflows.domain.ids import TaskId
from workflows.domain.plan import MAX_TASKS, Plan, Task
from workflows.domain.session.decision import UNNAMED
from workflows.domain.session.decision_inputs import RevertTask
from workflows.domain.session.earlier_work import MakeRevert, NotFound, RevertMade
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskRecord, TaskState
from workflows.policy.decision import plan_edits
from workflows.policy.session import wave_outcomes
from workflows.policy.session.decision_record import Case
from workflows.policy.session.effects import Applied
from workflows.policy.session.phase_changes import phase_beneath
from workflows.policy.session.task_states import FINAL

_ID_LENGTH: Final = 63
"""The most that `ID_PATTERN` of a plan allows."""
_NAMED: Final = 20
_PATHS: Final = 5
_GONE: Final = FINAL - {TaskState.MERGED, TaskState.BLOCKED}


def revert(case: Case, signal: RevertTask) -> Applied:
    """Add the task that takes the work back; the host is asked to make that work first."""
    record = case.record(signal.id)
    if record is None:
        return case.unknown("task", signal.id)
    if reason := _refusal(case.state, record):
        return case.not_possible(signal.id, reason)
    match case.found:
        case RevertMade(conflicts=conflicts) if conflicts and not signal.by_agent:
            return case.not_possible(signal.id, _in_the_way(record.task.id, conflicts))
        case RevertMade() as made:
            return _reverted(case, record, signal, made)
        case NotFound(reason=reason):
            return case.not_possible(signal.id, reason)
        case _:
            return Applied(state=case.state, asks=_question(case.state, record))


def reverting(state: SessionState, task: TaskId) -> TaskId | None:
    """Return the task that takes this one's merged work back; None if none does."""
    for record in state.records.values():
        if record.reverts == task and record.state not in _GONE:
            undoing = reverting(state, record.task.id)
            if undoing is None or state.records[undoing].state is not TaskState.MERGED:
                return record.task.id
    return None


def dependants(state: SessionState, task: TaskId) -> tuple[TaskId, ...]:
    """Return the tasks built on a task, directly or not, in the plan's order."""
    found = {task}
    known = state.records.values()
    while more := {
        each.task.id
        for each in known
        if each.reverts is None and each.task.id not in found and found & {*each.task.depends_on}
    }:
        found |= more
    return tuple(each.task.id for each in known if each.task.id in found - {task})


def _refusal(state: SessionState, record: TaskRecord) -> str:
    name = record.task.id
    if phase_beneath(state) is not SessionPhase.RUNNING:
        return f"nothing can be taken back while the session is {state.phase}"
    if record.state is not TaskState.MERGED:
        return (
            f"task {name!r} is {record.state}, so nothing of it is merged; reject its changeset, "
            "rewind it or skip it"
        )
    if (by := reverting(state, name)) is not None:
        return f"task {by!r} takes {name!r} back already ({state.records[by].state})"
    if len(state.records) >= MAX_TASKS:
        return f"the plan has {MAX_TASKS} tasks, the most that it can have"
    return ""


def _question(state: SessionState, record: TaskRecord) -> MakeRevert:
    if state.head is None or record.commit is None or record.base is None:
        raise ValueError(f"merged task {record.task.id!r} has no commit")
    return MakeRevert(
        task=record.task.id,
        title=_title(record.task),
        head=state.head,
        commit=record.commit,
        base=record.base,
    )


def _in_the_way(task: TaskId, conflicts: str) -> str:
    lines = conflicts.split("\n")
    more = f" and {len(lines) - _PATHS} paths more" if len(lines) > _PATHS else ""
    return (
        f"git cannot take task {task!r} back alone, because later work is in the way: "
        f"{'; '.join(lines[:_PATHS])}{more}. `revert {task} --by-agent` adds a task for an agent"
    )


def _reverted(case: Case, record: TaskRecord, signal: RevertTask, made: RevertMade) -> Applied:
    by = signal.by or UNNAMED
    task = _task(case.state, record, signal.reason)
    state = _with_task(case.state, case.config, task)
    state = wave_outcomes.put(state, _record(state.records[task.id], record, made))
    reason = f"task {task.id!r} takes it back"
    state = wave_outcomes.put(state, state.records[record.task.id].evolve(reason=reason))
    how = "an agent does it" if made.conflicts else "made by git, without a review"
    told = f"task {task.id!r} takes back task {record.task.id!r} ({how})"
    told += _built_on(case.state, record.task.id)
    notice = f"{by} decided: {told}"[:1_000]
    state = wave_outcomes.notice(state, NoticeKind.PLAN_EDITED, task.id, notice, case.at)
    return Applied(state=state, told=told)


def _with_task(state: SessionState, config: SessionConfig, task: Task) -> SessionState:
    plan = plan_edits.running_plan(state)
    assert plan is not None, "a task is merged, so there is a plan"
    more = Plan(summary=plan.summary, tasks=(*plan.tasks, task))
    return plan_edits.with_edited_plan(state, more, config)


def _record(new: TaskRecord, reverted: TaskRecord, made: RevertMade) -> TaskRecord:
    new = new.evolve(reverts=reverted.task.id, base=made.base, restart_from=made.commit)
    if made.conflicts:
        note = f"git could not take it back alone; conflict markers show where:\n{made.conflicts}"
        return new.evolve(notes=(note,))
    # An agent, which costs money, tries only if a person asks for it.
    return new.evolve(is_made_by_git=True, attempts_allowed=1)


def _task(state: SessionState, reverted: TaskRecord, reason: str) -> Task:
    name = reverted.task.id
    why = f"\n\nWhy: {reason}" if reason else ""
    return Task(
        id=_free_name(state, name),
        kind=reverted.task.kind,
        title=_title(reverted.task),
        description=f"Takes back the work of task {name!r}, commit {reverted.commit}.{why}",
        acceptance_criteria=(
            f"The changes of task {name!r} are taken back, and nothing else is changed.",
        ),
        claims=reverted.task.claims,
        depends_on=(name,),
        priority=reverted.task.priority,
        risk=reverted.task.risk,
    )


def _title(task: Task) -> str:
    return f"Revert: {task.title}"[:2_000]


def _free_name(state: SessionState, task: TaskId) -> TaskId:
    taken = {str(name) for name in state.records} | {str(each.id) for each in state.changesets}
    number, end = 1, ""
    while (name := f"revert-{task}"[: _ID_LENGTH - len(end)] + end) in taken:
        number += 1
        end = f"-{number}"
    return TaskId(name)


def _built_on(state: SessionState, task: TaskId) -> str:
    built = [f"{name} ({state.records[name].state})" for name in dependants(state, task)]
    if not built:
        return ""
    more = f" and {len(built) - _NAMED} more" if len(built) > _NAMED else ""
    return f"; tasks that depend on it: {', '.join(built[:_NAMED])}{more}"
