"""Computes the time that a list scheduler without overhead needs for a DAG of tasks.

Pure arithmetic: nothing is measured here, and no benchmark is run.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Length:
    """How long one task takes when nothing else runs."""

    develop: float
    """Seconds in a development slot."""
    validate: float
    """Seconds from there until its dependants may start."""

    @property
    def whole(self) -> float:
        """Seconds from the start of development until validated."""
        return self.develop + self.validate


def list_schedule(
    lengths: Mapping[str, Length], needs: Mapping[str, Sequence[str]], slots: int
) -> float:
    """Return the makespan of greedy list scheduling, longest chain of dependants first.

    A task occupies a slot while it is developed, and none while it is judged. It starts when all
    its dependencies are validated. Scheduling itself takes no time.

    Args:
        lengths: the length of each task, in seconds.
        needs: the dependencies of each task; acyclic.
        slots: how many tasks are developed at once, 1 or more.

    Returns:
        Seconds from the first start until the last task is validated.

    Raises:
        ValueError: the dependencies have a cycle.
    """
    tails = chains(lengths, needs)
    waiting = {task: set(needs[task]) for task in lengths}
    ready = sorted((-tails[task], task) for task in lengths if not waiting[task])
    events: list[tuple[float, str, str]] = []
    now, free = 0.0, slots
    while ready or events:
        while ready and free:
            _, task = heapq.heappop(ready)
            free -= 1
            heapq.heappush(events, (now + lengths[task].develop, "developed", task))
        now, kind, task = heapq.heappop(events)
        if kind == "developed":
            free += 1
            heapq.heappush(events, (now + lengths[task].validate, "validated", task))
            continue
        for other, left in waiting.items():
            if task in left:
                left.remove(task)
                if not left:
                    heapq.heappush(ready, (-tails[other], other))
    return now


def chains(lengths: Mapping[str, Length], needs: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return for each task the seconds of the longest chain that begins with it, including itself.

    Raises:
        ValueError: the dependencies have a cycle.
    """
    behind: dict[str, list[str]] = {task: [] for task in lengths}
    left = dict.fromkeys(lengths, 0)
    for task, above in needs.items():
        for each in above:
            behind[each].append(task)
            left[each] += 1
    found: dict[str, float] = {}
    last = [task for task in lengths if not left[task]]
    while last:
        task = last.pop()
        found[task] = lengths[task].whole + max((found[b] for b in behind[task]), default=0.0)
        for each in needs[task]:
            left[each] -= 1
            if not left[each]:
                last.append(each)
    if len(found) < len(lengths):
        raise ValueError(f"tasks {sorted(set(lengths) - set(found))} depend on each other")
    return found
