"""What the export remembers of sessions: as long as they are looked at, and no longer."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import History, HistoryEvent
from temporalio.api.workflowservice.v1 import (
    GetWorkflowExecutionHistoryReverseRequest,
    GetWorkflowExecutionHistoryReverseResponse,
)
from temporalio.client import WorkflowExecutionStatus
from temporalio.converter import DataConverter, default

from workers.telemetry.traces.trace_export import TraceExport
from workers.telemetry.traces.trace_ids import digest

AT = datetime(2026, 11, 27, tzinfo=UTC)
RUNNING, COMPLETED = WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.COMPLETED
SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
ENDED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED


@dataclass
class Run:
    """One workflow, as the server lists it, and its history."""

    id: str
    status: WorkflowExecutionStatus
    events: list[HistoryEvent]
    start_time: datetime = AT

    @property
    def run_id(self) -> str:
        return self.id

    async def fetch_history_events(self) -> AsyncIterator[HistoryEvent]:
        for each in self.events:
            yield each


@dataclass
class Server:
    """Lists what it is told to."""

    runs: list[Run] = field(default_factory=list[Run])
    data_converter: DataConverter = field(default_factory=default)
    namespace: str = "default"

    async def list_workflows(self, query: str) -> AsyncIterator[Run]:
        wants_sessions = "SessionWorkflow" in query
        for each in self.runs:
            if not wants_sessions or each.id.count("/") == 1:
                yield each

    @property
    def workflow_service(self) -> Self:
        return self

    async def get_workflow_execution_history_reverse(
        self, asked: GetWorkflowExecutionHistoryReverseRequest
    ) -> GetWorkflowExecutionHistoryReverseResponse:
        found = self.get_workflow_handle(asked.execution.workflow_id, asked.execution.run_id)
        newest_first = History(events=reversed(found.events))
        return GetWorkflowExecutionHistoryReverseResponse(history=newest_first)

    def get_workflow_handle(self, workflow: str, run_id: str) -> Run:
        return next(each for each in self.runs if each.id == workflow)


def history(kind: str, *, is_over: bool) -> list[HistoryEvent]:
    """A workflow with one activity that completed."""
    events = [HistoryEvent(event_id=number) for number in range(1, 5 if is_over else 4)]
    for number, each in enumerate(events):
        each.event_time.FromDatetime(AT + timedelta(seconds=number))
    events[0].event_type = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
    events[0].workflow_execution_started_event_attributes.workflow_type.name = kind
    events[1].event_type = SCHEDULED
    events[1].activity_task_scheduled_event_attributes.activity_type.name = "a.b"
    events[1].user_metadata.summary.metadata["encoding"] = b"json/plain"
    events[1].user_metadata.summary.data = b'"in words"'
    events[2].event_type = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
    events[2].activity_task_completed_event_attributes.scheduled_event_id = 2
    if is_over:
        events[3].event_type = ENDED
    return events


def session(status: WorkflowExecutionStatus = RUNNING, *, is_over: bool = False) -> Run:
    return Run("session/s", status, history("SessionWorkflow", is_over=is_over))


def export_of(server: Server, folder: Path, sent: InMemorySpanExporter) -> TraceExport:
    given: Any = server
    return TraceExport(given, folder, sent)


def names(sent: InMemorySpanExporter) -> list[str]:
    return [each.name for each in sent.get_finished_spans()]


async def test_what_a_session_sent_is_known_after_days_in_which_it_only_waited(
    tmp_path: Path,
) -> None:
    activity = digest("session/s", 2, int((AT.timestamp() + 1) * 1_000_000_000))[:16]
    for name in ("s", "long-gone"):
        record = tmp_path / f"{name}.sent"
        record.write_text(f"{activity}\n")
        os.utime(record, (0, 0))
    sent = InMemorySpanExporter()
    stop = asyncio.Event()
    stop.set()
    await export_of(Server([session()]), tmp_path, sent).run(stop)
    assert names(sent) == []
    assert sorted(os.listdir(tmp_path)) == ["lock", "s.sent"]


async def test_a_session_that_is_no_longer_looked_at_is_not_kept_in_memory(tmp_path: Path) -> None:
    server = Server([session()])
    export = export_of(server, tmp_path, InMemorySpanExporter())
    await export.look()
    server.runs.clear()
    await export.look()
    assert not export._reading  # pyright: ignore[reportPrivateUsage] (nothing else shows it)


async def test_what_a_session_starts_at_its_end_is_sent_too(tmp_path: Path) -> None:
    server, sent = Server([session(RUNNING, is_over=True)]), InMemorySpanExporter()
    export = export_of(server, tmp_path, sent)
    await export.look()  # it ended after the list of its workflows was made
    report = Run("session/s/report", COMPLETED, history("SessionReport", is_over=True))
    server.runs[:] = [session(COMPLETED, is_over=True), report]
    await export.look()
    assert "report" in names(sent)
