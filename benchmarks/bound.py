"""The shortest time in which a list scheduler could do a DAG of tasks: pure arithmetic.

Nothing is measured here, and no benchmark is run.
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
    """Return the makespan of greedy list scheduling, longest chain behind a task first.

    A task holds one of the slots while it is developed, and is judged beside them; it starts when
    all that it needs is validated. Starting and noticing cost nothing here.

    Args:
        lengths: of each task, in seconds.
        needs: for each task the tasks that it depends on; acyclic.
        slots: how many are developed at once, 1 or more.

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
    """Return for each task the seconds of the longest chain that begins with it, itself included.

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
