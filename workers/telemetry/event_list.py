"""The events of all of a session's histories, in the order in which they happened.

Each event is named by what it is about (an activity, a child, a signal), without its contents:
those may be large, encrypted, or stored elsewhere.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from pydantic import BaseModel
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory

from workers.telemetry.history_events import time_of

_MESSAGE: Final = 300
_PREFIX: Final = "EVENT_TYPE_"


class ListedEvent(BaseModel, frozen=True, extra="forbid"):
    """One event; one entry of `history --events --json`."""

    at: datetime
    workflow: str
    """The workflow's id: `session/<id>` or below."""
    run: str
    event: int
    """Its number in the run's history, from 1."""
    type: str
    """As Temporal names it, in lower case: `activity_task_scheduled`."""
    what: str
    """The activity, child, signal, Update or timer; empty for other events."""
    refers_to: int
    """The number of the event that began it; 0: it refers to none."""
    failure: str
    """The first 300 characters of the message of what failed; empty: nothing did."""


async def read_histories(client: Client, session: str) -> list[WorkflowHistory]:
    """Read all histories of a session, in the order in which their runs began; no worker is needed.

    Raises:
        RPCError: the server does not answer.
    """
    query = f'WorkflowId = "session/{session}" OR WorkflowId STARTS_WITH "session/{session}/"'
    histories = [
        await client.get_workflow_handle(each.id, run_id=each.run_id).fetch_history()
        async for each in client.list_workflows(query)
    ]
    return sorted(histories, key=lambda each: (time_of(each.events[0]), each.workflow_id))


def list_events(histories: Iterable[WorkflowHistory]) -> list[ListedEvent]:
    """List the events of histories in the order in which they happened."""
    found = [event for each in histories for event in _events(each)]
    return sorted(found, key=lambda each: (each.at, each.workflow, each.event))


def _events(history: WorkflowHistory) -> list[ListedEvent]:
    listed: list[ListedEvent] = []
    names: dict[int, str] = {}
    for event in history.events:
        one = _listed(event, history, names)
        names[event.event_id] = one.what
        listed.append(one)
    return listed


def _listed(event: HistoryEvent, history: WorkflowHistory, names: Mapping[int, str]) -> ListedEvent:
    name = EventType.Name(event.event_type).removeprefix(_PREFIX).lower()
    begun = _begun_by(event)
    return ListedEvent(
        at=time_of(event),
        workflow=history.workflow_id,
        run=history.run_id,
        event=event.event_id,
        type=name,
        what=_NAMES[name](event) if name in _NAMES else names.get(begun, ""),
        refers_to=begun,
        failure=_failure(event)[:_MESSAGE],
    )


_NAMES: Final[Mapping[str, Callable[[HistoryEvent], str]]] = {
    "workflow_execution_started": lambda e: (
        e.workflow_execution_started_event_attributes.workflow_type.name
    ),
    "workflow_execution_signaled": lambda e: (
        e.workflow_execution_signaled_event_attributes.signal_name
    ),
    "workflow_execution_update_accepted": lambda e: (
        e.workflow_execution_update_accepted_event_attributes.accepted_request.input.name
    ),
    "activity_task_scheduled": lambda e: (
        e.activity_task_scheduled_event_attributes.activity_type.name
    ),
    "timer_started": lambda e: f"timer {e.timer_started_event_attributes.timer_id}",
    "start_child_workflow_execution_initiated": lambda e: (
        e.start_child_workflow_execution_initiated_event_attributes.workflow_id
    ),
    "signal_external_workflow_execution_initiated": lambda e: (
        e.signal_external_workflow_execution_initiated_event_attributes.signal_name
    ),
}
"""What names an event that begins something; others get the name of what they refer to."""


def _begun_by(event: HistoryEvent) -> int:
    """Return the number of the event that began what this one continues; 0: there is none."""
    kind = event.WhichOneof("attributes")
    attributes = getattr(event, kind) if kind else None
    for field in ("scheduled_event_id", "initiated_event_id", "accepted_event_id"):
        if found := int(getattr(attributes, field, 0)):
            return found
    timer = int(getattr(attributes, "started_event_id", 0))
    return timer if kind and kind.startswith("timer_") else 0


def _failure(event: HistoryEvent) -> str:
    kind = event.WhichOneof("attributes")
    attributes = getattr(event, kind) if kind else None
    failure = getattr(attributes, "failure", None)
    return str(getattr(failure, "message", ""))
