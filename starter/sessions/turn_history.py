"""What the agents of a session did, turn by turn, from the histories of their workflows.

A history holds each answer, each observation, their cost and their time, and can be read without a
worker. Payloads that were too large for it are read from the store that all workers share; on a
machine without that store, the turn is shown without them. Nothing is rendered here.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import BaseModel
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from workers.telemetry.history_events import decoded, summary_of, time_of
from workflows.contracts.host_contracts import RUN_TOOLS, ToolsOutcome
from workflows.contracts.model_contracts import CALL_MODEL, ModelAnswered, ModelOutcome
from workflows.domain.agent.agent_values import AgentOutcome, AgentRequest
from workflows.domain.agent.messages import ToolCall
from workflows.policy.money.amounts_in_words import counted, money

_WORKFLOW: Final = "AgentWorkflow"
_LOOK_SECONDS: Final = 0.5
_UNREADABLE: Final = "(kept in a store that is not here, or by another version)"
_ENDS: Final = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed out",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "terminated",
}


class ToolAnswer(BaseModel, frozen=True, extra="forbid"):
    """What one tool call answered, as the agent saw it."""

    name: str
    text: str
    is_error: bool


class Happening(BaseModel, frozen=True, extra="forbid"):
    """One event of an agent; one line of `log --json`."""

    schema_version: int = 1
    at: datetime
    session: str
    agent: str
    kind: Literal["started", "said", "ran", "told", "failed", "ended"]
    turn: int = 0
    """The turn that it belongs to, counted from 1; 0 before the first answer."""
    model: str = ""
    """For `said`: the model that answered, as `provider/model`."""
    text: str = ""
    """The message, or why it failed, or how it ended."""
    calls: tuple[ToolCall, ...] = ()
    """For `said`: the requested tool calls."""
    results: tuple[ToolAnswer, ...] = ()
    """For `ran`: one for each call."""
    cost_usd: Decimal | None = None
    is_estimated: bool = False
    """The provider counted no tokens, so the cost, or a part of it, is an estimate."""
    took: timedelta | None = None
    scripted: bool = False
    """A playbook answered, or it ended an agent that a playbook answers for."""
    sandbox: str = ""
    """What confines the session's commands, `none` if nothing does; empty: unknown."""


def task_of(agent: str) -> str:
    """Return the task that an agent works on; empty for the planner.

    Agents are `plan.<n>`, `dev.<task>.<attempt>`, `review.<task>.<attempt>.<n>`.
    """
    kind, _, rest = agent.partition(".")
    return rest.split(".")[0] if kind in {"dev", "review"} else ""


class Turns:
    """The agents of one session, of one of its tasks, or one agent."""

    def __init__(self, client: Client, session: str, wanted: str | None = None) -> None:
        """Args: `wanted`: a task's id or an agent's name; None: every agent."""
        self._client = client
        self._session = session
        self._wanted = wanted

    async def past(self) -> list[Happening]:
        """Return all that has happened so far, the oldest first."""
        found: list[Happening] = []
        for run in await self._runs():
            found += [each async for each in self._of_run(run, follow=False)]
        return sorted(found, key=lambda each: each.at)

    async def follow(self, is_over: Callable[[], Awaitable[bool]]) -> AsyncGenerator[Happening]:
        """Yield past events and new ones, until the session is over.

        Args:
            is_over: called repeatedly to ask whether the session has ended.
        """
        queue: asyncio.Queue[Happening] = asyncio.Queue()
        pumps: dict[str, asyncio.Task[None]] = {}
        try:
            over = False
            while not over:
                over = await is_over()
                await self._attend(pumps, queue)
                if over:
                    await asyncio.gather(*pumps.values())
                else:
                    await asyncio.sleep(_LOOK_SECONDS)
                while not queue.empty():
                    yield queue.get_nowait()
        finally:
            for pump in pumps.values():
                pump.cancel()
            await asyncio.gather(*pumps.values(), return_exceptions=True)

    async def _attend(
        self, pumps: dict[str, asyncio.Task[None]], queue: "asyncio.Queue[Happening]"
    ) -> None:
        """Follow every new run, and raise the error of any other."""
        for run in await self._runs():
            if run.run_id not in pumps:
                pumps[run.run_id] = asyncio.create_task(self._pump(run, queue))
        for pump in pumps.values():
            if pump.done():
                pump.result()

    async def _pump(self, run: WorkflowExecution, queue: "asyncio.Queue[Happening]") -> None:
        async for each in self._of_run(run, follow=True):
            queue.put_nowait(each)

    async def _runs(self) -> list[WorkflowExecution]:
        query = (
            f'WorkflowType = "{_WORKFLOW}" AND WorkflowId STARTS_WITH "session/{self._session}/"'
        )
        runs = [
            run
            async for run in self._client.list_workflows(query)
            if self._wanted in {None, _agent(run.id), task_of(_agent(run.id))}
        ]
        return sorted(runs, key=lambda run: run.start_time)

    async def _of_run(self, run: WorkflowExecution, *, follow: bool) -> AsyncGenerator[Happening]:
        handle = self._client.get_workflow_handle(run.id, run_id=run.run_id)
        reader = _Reader(self._client, self._session, _agent(run.id))
        # A closed run has no new event to wait for.
        waits = follow and run.status is WorkflowExecutionStatus.RUNNING
        async for event in handle.fetch_history_events(wait_new_event=waits):
            if (happening := await reader.read(event)) is not None:
                yield happening


_Read = Callable[[HistoryEvent], Awaitable[Happening | None]]


