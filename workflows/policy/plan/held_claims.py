"""An index of held claims: who could collide with a task, without comparing it to every other.

Two claims can only meet when one's literal beginning begins the other's; the index finds those by
lookup and leaves the rest to `claims.patterns_meet`. A working copy for one decision, never kept.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from workflows.domain.ids import TaskId
from workflows.domain.plan import Task
from workflows.policy.plan.claims import Pattern, compile_claim, patterns_meet


class HeldClaims:
    """Claims by their literal beginning, each with its holder."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        """Begin with the claims of some tasks."""
        self._held: dict[str, list[tuple[Pattern, TaskId]]] = {}
        self._prefixes: list[str] = []
        self._lengths: list[int] = []
        for task in tasks:
            self.add(task)

    def add(self, task: Task) -> None:
        """Hold a task's claims."""
        for pattern in map(compile_claim, task.claims):
            if pattern.prefix not in self._held:
                self._held[pattern.prefix] = []
                insort(self._prefixes, pattern.prefix)
                if len(pattern.prefix) not in self._lengths:
                    insort(self._lengths, len(pattern.prefix))
            self._held[pattern.prefix].append((pattern, task.id))

    def colliding(self, task: Task) -> Iterator[TaskId]:
        """Name the holders whose claims overlap a task's, perhaps repeatedly."""
        for pattern in map(compile_claim, task.claims):
            for prefix in self._near(pattern.prefix):
                for held, holder in self._held[prefix]:
                    if patterns_meet(pattern, held):
                        yield holder

    def _near(self, prefix: str) -> Iterator[str]:
        """Find the held beginnings that begin this one, and those that it begins."""
        for length in self._lengths:
            if length >= len(prefix):
                break
            if prefix[:length] in self._held:
                yield prefix[:length]
        for held in self._prefixes[bisect_left(self._prefixes, prefix) :]:
            if not held.startswith(prefix):
                break
            yield held
