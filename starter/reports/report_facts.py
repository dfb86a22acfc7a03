"""The facts behind a session's report and its history, gathered once.

The view is read last: it is never behind the histories, so its sum covers the calls that they show.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from starter.sessions.shown_session import ShownSession
from workers.telemetry.session_record import SessionRecord
from workers.telemetry.traces.span_values import Trace
from workflows.domain.ids import SessionId, TaskId
from workflows.domain.plan import Plan, Task
from workflows.domain.session.wave_values import Validated

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from workers.settings import Settings

_MOST_DIFF: Final = 200_000
"""Characters of one task's diff on the page."""
_MOST_DIFFS: Final = 5_000_000
"""Characters of all diffs on the page."""


@dataclass(frozen=True)
class TaskDiff:
    """The validated work of one task."""

    text: str
    """Empty if it is not shown."""
    left_out: str = ""
    """What of it is not shown and why; empty if it is whole."""


@dataclass(frozen=True)
class Facts:
    """All that is told of one session."""

    view: ShownSession
    trace: Trace
    record: SessionRecord
    at: datetime
    """When it was read."""
    diffs: dict[TaskId, TaskDiff] = field(default_factory=dict[TaskId, TaskDiff])

    @property
    def ended_at(self) -> datetime | None:
        """When the session's workflow ended; None while it runs."""
        return self.trace.spans[0].ended if self.trace.spans else None

    @property
    def until(self) -> datetime:
        """The end of what is told: the session's, or when it was read."""
        return self.ended_at or self.at

    @property
    def planned(self) -> dict[TaskId, Task]:
        """The tasks of the plan in force, as far as the histories show it."""
        plan = plan_in_force(self)
        return {} if plan is None else {each.id: each for each in plan.tasks}


def plan_in_force(facts: Facts) -> Plan | None:
    """Return the newest plan with exactly the session's tasks, else the newest; None: no plan."""
    plans = [each.plan for each in reversed(facts.record.plans) if each.plan is not None]
    wanted = {each.id for each in facts.view.tasks}
    fitting = (each for each in plans if {task.id for task in each.tasks} == wanted)
    return next(fitting, plans[0] if plans else None)


async def gather(sessions: "Sessions", session: SessionId) -> Facts:
    """Read all facts except the diffs; needs the server, but no worker.

    Raises:
        CommandError: there is no such session.
    """
    trace = await sessions.trace(session)
    record = await sessions.record(session)
    view = await sessions.view(session)
    return Facts(view=view, trace=trace, record=record, at=datetime.now(UTC))


async def with_diffs(facts: Facts, settings: "Settings") -> Facts:
    """Return the facts with the diffs of the validated work, from the store of this machine."""
    found: dict[TaskId, TaskDiff] = {}
    left = _MOST_DIFFS
    for task, item in _validated(facts.record).items():
        found[task] = await _diff(item, settings, min(left, _MOST_DIFF))
        left -= len(found[task].text)
    return Facts(facts.view, facts.trace, facts.record, facts.at, found)


def _validated(record: SessionRecord) -> dict[TaskId, Validated]:
    """Return the newest validated work of each task."""
    items = (each.item for each in record.items)
    return {each.task: each for each in items if isinstance(each, Validated)}


async def _diff(item: Validated, settings: "Settings", most: int) -> TaskDiff:
    from activities.ports.blob_store_port import BlobMissingError
    from workers.local.stored_diffs import read_diff

    if item.diff is None:
        return TaskDiff("", "the session kept no diff of it")
    try:
        text = await read_diff(settings, item.diff)
    except (BlobMissingError, OSError):
        return TaskDiff("", "its diff is not in the store of this machine")
    if len(text) <= most:
        return TaskDiff(text)
    cut = text[:most].rpartition("\n")[0]
    return TaskDiff(cut, f"{len(text) - len(cut)} of {len(text)} characters are left out here")