class _Reader:
    """Reads one run's history, event by event."""

    def __init__(self, client: Client, session: str, agent: str) -> None:
        self._client = client
        self._common = {"session": session, "agent": agent}
        self._scheduled: dict[int, str] = {}
        self._started: dict[int, datetime] = {}
        self._turn = 0
        self._model = ""

        self._readers: dict[EventType.ValueType, _Read] = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: self._began,
            EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: self._scheduling,
            EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED: self._starting,
            EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: self._completed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: self._failed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: self._timed_out,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED: self._signalled,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: self._ended,
            **dict.fromkeys(_ENDS, self._lost),
        }

    async def read(self, event: HistoryEvent) -> Happening | None:
        """Return the happening of an event; None if it is of no interest to a person."""
        reader = self._readers.get(event.event_type)
        return None if reader is None else await reader(event)

    def _happening(self, event: HistoryEvent, kind: str, **facts: object) -> Happening:
        values = {"at": time_of(event), "kind": kind, "turn": self._turn, **self._common, **facts}
        return Happening.model_validate(values)

    async def _began(self, event: HistoryEvent) -> Happening | None:
        given = event.workflow_execution_started_event_attributes.input
        request = await self._decoded(given, AgentRequest)
        if not isinstance(request, AgentRequest):
            return self._happening(event, "started", text=_UNREADABLE)
        first = request.route[request.carried.model_index if request.carried else 0]
        if request.carried is not None:
            self._turn = request.carried.turn
            return None
        limits = request.limits
        text = f"{request.role}, at most {counted(limits.turns, 'turn')} and {money(limits.usd)}"
        return self._happening(event, "started", text=text, model=f"{first.provider}/{first.model}")

    async def _starting(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_started_event_attributes.scheduled_event_id
        self._started[scheduled] = time_of(event)

    async def _scheduling(self, event: HistoryEvent) -> None:
        attributes = event.activity_task_scheduled_event_attributes
        self._scheduled[event.event_id] = attributes.activity_type.name
        if attributes.activity_type.name == CALL_MODEL.name:
            # The summary names the model; the request holds a whole prompt, which is not needed.
            self._model = (await summary_of(self._client, event)).rpartition("ask ")[2]

    async def _completed(self, event: HistoryEvent) -> Happening | None:
        attributes = event.activity_task_completed_event_attributes
        name = self._scheduled.get(attributes.scheduled_event_id)
        took = self._took(event, attributes.scheduled_event_id)
        if name == CALL_MODEL.name:
            answer = await self._decoded(attributes.result, ModelOutcome)
            return self._said(event, answer, took)
        if name == RUN_TOOLS.name:
            outcome = await self._decoded(attributes.result, ToolsOutcome)
            if not isinstance(outcome, ToolsOutcome):
                return self._happening(event, "ran", text=_UNREADABLE, took=took)
            results = tuple(
                ToolAnswer(name=each.name, text=each.text, is_error=each.is_error)
                for each in outcome.observations
            )
            return self._happening(event, "ran", results=results, took=took)
        return None

    def _said(self, event: HistoryEvent, answer: object, took: timedelta) -> Happening | None:
        if answer is None:
            self._turn += 1
            return self._happening(event, "said", text=_UNREADABLE, model=self._model, took=took)
        if not isinstance(answer, ModelAnswered):
            return None  # the store lost the conversation, so it is sent again
        self._turn += 1
        facts = answer.model_dump(include={"text", "cost_usd", "scripted"})
        return self._happening(
            event,
            "said",
            **facts,
            is_estimated=answer.usage.is_estimated,
            calls=answer.tool_calls,
            model=self._model,
            took=answer.latency,
        )

    async def _failed(self, event: HistoryEvent) -> Happening:
        failed = event.activity_task_failed_event_attributes
        return self._failure(event, failed.scheduled_event_id, failed.failure.message)

    async def _timed_out(self, event: HistoryEvent) -> Happening:
        late = event.activity_task_timed_out_event_attributes
        return self._failure(event, late.scheduled_event_id, "timed out")

    def _failure(self, event: HistoryEvent, scheduled: int, message: str) -> Happening:
        name = self._scheduled.get(scheduled, "an activity")
        took = self._took(event, scheduled)
        return self._happening(event, "failed", text=f"{name}: {message}", took=took)

    async def _signalled(self, event: HistoryEvent) -> Happening | None:
        attributes = event.workflow_execution_signaled_event_attributes
        if attributes.signal_name not in {"steer", "pause", "resume", "stop"}:
            return None
        words = await self._decoded(attributes.input, str) if attributes.input.payloads else ""
        text = f"{attributes.signal_name}: {words or ''}".rstrip(": ")
        return self._happening(event, "told", text=text)

    async def _ended(self, event: HistoryEvent) -> Happening:
        given = event.workflow_execution_completed_event_attributes.result
        outcome = await self._decoded(given, AgentOutcome)
        if not isinstance(outcome, AgentOutcome):
            return self._happening(event, "ended", text=_UNREADABLE)
        text = f"{outcome.end}: {outcome.detail}".rstrip(": ")
        facts = outcome.bill.model_dump(include={"scripted", "is_estimated"})
        return self._happening(event, "ended", text=text, cost_usd=outcome.bill.usd, **facts)

    async def _lost(self, event: HistoryEvent) -> Happening:
        return self._happening(event, "ended", text=_ENDS[event.event_type])

    def _took(self, event: HistoryEvent, scheduled: int) -> timedelta:
        return time_of(event) - self._started.get(scheduled, time_of(event))

    async def _decoded(self, given: Payloads, kind: Any) -> object:
        return await decoded(self._client, given, kind)


def _agent(workflow: str) -> str:
    return workflow.rpartition("/")[2]
