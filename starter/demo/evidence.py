"""What really happened in a session, read from Temporal's histories and the waves' results.

The demo claims only what is found here. Nothing is rendered.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from workflows.domain.ids import SessionId
from workflows.domain.session.wave_values import (
    MergeResult,
    Refused,
    ReturnedChangeset,
    ValidateResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from temporalio.api.history.v1 import HistoryEvent
    from temporalio.client import Client


@dataclass(frozen=True)
class Seen:
    """The observed events of a session."""

    at_once: int
    """The most developers that worked at the same time."""
    by_gate: tuple[Refused, ...]
    by_reviewer: tuple[Refused, ...]
    conflicts: tuple[ReturnedChangeset, ...]
    decisions: tuple[str, ...]
    """Names of the Updates and signals that people sent, in the order of arrival."""


class Span(NamedTuple):
    """When something started and ended, in nanoseconds since 1970."""

    begin: int
    end: int


@dataclass(frozen=True)
class Child:
    """One child workflow in its parent's history."""

    id: str
    type: str


async def gather(client: "Client", session: SessionId) -> Seen:
    """Read a session's history and its waves."""
    events = await _events(client, f"session/{session}")
    done = ended_children(events)
    refused: list[Refused] = []
    conflicts: list[ReturnedChangeset] = []
    spans: list[Span] = []
    for child in done:
        match child.type:
            case "DevelopWave":
                spans += child_spans(await _events(client, child.id))
            case "ValidateWave":
                validated = client.get_workflow_handle(child.id, result_type=ValidateResult)
                items = (await validated.result()).items
                refused += [each for each in items if isinstance(each, Refused)]
            case "MergeWave":
                merged = client.get_workflow_handle(child.id, result_type=MergeResult)
                returned = (await merged.result()).items
                conflicts += [
                    each
                    for each in returned
                    if isinstance(each, ReturnedChangeset) and each.by == "conflict"
                ]
            case _:
                pass
    return Seen(
        at_once=most_at_once(spans),
        by_gate=tuple(each for each in refused if each.by == "gate"),
        by_reviewer=tuple(each for each in refused if each.by == "reviewer"),
        conflicts=tuple(conflicts),
        decisions=decision_names(events),
    )


async def _events(client: "Client", workflow: str) -> "list[HistoryEvent]":
    return list((await client.get_workflow_handle(workflow).fetch_history()).events)


def decision_names(events: "Iterable[HistoryEvent]") -> tuple[str, ...]:
    """Return the accepted Updates and the signals of a history, without the ledger's signals."""
    names = [_decision_name(event) for event in events]
    return tuple(name for name in names if name not in {"", "ledger_event"})


def _decision_name(event: "HistoryEvent") -> str:
    if event.HasField("workflow_execution_update_accepted_event_attributes"):
        accepted = event.workflow_execution_update_accepted_event_attributes
        return accepted.accepted_request.input.name
    return event.workflow_execution_signaled_event_attributes.signal_name


def ended_children(events: "Iterable[HistoryEvent]") -> tuple[Child, ...]:
    """Return the children of a history that ended with a result, in that order."""
    found = [
        event.child_workflow_execution_completed_event_attributes
        for event in events
        if event.HasField("child_workflow_execution_completed_event_attributes")
    ]
    return tuple(Child(one.workflow_execution.workflow_id, one.workflow_type.name) for one in found)


def child_spans(events: "Iterable[HistoryEvent]") -> tuple[Span, ...]:
    """Return when the children of a history ran, without those that never ended."""
    began: dict[str, int] = {}
    spans: list[Span] = []
    for event in events:
        at = event.event_time.ToNanoseconds()
        if event.HasField("child_workflow_execution_started_event_attributes"):
            started = event.child_workflow_execution_started_event_attributes
            began[started.workflow_execution.workflow_id] = at
        elif event.HasField("child_workflow_execution_completed_event_attributes"):
            ended = event.child_workflow_execution_completed_event_attributes
            spans.append(Span(began.pop(ended.workflow_execution.workflow_id), at))
    return tuple(spans)


def most_at_once(spans: "Sequence[Span]") -> int:
    """Count the most spans that overlap; a span that begins as another ends does not overlap it."""
    return max(
        (sum(other.begin <= one.begin < other.end for other in spans) for one in spans), default=0
    )
