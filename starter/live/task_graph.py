"""The graph of a session's tasks as rows: by level, each with what it needs and what needs it.

Pure. A task stands one level below the deepest task that it needs.
"""

from collections.abc import Sequence
from typing import Final

from starter.console.terminal import one_line, shown
from starter.live.rows import Row, aligned
from starter.views import session_words
from workflows.domain.ids import TaskId
from workflows.domain.plan import Plan
from workflows.domain.session.query_answers import TaskLine
from workflows.policy.plan.dependency_graph import dependency_order

_NAMES: Final = 60
_INDENT: Final = 8
"""Levels that are shown by indentation; deeper ones only by their number."""


def graph_rows(tasks: Sequence[TaskLine], plan: Plan | None) -> tuple[Row, ...]:
    """Return one row for each task, in the order of levels, otherwise in the plan's.

    Args:
        tasks: as the session shows them.
        plan: names the dependencies; None: not known, so that there is nothing to show.
    """
    if plan is None:
        return ()
    needs = {task.id: task.depends_on for task in plan.tasks}
    needed_by: dict[TaskId, list[TaskId]] = {name: [] for name in needs}
    level: dict[TaskId, int] = {}
    for name in dependency_order(needs):
        known = [each for each in needs[name] if each in level]
        level[name] = max((level[each] + 1 for each in known), default=0)
        for each in known:
            needed_by[each].append(name)
    ordered = sorted((t for t in tasks if t.id in level), key=lambda task: level[task.id])
    cells = [
        (
            str(level[task.id] + 1),
            "  " * min(level[task.id], _INDENT) + shown(task.id),
            str(task.state),
            _edges("needs", needs[task.id]) + _edges("needed by", needed_by[task.id]),
        )
        for task in ordered
    ]
    return tuple(
        Row(f"task {task.id}", line, session_words.style(f"  {task.state}"))
        for task, line in zip(ordered, aligned(cells), strict=True)
    )


def _edges(label: str, names: Sequence[TaskId]) -> str:
    return f"{label} {one_line(', '.join(names), _NAMES)}  " if names else ""
