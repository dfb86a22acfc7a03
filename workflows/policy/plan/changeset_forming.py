"""Divides a plan into changesets: one per cohesion group, and one per task without a group."""

from collections.abc import Iterable

from workflows.domain.changeset import Changeset
from workflows.domain.ids import ChangesetId, TaskId
from workflows.domain.plan import Plan, Task
from workflows.policy.plan.dependency_graph import dependency_order


def changeset_of(task: Task) -> ChangesetId:
    """Return the changeset that a task belongs to: its cohesion group, or the task alone."""
    return ChangesetId(task.group or task.id)


def form_changesets(plan: Plan) -> tuple[Changeset, ...]:
    """Form the changesets of a plan without faults.

    Args:
        plan: a plan for which `plan_check.plan_faults` is empty.

    Returns:
        The changesets in dependency order, each with its tasks in dependency order.
    """
    members: dict[ChangesetId, list[TaskId]] = {home: [] for home in _homes(plan.tasks).values()}
    tasks = {task.id: task for task in plan.tasks}
    for task_id in dependency_order({task.id: task.depends_on for task in plan.tasks}):
        members[changeset_of(tasks[task_id])].append(task_id)
    return tuple(
        Changeset(id=home, tasks=tuple(members[home]))
        for home in dependency_order(changeset_edges(plan.tasks))
    )


def changeset_edges(tasks: tuple[Task, ...]) -> dict[ChangesetId, tuple[ChangesetId, ...]]:
    """Return the graph between changesets, without dependencies inside one.

    Args:
        tasks: each with a unique id; dependencies on other tasks are ignored.
    """
    homes = _homes(tasks)
    edges: dict[ChangesetId, dict[ChangesetId, None]] = {home: {} for home in homes.values()}
    for task in tasks:
        wanted = (homes[d] for d in task.depends_on if d in homes)
        edges[homes[task.id]].update({home: None for home in wanted if home != homes[task.id]})
    return {home: tuple(wants) for home, wants in edges.items()}


def _homes(tasks: Iterable[Task]) -> dict[TaskId, ChangesetId]:
    return {task.id: changeset_of(task) for task in tasks}
