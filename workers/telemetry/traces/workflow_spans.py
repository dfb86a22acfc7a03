"""The spans of one workflow id, from the events of all its runs as they come.

| span            | from                                       | below                             |
|-----------------|--------------------------------------------|-----------------------------------|
| workflow        | all runs of the id, as one                 | the workflow that started it      |
| run             | each run, if it continued as new           | its workflow; linked to the last  |
| turn            | an agent's model call, up to the next one  | the agent's workflow              |
| activity        | its scheduling, up to its end              | its turn, otherwise its workflow  |
| call, gate, setup | the outcome of an activity (`inner_spans`) | the activity                    |
| wait            | what a session waited for (`person_waits`) | the session                       |
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from pydantic import BaseModel
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from workers.telemetry.history_events import decoded, summary_of, time_of
from workers.telemetry.traces.inner_spans import READ, inner_spans
from workers.telemetry.traces.session_waits import SessionWaits
from workers.telemetry.traces.span_values import Attribute, Outcome, Span
from workers.telemetry.traces.trace_ids import digest, span_of
from workflows.contracts.model_contracts import CALL_MODEL
from workflows.domain.agent.model_values import Usage

_AGENT: Final = "AgentWorkflow"
_SESSION: Final = "SessionWorkflow"
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


class _Answer(BaseModel, frozen=True, extra="ignore"):
    """What is read of a model call's outcome; its text and its calls are not."""

    kind: str
    usage: Usage | None = None
    stop: str = ""
    cost_usd: Decimal = Decimal(0)
    latency: timedelta = timedelta()
    scripted: bool = False


class _Turn(NamedTuple):
    id: str
    number: int
    began: datetime


class WorkflowSpans:
    """Takes the events of all runs of one workflow id, in order."""

    def __init__(self, client: Client, workflow: str) -> None:
        """Args: who decodes payloads; the workflow's id."""
        self._client = client
        self._workflow = workflow
        self._id = span_of(workflow)
        self._span: Span | None = None
        self._runs: list[datetime] = []
        self._found: dict[str, Span] = {}
        self._turns: list[_Turn] = []
        self._waits: SessionWaits | None = None
        self._open: dict[int, str] = {}
        """Spans of scheduled activities, by the event that scheduled each."""
        self._taken: dict[str, datetime] = {}
        """When a worker took each open activity."""
        self._has_turns = False
        self._readers: dict[EventType.ValueType, Callable[[HistoryEvent], Awaitable[None]]] = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: self._began,
            EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: self._scheduled,
            EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED: self._started,
            EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: self._completed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: self._failed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: self._timed_out,
            EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: self._cancelled,
            **dict.fromkeys(_ENDS, self._ended),
        }

    async def take(self, event: HistoryEvent) -> None:
        """Take up the next event."""
        if (reader := self._readers.get(event.event_type)) is not None:
            await reader(event)
        if self._waits is not None:
            await self._waits.take(event)

    def spans(self) -> Iterator[Span]:
        """Yield all spans so far, the workflow's own first."""
        if self._span is None:
            return
        yield self._span
        yield from self._run_spans(self._span)
        yield from self._turn_spans(self._span)
        yield from self._found.values()
        if self._waits is not None:
            yield from self._waits.spans(self._span.ended)

    def _run_spans(self, whole: Span) -> Iterator[Span]:
        ends = [*self._runs[1:], whole.ended]
        before: str | None = None
        for number, (began, ended) in enumerate(zip(self._runs, ends, strict=True), 1):
            if len(self._runs) == 1:
                return
            run = digest("run", self._workflow, number)[:16]
            yield Span(
                id=run,
                parent=self._id,
                kind="run",
                name=f"run {number}",
                began=began,
                ended=ended,
                outcome=whole.outcome if number == len(self._runs) else "completed",
                follows=before,
            )
            before = run

    def _turn_spans(self, agent: Span) -> Iterator[Span]:
        """Yield the turns; each ends with the last that began in it."""
        ends: dict[str, datetime] = {}
        for each in self._found.values():
            if each.parent is not None and each.ended is not None:
                ends[each.parent] = max(each.ended, ends.get(each.parent, each.ended))
        for number, turn in enumerate(self._turns, 1):
            is_last = number == len(self._turns)
            is_open = is_last and agent.ended is None
            until = turn.began if is_last else self._turns[number].began
            yield Span(
                id=turn.id,
                parent=self._id,
                kind="turn",
                name=f"turn {turn.number}",
                began=turn.began,
                ended=None if is_open else ends.get(turn.id, until),
                outcome="running" if is_open else "completed",
            )

    async def _began(self, event: HistoryEvent) -> None:
        self._open.clear()
        self._runs.append(time_of(event))
        if self._span is not None:
            self._span = self._span.evolve(ended=None, outcome="running")
            return  # the next run of the same work
        given = event.workflow_execution_started_event_attributes
        parent, kind = given.parent_workflow_execution.workflow_id, given.workflow_type.name
        self._has_turns = kind == _AGENT
        if kind == _SESSION:
            self._waits = SessionWaits(self._client, self._id)
        self._span = Span(
            id=self._id,
            parent=span_of(parent) if parent else None,
            kind="workflow",
            name=_name(self._workflow),
            began=time_of(event),
            attributes={
                "temporal.workflow.id": self._workflow,
                "temporal.workflow.type": kind,
            },
        )

    async def _ended(self, event: HistoryEvent) -> None:
        outcome = _ENDS[event.event_type]
        if self._span is not None:
            self._span = _over(self._span, event, outcome)
        for span in self._open.values():
            lost = "cancelled" if outcome == "completed" else outcome
            self._found[span] = _over(self._found[span], event, lost)
        self._open.clear()

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
            parent=self._turns[-1].id if self._turns else self._id,
            kind="activity",
            name=name,
            summary=summary,
            began=time_of(event),
            attributes=facts,
        )

    def _begin_turn(self, call: str, number: int, began: datetime) -> None:
        if self._turns and self._turns[-1].number == number:
            return  # the same call again, with the whole conversation
        self._turns.append(_Turn(digest("turn", call)[:16], number, began))

    async def _started(self, event: HistoryEvent) -> None:
        given = event.activity_task_started_event_attributes
        if (span := self._open.get(given.scheduled_event_id)) is None:
            return
        self._taken[span] = time_of(event)
        old = self._found[span]
        waited = (time_of(event) - old.began).total_seconds()
        facts = {**old.attributes, "blueflame.waited_s": round(waited, 3)}
        self._found[span] = old.evolve(attempts=given.attempt, attributes=facts)

    async def _completed(self, event: HistoryEvent) -> None:
        given = event.activity_task_completed_event_attributes
        if (span := self._open.pop(given.scheduled_event_id, None)) is None:
            return
        done = _over(self._found[span], event, "completed")
        started = self._taken.pop(span, done.began)
        self._found[span] = done
        if done.name == CALL_MODEL.name:
            answer = await self._decoded(given.result, _Answer)
            self._found[span] = _answered(done, answer) if isinstance(answer, _Answer) else done
        elif (kind := READ.get(done.name)) is not None:
            outcome = await self._decoded(given.result, kind)
            self._found |= {each.id: each for each in inner_spans(done, started, outcome)}

    async def _decoded(self, given: Payloads, kind: type[BaseModel]) -> object:
        return await decoded(self._client, given, kind)

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
        self._taken.pop(span, None)
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


def _answered(span: Span, answer: _Answer) -> Span:
    if (usage := answer.usage) is None:
        return span  # the store had lost the conversation: nothing was sent
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
