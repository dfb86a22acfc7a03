"""Decisions in words: what persons and rules decided on a session, who, when, and the result.

Pure: values in, lines out. Foreign text passes `shown` or `one_line`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from starter.console.terminal import one_line, shown
from starter.sessions.shown_session import ShownSession
from workflows.domain.ids import TaskId
from workflows.domain.session.decision import Decision

_SHOWN: Final = 10


def latest(session: ShownSession) -> list[str]:
    """Return a session's newest decisions, and the number of earlier ones."""
    earlier = max(len(session.decisions) - _SHOWN, 0) + session.decisions_dropped
    more = [f"  {earlier} earlier; --json has the newest 100"] if earlier else []
    return [*more, *map(line, session.decisions[-_SHOWN:])]


def about(session: ShownSession, task: TaskId) -> list[Decision]:
    """Return the decisions on a task, its changeset, and the plan that it came from."""
    homes = {str(each.id) for each in session.changesets if task in each.tasks}
    plan = {"approve_plan", "replace_plan", "edit_plan"}
    return [
        each
        for each in session.decisions
        if each.subject in {task, *homes} or (each.what in plan and not each.refused)
    ]


def section(decisions: Iterable[Decision]) -> list[str]:
    """Return decisions under their title; nothing if there are none."""
    lines: Sequence[str] = [line(each) for each in decisions]
    return ["", "Decisions", *lines] if lines else []


def line(decision: Decision) -> str:
    """Return one decision on one line."""
    subject = f" {shown(decision.subject)}" if decision.subject else ""
    times = f" ({decision.count} times)" if decision.count > 1 else ""
    note = f": {one_line(decision.note, 100)}" if decision.note else ""
    refused = f" -- refused: {one_line(decision.refused, 120)}" if decision.refused else ""
    what = f"{decision.what.replace('_', ' ')}{subject}"
    by = one_line(decision.by, 100)
    return f"  {decision.at:%Y-%m-%d %H:%M}  {what} by {by}{times}{note}{refused}"
