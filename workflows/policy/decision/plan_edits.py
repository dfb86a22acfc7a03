"""What a person may change in the plan of a running session, and the effect on its tasks.

| a task                                       | may be changed      | may be removed          |
|----------------------------------------------|---------------------|-------------------------|
| not started                                  | all but its id      | if no task depends on it |
| started, with no work under way              | all but its id      | no: skip it             |
| under way (developing to merging)            | its priority        | no: skip it             |
| merged                                       | nothing             | no                      |

A task that is added or changed may not claim paths that a task under way writes, unless it depends
on that task. A changeset that is approved or merged neither gains nor loses a task.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from workflows.domain.changeset import Changeset, ChangesetState
from workflows.domain.ids import Digest, TaskId
from workflows.domain.plan import Plan, Task
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskEvent, TaskRecord, TaskState
from workflows.policy.money.amounts_in_words import counted
from workflows.policy.plan.changeset_forming import form_changesets
from workflows.policy.plan.dependency_graph import dependency_order
from workflows.policy.plan.held_claims import HeldClaims
from workflows.policy.plan.plan_check import plan_faults
from workflows.policy.session.task_states import FINAL, move

_IDLE = (FINAL - {TaskState.MERGED}) | {TaskState.PENDING, TaskState.READY}
_NAMED = 10
"""How many faults a refusal names."""
_OPEN = frozenset({ChangesetState.COLLECTING, ChangesetState.AWAITING_APPROVAL})


class PlanDifference(NamedTuple):
    """What an edit changes, by task, in the order of the plans."""

    added: tuple[TaskId, ...]
    changed: tuple[TaskId, ...]
    removed: tuple[TaskId, ...]

    def words(self) -> str:
        """Return it in words: `added a, b; removed c`; empty if no task changes."""
        parts = zip(("added", "changed", "removed"), self, strict=True)
        return "; ".join(f"{how} {', '.join(tasks)}" for how, tasks in parts if tasks)


def running_plan(state: SessionState) -> Plan | None:
    """Return the current plan, with priorities that persons set; None if there is none."""
    if state.plan is None:
        return None
    return Plan(
        summary=state.plan.summary, tasks=tuple(each.task for each in state.records.values())
    )


def plan_digest(plan: Plan) -> Digest:
    """Return a digest of the whole plan; an edit names the digest of the plan it started from."""
    return Digest(hashlib.sha256(plan.model_dump_json().encode()).hexdigest())


def difference(old: Plan, new: Plan) -> PlanDifference:
    """Return the tasks that differ between two plans."""
    before, after = ({task.id: task for task in plan.tasks} for plan in (old, new))
    return PlanDifference(
        added=tuple(name for name in after if name not in before),
        changed=tuple(name for name in after if name in before and before[name] != after[name]),
        removed=tuple(name for name in before if name not in after),
    )


def edit_faults(state: SessionState, new: Plan) -> tuple[str, ...]:
    """List all reasons why a running session cannot take up an edited plan.

    Args:
        state: of a session that works on a plan.
        new: the whole edited plan.
    """
    old = running_plan(state)
    if old is None:
        return ("there is no plan to change",)
    edit = difference(old, new)
    removals = tuple(_removals(state, new, edit))
    if removals:
        return removals  # the same plan's other faults would only say so again
    if faults := plan_faults(new):
        return tuple(each.text for each in faults)
    return (*_changes(state, new, edit), *_overlaps(state, new, edit), *_settled(state, new))


def refusal(state: SessionState, new: Plan) -> str:
    """Return in one line why an edit is refused, with the first faults; empty if it is valid."""
    faults = edit_faults(state, new)
    more = [f"and {len(faults) - _NAMED} faults more"] if len(faults) > _NAMED else []
    listed = "; ".join([*faults[:_NAMED], *more])
    return f"the edit is refused: {listed}" if faults else ""


def told(old: Plan, new: Plan, by: str) -> str:
    """Return what a person changed, in words for a notice."""
    return f"{by} changed the plan: {difference(old, new).words() or 'its summary or order'}"[
        :1_000
    ]


def no_more_plans(state: SessionState) -> str:
    """Return why the planner is not asked again."""
    made = counted(state.plans_made, "plan")
    return (
        f"the planner has made {made}, the most that `plans` allows: bring one with `plan edit`, "
        "or stop the session"
    )


def with_edited_plan(state: SessionState, new: Plan, config: SessionConfig) -> SessionState:
    """Return the state with its plan replaced by an edited one.

    Args:
        state: of a session that works on a plan.
        new: a plan for which `edit_faults` is empty.
        config: the session's own.
    """
    known = state.records
    records = {
        task.id: _edited(known[task.id], task)
        if task.id in known
        else TaskRecord(task=task, attempts_allowed=config.attempts)
        for task in new.tasks
    }
    old = {each.id: each for each in state.changesets}
    changesets = tuple(
        old[each.id].evolve(tasks=each.tasks) if each.id in old else each
        for each in form_changesets(new)
    )
    return state.evolve(plan=new, records=records, changesets=changesets)


def _edited(record: TaskRecord, task: Task) -> TaskRecord:
    if record.task.depends_on == task.depends_on:
        return record.evolve(task=task)
    # Its work has another base.
    record = record.evolve(task=task, base=None, restart_from=None)
    return move(record, TaskEvent.RESET) if record.state is TaskState.READY else record


def _removals(state: SessionState, new: Plan, edit: PlanDifference) -> Iterator[str]:
    for name in edit.removed:
        if needing := [task.id for task in new.tasks if name in task.depends_on]:
            yield (
                f"task {name!r} cannot be removed, because {', '.join(map(repr, needing))} "
                "would still depend on it: drop the dependency too"
            )
        record = state.records[name]
        if record.attempt > 0 or record.state is TaskState.SKIPPED:
            yield (
                f"task {name!r} cannot be removed, because it has started ({record.state}): "
                f"{_instead(record)}"
            )


def _instead(record: TaskRecord) -> str:
    if record.state is TaskState.MERGED:
        return "add a task that undoes it"
    return "leave it in the plan" if record.state is TaskState.SKIPPED else "skip it instead"


def _changes(state: SessionState, new: Plan, edit: PlanDifference) -> Iterator[str]:
    tasks = {task.id: task for task in new.tasks}
    for name in edit.changed:
        record, task = state.records[name], tasks[name]
        if record.state is TaskState.MERGED:
            yield f"task {name!r} cannot be changed: it is merged; add a task for what is left"
        elif record.state not in _IDLE and record.task.with_priority(task.priority) != task:
            yield (
                f"task {name!r} is {record.state}: until that is over only its priority can be "
                "changed; steer it, or reject its work with notes"
            )


def _overlaps(state: SessionState, new: Plan, edit: PlanDifference) -> Iterator[str]:
    under_way = [
        record.task
        for record in state.records.values()
        if record.state not in _IDLE and record.state is not TaskState.MERGED
    ]
    held, above = HeldClaims(under_way), _ancestors(new)
    for task in new.tasks:
        record = state.records.get(task.id)
        if record is not None and record.state not in _IDLE:
            continue
        if task.id not in {*edit.added, *edit.changed}:
            continue
        for other in dict.fromkeys(held.colliding(task)):
            if other != task.id and other not in above[task.id]:
                yield (
                    f"task {task.id!r} claims the same paths as {other!r}, which is "
                    f"{state.records[other].state}: let it depend on that, or separate the claims"
                )


def _ancestors(plan: Plan) -> dict[TaskId, frozenset[TaskId]]:
    wanted = {task.id: task.depends_on for task in plan.tasks}
    above: dict[TaskId, frozenset[TaskId]] = {}
    for name in dependency_order(wanted):
        direct = wanted[name]
        above[name] = frozenset(direct).union(*(above[each] for each in direct))
    return above


def _settled(state: SessionState, new: Plan) -> Iterator[str]:
    after = {each.id: each for each in form_changesets(new)}
    for changeset in state.changesets:
        tasks = after[changeset.id].tasks if changeset.id in after else ()
        if changeset.state not in _OPEN and set(tasks) != set(changeset.tasks):
            yield f"changeset {changeset.id!r} is {changeset.state}: {_keep(changeset)}"


def _keep(changeset: Changeset) -> str:
    return f"leave its tasks ({', '.join(changeset.tasks)}) together, and put others elsewhere"
