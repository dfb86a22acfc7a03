"""An index of held claims: finds tasks that could collide without comparing every pair.

Two claims can only match a common path if one's literal beginning is a prefix of the other's. The
index looks those up and leaves the rest to `claims.patterns_meet`. It is built for one decision.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from workflows.domain.ids import TaskId
from workflows.domain.plan import Task
from workflows.policy.plan.claims import Pattern, compile_claim, patterns_meet


class HeldClaims:
    """Claims by their literal beginning, each with the task that holds it."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        """Start with the claims of some tasks."""
        self._held: dict[str, list[tuple[Pattern, TaskId]]] = {}
        self._prefixes: list[str] = []
        self._lengths: list[int] = []
        for task in tasks:
            self.add(task)

    def add(self, task: Task) -> None:
        """Add a task's claims."""
        for pattern in map(compile_claim, task.claims):
            if pattern.prefix not in self._held:
                self._held[pattern.prefix] = []
                insort(self._prefixes, pattern.prefix)
                if len(pattern.prefix) not in self._lengths:
                    insort(self._lengths, len(pattern.prefix))
            self._held[pattern.prefix].append((pattern, task.id))

    def colliding(self, task: Task) -> Iterator[TaskId]:
        """Yield the tasks whose claims overlap this task's, perhaps repeatedly."""
        for pattern in map(compile_claim, task.claims):
            for prefix in self._near(pattern.prefix):
                for held, holder in self._held[prefix]:
                    if patterns_meet(pattern, held):
                        yield holder

    def _near(self, prefix: str) -> Iterator[str]:
        """Find the held beginnings that are prefixes of this one, or that it is a prefix of."""
        for length in self._lengths:
            if length >= len(prefix):
                break
            if prefix[:length] in self._held:
                yield prefix[:length]
        for held in self._prefixes[bisect_left(self._prefixes, prefix) :]:
            if not held.startswith(prefix):
                break
            yield held
