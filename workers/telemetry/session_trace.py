"""One session as a trace: a span for each workflow, turn and activity, read from the histories.

The histories hold every activity exactly once, whatever was killed in between, so nothing has to be
recorded while a session runs. Ids follow from the events: reading again gives the same spans.

| span     | from                                       | below                             |
|----------|--------------------------------------------|-----------------------------------|
| workflow | all runs of one workflow id, as one        | the workflow that started it      |
| turn     | an agent's model call, up to the next one  | the agent's workflow              |
| activity | its scheduling, up to its end              | its turn, otherwise its workflow  |
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, Self, TypedDict, Unpack

from pydantic import BaseModel
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecution

from workers.telemetry.history_events import decoded, summary_of, time_of
from workers.telemetry.trace_ids import digest, span_of, trace_of
from workflows.contracts.model_contracts import CALL_MODEL, ModelAnswered, ModelOutcome
from workflows.domain.evolution import evolve

Attribute = str | int | float | bool | tuple[str, ...]
Outcome = Literal["running", "completed", "failed", "timed out", "cancelled", "terminated"]

_AGENT: Final = "AgentWorkflow"
_MESSAGE: Final = 500
_ASKED: Final = re.compile(r"turn (?P<turn>\d+): ask (?P<provider>[^/]+)/(?P<model>.+)")
"""The summary of a model call; its request holds a whole prompt."""
_ENDS: Final[dict[EventType.ValueType, Outcome]] = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed out",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "terminated",
}


_NOTHING: Final[Mapping[str, Attribute]] = MappingProxyType({})


class _SpanChanges(TypedDict, total=False):
    ended: datetime
    outcome: Outcome
    attempts: int
    cost_usd: Decimal
    attributes: dict[str, Attribute]


class Span(BaseModel, frozen=True, extra="forbid"):
    """One piece of work and its time."""

    id: str
    """16 hexadecimal digits, unique in the trace."""
    parent: str | None
    """The span around it; None: the session itself."""
    kind: Literal["workflow", "turn", "activity"]
    name: str
    """`session`, `ledger`, an agent's name, `develop 1` (a wave and its cycle), `turn 3`, or an
    activity's type."""
    summary: str = ""
    """In words, as the Web UI shows it."""
    began: datetime
    ended: datetime | None = None
    """None: it has not ended."""
    outcome: Outcome = "running"
    attempts: int = 1
    cost_usd: Decimal | None = None
    """What model calls in it cost; None: there was none."""
    attributes: dict[str, Attribute] = {}
    """Facts by the names of OpenTelemetry's semantic conventions, where there is one."""

    def evolve(self, **changes: Unpack[_SpanChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class Trace(BaseModel, frozen=True, extra="forbid"):
    """All spans of a session."""

    trace_id: str
    """32 hexadecimal digits, which follow from the session's id."""
    session: str
    spans: tuple[Span, ...]
    """The session's first; otherwise in the order in which they began."""


async def read_trace(client: Client, session: str) -> Trace:
    """Read the histories of a session and of everything that it started."""
    root = f"session/{session}"
    query = f'WorkflowId = "{root}" OR WorkflowId STARTS_WITH "{root}/"'
    runs = [each async for each in client.list_workflows(query)]
    spans: list[Span] = []
    for name in sorted({each.id for each in runs}):
        reader = _WorkflowReader(client, name)
        own = (each for each in runs if each.id == name)
        spans += await reader.spans(sorted(own, key=lambda each: each.start_time))
    ordered = sorted(spans, key=lambda each: (each.parent is not None, each.began, each.id))
    return Trace(trace_id=trace_of(session), session=session, spans=tuple(_summed(ordered)))


class _Turn(NamedTuple):
    id: str
    number: int
    began: datetime


class _WorkflowReader:
    """Reads all runs of one workflow id."""

    def __init__(self, client: Client, workflow: str) -> None:
        self._client = client
        self._workflow = workflow
        self._id = span_of(workflow)
        self._span: Span | None = None
        self._found: dict[str, Span] = {}
        self._open: dict[int, str] = {}
        """Spans of scheduled activities, by the event that scheduled each."""
        self._turn: _Turn | None = None
        self._has_turns = False
        scheduled, started = (
            EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
            EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
        )
        self._readers: dict[EventType.ValueType, Callable[[HistoryEvent], Awaitable[None]]] = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: self._began,
            scheduled: self._scheduled,
            started: self._started,
            EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: self._completed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: self._failed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: self._timed_out,
            EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: self._cancelled,
            **dict.fromkeys(_ENDS, self._ended),
        }

    async def spans(self, runs: Iterable[WorkflowExecution]) -> list[Span]:
        """Return the spans of the runs, the workflow's own first."""
        for run in runs:
            handle = self._client.get_workflow_handle(run.id, run_id=run.run_id)
            self._open.clear()
            async for event in handle.fetch_history_events():
                if (reader := self._readers.get(event.event_type)) is not None:
                    await reader(event)
        self._close_turn(None)
        return [] if self._span is None else [self._span, *self._found.values()]

    async def _began(self, event: HistoryEvent) -> None:
        if self._span is not None:
            return  # the next run of the same work
        given = event.workflow_execution_started_event_attributes
        parent = given.parent_workflow_execution.workflow_id
        self._has_turns = given.workflow_type.name == _AGENT
        self._span = Span(
            id=self._id,
            parent=span_of(parent) if parent else None,
            kind="workflow",
            name=_name(self._workflow),
            began=time_of(event),
            attributes={
                "temporal.workflow.id": self._workflow,
                "temporal.workflow.type": given.workflow_type.name,
            },
        )

    async def _ended(self, event: HistoryEvent) -> None:
        outcome = _ENDS[event.event_type]
        if self._span is not None:
            self._span = _over(self._span, event, outcome)
        for span in self._open.values():
            lost = "cancelled" if outcome == "completed" else outcome
            self._found[span] = _over(self._found[span], event, lost)

    async def _scheduled(self, event: HistoryEvent) -> None:
        given = event.activity_task_scheduled_event_attributes
        name = given.activity_type.name
        span = digest(self._workflow, event.event_id, event.event_time.ToNanoseconds())[:16]
        summary = await summary_of(self._client, event)
        facts: dict[str, Attribute] = {"temporal.task_queue": given.task_queue.name}
        if self._has_turns and name == CALL_MODEL.name and (asked := _ASKED.fullmatch(summary)):
            self._begin_turn(span, int(asked["turn"]), time_of(event))
            facts |= {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": asked["provider"],
                "gen_ai.request.model": asked["model"],
            }
        self._open[event.event_id] = span
        self._found[span] = Span(
            id=span,
            parent=self._id if self._turn is None else self._turn.id,
            kind="activity",
            name=name,
            summary=summary,
            began=time_of(event),
            attributes=facts,
        )

    def _begin_turn(self, call: str, number: int, began: datetime) -> None:
        if self._turn is not None and self._turn.number == number:
            return  # the same call again, with the whole conversation
        self._close_turn(began)
        self._turn = _Turn(digest("turn", call)[:16], number, began)

    def _close_turn(self, until: datetime | None) -> None:
        """Add the turn's span; it ends with the last that began in it.

        Args:
            until: when the next turn began; None: this is the last, open while its agent runs.
        """
        if self._turn is None:
            return
        parts = [each for each in self._found.values() if each.parent == self._turn.id]
        ends = [each.ended for each in parts if each.ended is not None]
        is_open = until is None and (self._span is None or self._span.ended is None)
        self._found[self._turn.id] = Span(
            id=self._turn.id,
            parent=self._id,
            kind="turn",
            name=f"turn {self._turn.number}",
            began=self._turn.began,
            ended=None if is_open else max(ends, default=until),
            outcome="running" if is_open else "completed",
        )

    async def _started(self, event: HistoryEvent) -> None:
        given = event.activity_task_started_event_attributes
        if (span := self._open.get(given.scheduled_event_id)) is None:
            return
        old = self._found[span]
        waited = (time_of(event) - old.began).total_seconds()
        facts = {**old.attributes, "blueflame.waited_s": round(waited, 3)}
        self._found[span] = old.evolve(attempts=given.attempt, attributes=facts)

    async def _completed(self, event: HistoryEvent) -> None:
        given = event.activity_task_completed_event_attributes
        if (span := self._open.pop(given.scheduled_event_id, None)) is None:
            return
        done = _over(self._found[span], event, "completed")
        if done.name == CALL_MODEL.name:
            answer = await decoded(self._client, given.result, ModelOutcome)
            done = _answered(done, answer) if isinstance(answer, ModelAnswered) else done
        self._found[span] = done

    async def _failed(self, event: HistoryEvent) -> None:
        given = event.activity_task_failed_event_attributes
        self._broken(event, given.scheduled_event_id, "failed", given.failure)

    async def _timed_out(self, event: HistoryEvent) -> None:
        given = event.activity_task_timed_out_event_attributes
        self._broken(event, given.scheduled_event_id, "timed out", given.failure)

    async def _cancelled(self, event: HistoryEvent) -> None:
        given = event.activity_task_canceled_event_attributes
        self._broken(event, given.scheduled_event_id, "cancelled", Failure())

    def _broken(
        self, event: HistoryEvent, scheduled: int, outcome: Outcome, failure: Failure
    ) -> None:
        if (span := self._open.pop(scheduled, None)) is None:
            return
        facts: dict[str, Attribute] = {}
        if failure.message:
            facts["error.message"] = failure.message[:_MESSAGE]
        if failure.application_failure_info.type:
            facts["error.type"] = failure.application_failure_info.type
        self._found[span] = _over(self._found[span], event, outcome, facts)


def _over(
    span: Span, event: HistoryEvent, outcome: Outcome, facts: Mapping[str, Attribute] = _NOTHING
) -> Span:
    return span.evolve(
        ended=time_of(event), outcome=outcome, attributes={**span.attributes, **facts}
    )


def _answered(span: Span, answer: ModelAnswered) -> Span:
    usage = answer.usage
    facts: dict[str, Attribute] = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.response.finish_reasons": (answer.stop,),
        "blueflame.cost_is_estimated": usage.is_estimated,
        "blueflame.latency_s": round(answer.latency.total_seconds(), 3),
        "blueflame.scripted": answer.scripted,
    }
    return span.evolve(cost_usd=answer.cost_usd, attributes={**span.attributes, **facts})


def _summed(spans: Sequence[Span]) -> list[Span]:
    """Give each span the cost of all model calls in it."""
    around = {each.id: each.parent for each in spans}
    sums: dict[str, Decimal] = {}
    for each in spans:
        if each.cost_usd is None:
            continue
        place: str | None = each.id
        while place is not None:
            sums[place] = sums.get(place, Decimal(0)) + each.cost_usd
            place = around.get(place)
    return [each.evolve(cost_usd=sums[each.id]) if each.id in sums else each for each in spans]


def _name(workflow: str) -> str:
    """Return a workflow's name by its id.

    `session/S`, `session/S/plan/1`, `session/S/2/develop`, `session/S/2/develop/dev.a.1`.
    """
    _, _, *parts = workflow.split("/")
    match parts:
        case []:
            return "session"
        case [cycle, wave] if cycle.isdigit():
            return f"{wave} {cycle}"
        case [wave, number] if number.isdigit():
            return f"{wave} {number}"
        case _:
            return parts[-1]
