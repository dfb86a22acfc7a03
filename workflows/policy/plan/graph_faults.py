"""What is certainly wrong with a plan's graph, groups and claims.

A fault can hide or feign others: behind a cycle there is no known order, and a misspelt
dependency may be the one that separates two tasks. Faults that depend on it are judged once it
is fixed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from workflows.domain.ids import TaskId
from workflows.domain.plan import Place, PlanFault, Task
from workflows.policy.plan.changeset_forming import changeset_edges
from workflows.policy.plan.claims import claim_fault, overlap
from workflows.policy.plan.dependency_graph import dependency_order, find_cycles

MAX_FAULTS: Final = 50
MAX_GROUP: Final = 50
MAX_CLAIMS: Final = 5_000
"""The limit for all tasks together; claims are compared in pairs."""
MAX_GROUP_CLAIMS: Final = 250
_SHOWN: Final = 20
"""The most tasks of a cycle that are named."""


class Placed(NamedTuple):
    """A task and its place in the document."""

    number: int
    """From 0."""
    task: Task
    is_whole: bool = True
    """False: a part of it could not be read, so nothing that follows from its order or group is
    certain."""

    def at(self, *more: str | int) -> Place:
        """Return the place of one of its fields."""
        return ("tasks", self.number, *more)


def graph_faults(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    """List the faults of tasks that have the right shape, the simplest kind first.

    Args:
        placed: the tasks in the order of the document.
    """
    if too_many := tuple(_too_many_claims(placed)):
        yield from too_many  # comparing them would take noticeable time
        return
    ids = Counter(each.task.id for each in placed)
    first = {each.task.id: each for each in reversed(placed)}
    once = {name: each for name, each in first.items() if ids[name] == 1}
    yield from _duplicates(placed)
    yield from _unknown(placed)
    yield from _bad_claims(placed)
    # With duplicate nodes a false cycle could be named.
    yield from _cycles(once)
    yield from _group_names(placed)
    yield from _large_groups(placed)
    yield from _groups_of_many_claims(placed)
    clear = _clear(placed, once)
    yield from _group_cycles(clear)
    yield from _overlaps_in_groups(clear)


def _clear(placed: Sequence[Placed], once: dict[TaskId, Placed]) -> tuple[Placed, ...]:
    """Return the tasks whose order and group are fully known."""
    groups = {each.task.group for each in placed}
    named_twice = {
        each.task.id
        for each in placed
        if each.task.id in groups and each.task.group != each.task.id
    }
    clear: set[TaskId] = set()
    for name in dependency_order({name: each.task.depends_on for name, each in once.items()}):
        each = once[name]
        is_sure = each.is_whole and not named_twice & {name, each.task.group}
        if is_sure and all(need in clear for need in each.task.depends_on):
            clear.add(name)
    return tuple(each for each in placed if each.task.id in clear)


def _duplicates(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    seen: set[str] = set()
    for each in placed:
        if each.task.id in seen:
            yield PlanFault(
                kind="duplicate",
                text=f"task {each.task.id!r} is there more than once: give each task an id of its "
                "own",
                place=each.at("id"),
            )
        seen.add(each.task.id)


def _unknown(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    ids = {each.task.id for each in placed}
    for each in placed:
        for number, dependency in enumerate(each.task.depends_on):
            if dependency not in ids:
                yield PlanFault(
                    kind="unknown",
                    text=f"task {each.task.id!r} depends on {dependency!r}, no task of the plan: "
                    "name one that is, or drop the dependency",
                    place=each.at("depends_on", number),
                )


def _bad_claims(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    for each in placed:
        for number, claim in enumerate(each.task.claims):
            if reason := claim_fault(claim):
                yield PlanFault(
                    kind="claim",
                    text=f"task {each.task.id!r}, claim {claim!r}: {reason}",
                    place=each.at("claims", number),
                )


def _too_many_claims(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    count = sum(len(each.task.claims) for each in placed)
    if count > MAX_CLAIMS:
        yield PlanFault(
            kind="claim",
            text=f"the plan has {count} claims in all, more than {MAX_CLAIMS}: claim folders "
            "instead of files",
            place=("tasks",),
        )


def _cycles(once: dict[TaskId, Placed]) -> Iterator[PlanFault]:
    edges = {
        name: once[name].task.depends_on for name in sorted(once, key=lambda n: once[n].number)
    }
    for cycle in find_cycles(edges, MAX_FAULTS + 1):
        first = once[cycle[0]]
        yield PlanFault(
            kind="cycle",
            text=f"{_arrows(cycle)}: no task of this cycle could ever start; drop one dependency",
            place=first.at("depends_on", first.task.depends_on.index(cycle[1])),
        )


def _group_names(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    groups = {each.task.group for each in placed}
    for each in placed:
        if each.task.id in groups and each.task.group != each.task.id and each.is_whole:
            yield PlanFault(
                kind="groups",
                text=f"group {each.task.id!r} bears the id of a task outside of it: rename the "
                "group",
                place=_group(placed, each.task.id).at("group"),
            )


def _group_cycles(clear: Sequence[Placed]) -> Iterator[PlanFault]:
    edges = changeset_edges(tuple(each.task for each in clear))
    for cycle in find_cycles(edges, MAX_FAULTS + 1):
        grouped = next(name for name in cycle if any(each.task.group == name for each in clear))
        yield PlanFault(
            kind="groups",
            text=f"changesets {_arrows(cycle)} wait for each other, and each merges only as a"
            " whole: regroup their tasks or put them into one group",
            place=_group(clear, grouped).at("group"),
        )


def _large_groups(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    sizes = Counter(each.task.group for each in placed if each.task.group is not None)
    for group, size in sizes.items():
        if size > MAX_GROUP:
            yield PlanFault(
                kind="groups",
                text=f"group {group!r} has {size} tasks, and no one can approve more than "
                f"{MAX_GROUP} as one change: part it",
                place=_group(placed, group).at("group"),
            )


def _groups_of_many_claims(placed: Sequence[Placed]) -> Iterator[PlanFault]:
    tasks = [each.task for each in placed]
    claims = Counter(task.group for task in tasks for _ in task.claims if task.group is not None)
    for group, count in claims.items():
        if count > MAX_GROUP_CLAIMS:
            yield PlanFault(
                kind="groups",
                text=f"group {group!r} has {count} claims in all, more than {MAX_GROUP_CLAIMS}: "
                "claim folders instead of files, or part it",
                place=_group(placed, group).at("group"),
            )


def _overlaps_in_groups(clear: Sequence[Placed]) -> Iterator[PlanFault]:
    """List pairs in a group that write the same paths without one depending on the other.

    Neither's base would hold the other's work, so their merge would conflict at every attempt.
    """
    sizes = Counter(each.task.group for each in clear for _ in each.task.claims)
    tasks = tuple(each.task for each in clear)
    above = _ancestors(tasks)
    for place, task in enumerate(tasks):
        if task.group is None or sizes[task.group] > MAX_GROUP_CLAIMS:
            continue
        for after, other in enumerate(tasks[place + 1 :], place + 1):
            if task.group != other.group:
                continue
            if above[other.id] >> place & 1 or above[task.id] >> after & 1:
                continue
            if overlap(task.claims, other.claims):
                yield PlanFault(
                    kind="groups",
                    text=f"tasks {task.id!r} and {other.id!r} of group {task.group!r} claim the "
                    "same paths: let one depend on the other, or separate the claims",
                    place=clear[after].at("claims"),
                )


def _ancestors(tasks: tuple[Task, ...]) -> dict[TaskId, int]:
    """Return for each task all that it depends on, transitively, as bits by the tasks' indexes.

    Only for plans without cycles. Bits, because sets for a thousand dense tasks take seconds.
    """
    wanted = {task.id: task.depends_on for task in tasks}
    bit = {task.id: 1 << place for place, task in enumerate(tasks)}
    above: dict[TaskId, int] = {}
    for task_id in dependency_order(wanted):
        above[task_id] = 0
        for direct in wanted[task_id]:
            above[task_id] |= bit[direct] | above[direct]
    return above


def _group(placed: Sequence[Placed], group: str) -> Placed:
    return next(each for each in placed if each.task.group == group)


def _arrows(cycle: tuple[str, ...]) -> str:
    """Write `a→b→a`: each depends on the next; a very long cycle is cut in its middle."""
    shown = cycle if len(cycle) <= _SHOWN else (*cycle[:10], "…", *cycle[-9:])
    return "→".join(shown)
