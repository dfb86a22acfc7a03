"""Whether a plan can be carried out, and the changesets that it falls into.

Reads what the planner submitted, names every fault in words that help to fix it, and forms the
changesets. Does not judge whether the plan is any good: that is for the person who approves it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from pydantic import JsonValue, ValidationError

from workflows.domain.changeset import Changeset
from workflows.domain.ids import ChangesetId, TaskId
from workflows.domain.plan import Plan, PlanFault, Task
from workflows.policy.plan.claims import claim_fault, overlap
from workflows.policy.plan.dependency_graph import dependency_order, find_cycles
from workflows.policy.plan.json_shape import shape_faults
from workflows.policy.plan.plan_texts import plan_text_faults

MAX_FAULTS: Final = 20
MAX_GROUP: Final = 50
MAX_CLAIMS: Final = 5_000
"""Of all tasks; claims are compared in pairs."""
MAX_GROUP_CLAIMS: Final = 250


def read_plan(submitted: JsonValue) -> Plan | tuple[PlanFault, ...]:
    """Read a submitted plan.

    Args:
        submitted: the arguments of `submit_plan`, or the JSON of a person's plan.

    Returns:
        A plan without faults, or at most `MAX_FAULTS` reasons why it is none.
    """
    try:
        plan = Plan.model_validate(submitted)
    except ValidationError as error:
        texts = shape_faults(error, MAX_FAULTS)
        return tuple(PlanFault(kind="shape", text=text) for text in texts)
    return plan_faults(plan) or plan


def plan_faults(plan: Plan) -> tuple[PlanFault, ...]:
    """Judge a plan's graph and claims.

    Args:
        plan: a plan of the right shape.

    Returns:
        At most `MAX_FAULTS` faults, the plainest kind first; empty for a good plan.
    """
    if too_many := tuple(_too_many_claims(plan.tasks)):
        return too_many
    names = (
        *_duplicates(plan.tasks),
        *_unknown(plan.tasks),
        *_bad_claims(plan.tasks),
        *(PlanFault(kind="shape", text=text) for text in plan_text_faults(plan)),
    )
    # On a graph with doubled or missing nodes a cycle could be named that is none.
    faults = names or (*_cycles(plan.tasks), *_group_names(plan.tasks))
    if not faults:
        faults = (
            *_group_cycles(plan.tasks),
            *_large_groups(plan.tasks),
            *_groups_of_many_claims(plan.tasks),
        )
    return tuple(islice(faults or _overlaps_in_groups(plan.tasks), MAX_FAULTS))


def brief(faults: tuple[PlanFault, ...], most: int) -> str:
    """Write faults as one line: the first ones, and how many there are besides."""
    listed = [fault.text for fault in faults[:most]]
    rest = [f"and {len(faults) - most} faults more"] if len(faults) > most else []
    return "; ".join([*listed, *rest])


def changeset_of(task: Task) -> ChangesetId:
    """Name the changeset that a task belongs to: its cohesion group, or itself alone."""
    return ChangesetId(task.group or task.id)


def form_changesets(plan: Plan) -> tuple[Changeset, ...]:
    """Form the changesets of a plan without faults.

    Args:
        plan: a plan for which `plan_faults` is empty.

    Returns:
        The changesets in dependency order, each with its tasks in dependency order.
    """
    members: dict[ChangesetId, list[TaskId]] = {home: [] for home in _homes(plan.tasks).values()}
    tasks = {task.id: task for task in plan.tasks}
    for task_id in dependency_order({task.id: task.depends_on for task in plan.tasks}):
        members[changeset_of(tasks[task_id])].append(task_id)
    return tuple(
        Changeset(id=home, tasks=tuple(members[home]))
        for home in dependency_order(_group_edges(plan.tasks))
    )


def _homes(tasks: Iterable[Task]) -> dict[TaskId, ChangesetId]:
    return {task.id: changeset_of(task) for task in tasks}


def _group_edges(tasks: tuple[Task, ...]) -> dict[ChangesetId, tuple[ChangesetId, ...]]:
    """Draw the graph between changesets, without what happens inside of one."""
    homes = _homes(tasks)
    edges: dict[ChangesetId, dict[ChangesetId, None]] = {home: {} for home in homes.values()}
    for task in tasks:
        wanted = (homes[d] for d in task.depends_on)
        edges[homes[task.id]].update({home: None for home in wanted if home != homes[task.id]})
    return {home: tuple(wants) for home, wants in edges.items()}


def _duplicates(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    seen: set[str] = set()
    for task in tasks:
        name = task.id.casefold()
        if name in seen:
            yield PlanFault(
                kind="duplicate",
                text=f"task {task.id!r} is there more than once: give each task an id of its own",
            )
        seen.add(name)


def _unknown(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    ids = {task.id for task in tasks}
    for task in tasks:
        for dependency in task.depends_on:
            if dependency not in ids:
                yield PlanFault(
                    kind="unknown",
                    text=f"task {task.id!r} depends on {dependency!r}, no task of the plan: name "
                    "one that is, or drop the dependency",
                )


def _bad_claims(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    for task in tasks:
        for claim in task.claims:
            if reason := claim_fault(claim):
                yield PlanFault(kind="claim", text=f"task {task.id!r}, claim {claim!r}: {reason}")


def _too_many_claims(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    """Bound what is to be compared, so that judging a plan takes no time that anybody notices."""
    count = sum(len(task.claims) for task in tasks)
    if count > MAX_CLAIMS:
        yield PlanFault(
            kind="claim",
            text=f"the plan has {count} claims in all, more than {MAX_CLAIMS}: claim folders "
            "instead of files",
        )


def _cycles(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    for cycle in find_cycles({task.id: task.depends_on for task in tasks}, MAX_FAULTS):
        yield PlanFault(
            kind="cycle",
            text=f"{_arrows(cycle)}: no task of this cycle could ever start; drop one dependency",
        )


def _group_names(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    groups = {task.group for task in tasks}
    for task in tasks:
        if task.id in groups and task.group != task.id:
            yield PlanFault(
                kind="groups",
                text=f"group {task.id!r} bears the id of a task outside of it: rename the group",
            )


def _group_cycles(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    for cycle in find_cycles(_group_edges(tasks), MAX_FAULTS):
        yield PlanFault(
            kind="groups",
            text=f"changesets {_arrows(cycle)} wait for each other, and each merges only as a"
            " whole: regroup their tasks or put them into one group",
        )


def _large_groups(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    sizes = Counter(task.group for task in tasks if task.group is not None)
    for group, size in sizes.items():
        if size > MAX_GROUP:
            yield PlanFault(
                kind="groups",
                text=f"group {group!r} has {size} tasks, and no one can approve more than "
                f"{MAX_GROUP} as one change: part it",
            )


def _groups_of_many_claims(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    claims = Counter(task.group for task in tasks for _ in task.claims if task.group is not None)
    for group, count in claims.items():
        if count > MAX_GROUP_CLAIMS:
            yield PlanFault(
                kind="groups",
                text=f"group {group!r} has {count} claims in all, more than {MAX_GROUP_CLAIMS}: "
                "claim folders instead of files, or part it",
            )


def _overlaps_in_groups(tasks: tuple[Task, ...]) -> Iterator[PlanFault]:
    """Name pairs of a group that write the same paths, neither after the other.

    Neither's base would hold the other's work, so their merge would conflict at every attempt.
    """
    above = _ancestors(tasks)
    for place, task in enumerate(tasks):
        for after, other in enumerate(tasks[place + 1 :], place + 1):
            if task.group is None or task.group != other.group:
                continue
            if above[other.id] >> place & 1 or above[task.id] >> after & 1:
                continue
            if overlap(task.claims, other.claims):
                yield PlanFault(
                    kind="groups",
                    text=f"tasks {task.id!r} and {other.id!r} of group {task.group!r} claim the "
                    "same paths: let one depend on the other, or part their claims",
                )


def _ancestors(tasks: tuple[Task, ...]) -> dict[TaskId, int]:
    """Return for each task all that it depends on, transitively, as bits by the tasks' places.

    Only for plans without cycles. Bits, because sets of a thousand dense tasks take seconds.
    """
    wanted = {task.id: task.depends_on for task in tasks}
    bit = {task.id: 1 << place for place, task in enumerate(tasks)}
    above: dict[TaskId, int] = {}
    for task_id in dependency_order(wanted):
        above[task_id] = 0
        for direct in wanted[task_id]:
            above[task_id] |= bit[direct] | above[direct]
    return above


def _arrows(cycle: tuple[str, ...]) -> str:
    """Write `a→b→a`: each depends on the next; a very long cycle is cut in its middle."""
    shown = cycle if len(cycle) <= MAX_FAULTS else (*cycle[:10], "…", *cycle[-9:])
    return "→".join(shown)
