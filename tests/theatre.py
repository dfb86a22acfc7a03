"""One server and one set of workers for all tests of workflows in a process.

Starting them for each test would take as long as the tests. Sessions do not see each other: their
activities are played by the world that the test gave to that session.
"""

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle
from temporalio.common import RawValue
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.all_contracts import CONTRACTS
from tests.fakes.listener import Listener
from tests.fakes.world import World, model, name_of
from tests.servers import running_server
from tests.waiting import PATIENCE, ends, until
from workers import wiring
from workers.roles import Role as WorkerRole
from workers.settings import Settings
from workers.temporal.connection import connect
from workers.worker_serving import patient
from workflows import queues
from workflows.contracts.land_contracts import WRITE_REPORT, ReportWritten
from workflows.domain.agent.agent_values import AgentLimits, AgentOutcome, AgentRequest, WorktreeRef
from workflows.domain.agent.model_values import Role
from workflows.domain.budget import Caps, LedgerRequest
from workflows.domain.ids import AgentId, SessionId
from workflows.domain.plan import Plan
from workflows.domain.session.query_answers import SessionResult, SessionView
from workflows.domain.session.session_config import Approvals, Routes, SessionConfig
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.task import TaskRecord

ROUTES = Routes(
    planner=("scripted/alpha",), developer=("scripted/alpha",), reviewer=("scripted/beta",)
)
ASK = Approvals()
_BY_NAME = {contract.name: contract for contract in CONTRACTS}
_BEAT_SECONDS = 0.05
"""Heartbeats bring cancellations; a test should not wait for them."""


class Theatre:
    """The server's client, and the world of each session that is played."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.worlds: dict[str, World] = {}
        self._lost: BaseException | None = None

    async def lose(self, why: BaseException) -> None:
        """Note that a worker has ended: no test can be played any more."""
        self._lost = why

    def check(self) -> None:
        """Fail where a worker has ended: without it this would wait for ever."""
        if self._lost is not None:
            pytest.fail(f"a worker of the theatre has ended: {self._lost.__cause__!r}")

    @activity.defn(dynamic=True)
    async def act(self, inputs: Sequence[RawValue]) -> Any:
        """Let the session's world play any activity."""
        info = activity.info()
        # Temporal adds the time to the id of what a schedule starts.
        session = (info.workflow_id or "").split("/")[1].partition("-")[0]
        contract = _BY_NAME[info.activity_type]
        given = activity.payload_converter().from_payload(inputs[0].payload, contract.request)
        if contract is WRITE_REPORT and session not in self.worlds:
            return ReportWritten()  # the session outlived its test
        beating = asyncio.create_task(_beat())
        try:
            return await self.worlds[session].activities()[contract.name](given)
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating

    @asynccontextmanager
    async def session(
        self, world: World, queue: str = queues.WORKFLOWS, **config: Any
    ) -> AsyncGenerator["Playing"]:
        """Start a session in a world; at last end it."""
        self.check()
        wanted = request(**config)
        self.worlds[wanted.session] = world
        handle = await self.client.start_workflow(
            "SessionWorkflow",
            wanted,
            id=f"session/{wanted.session}",
            task_queue=queue,
            result_type=SessionResult,
        )
        try:
            yield Playing(handle, world)
        finally:
            await self._end(handle, "stop")
            del self.worlds[wanted.session]

    @asynccontextmanager
    async def ledger(
        self, caps: Caps, **facts: Any
    ) -> AsyncGenerator[tuple[str, WorkflowHandle[Any, Any], WorkflowHandle[Any, Any]]]:
        """Start a ledger alone: the session's id, the ledger, and who listens for the session."""
        self.check()
        session = uuid.uuid4().hex[:10]
        listener = await self.client.start_workflow(
            "Listener", id=f"session/{session}", task_queue=queues.WORKFLOWS
        )
        wanted = LedgerRequest(
            session_workflow=listener.id, caps=caps, auto_pause_percent=10, **facts
        )
        ledger = await self.client.start_workflow(
            "SessionLedger", wanted, id=f"{listener.id}/ledger", task_queue=queues.WORKFLOWS
        )
        try:
            yield session, ledger, listener
        finally:
            # One may have ended; where time is skipped, by the server's time-out for workflows.
            for each, word in ((ledger, "finish"), (listener, "leave")):
                with contextlib.suppress(RPCError):
                    await each.signal(word)

    @asynccontextmanager
    async def agent(
        self, world: World, caps: Caps | None = None, **facts: Any
    ) -> AsyncGenerator[WorkflowHandle[Any, AgentOutcome]]:
        """Start one agent with a ledger of its own and no session; at last end it.

        Args:
            world: plays its activities.
            caps: the ledger's.
            facts: of its request.
        """
        async with self.ledger(caps or Caps()) as (session, ledger, _):
            self.worlds[session] = world
            agent = await self.start_agent(session, ledger.id, world, **facts)
            try:
                yield agent
            finally:
                await self._end(agent, "stop", "the test is over")
                del self.worlds[session]

    async def start_agent(
        self, session: str, ledger: str, world: World, **facts: Any
    ) -> WorkflowHandle[Any, AgentOutcome]:
        """Start one agent on a ledger that is there."""
        return await self.client.start_workflow(
            "AgentWorkflow",
            agent_request(session, ledger, world, **facts),
            id=f"session/{session}/agent",
            task_queue=queues.WORKFLOWS,
            result_type=AgentOutcome,
        )

    async def _end(self, handle: WorkflowHandle[Any, Any], signal: str, *arguments: str) -> None:
        """End what still runs, in order."""
        try:
            await handle.signal(signal, args=arguments)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return  # it has ended by itself, perhaps a moment ago
            raise
        await ends(handle.result(), f"the end of {handle.id!r} after {signal!r}")


class Playing:
    """One session as a person sees it: signals in, queries out."""

    def __init__(self, handle: WorkflowHandle[Any, SessionResult], world: World) -> None:
        self.handle = handle
        self.world = world

    async def say(self, signal: str, payload: Any = None) -> None:
        """Send a signal."""
        await self.handle.signal(signal, payload)

    async def view(self) -> SessionView:
        """Ask for the whole picture."""
        return await self.handle.query("state", result_type=SessionView)

    async def task(self, task: str) -> TaskRecord:
        """Ask for one task."""
        return await self.handle.query("task", task, result_type=TaskRecord)

    async def until(self, holds: Callable[[SessionView], bool]) -> SessionView:
        """Wait until the picture is as wanted; fail with the picture where that never comes."""
        views: list[SessionView] = []

        async def is_there() -> bool:
            views[:] = [await self.view()]
            return holds(views[0])

        await until(is_there, "the picture", seen=lambda: views[0].model_dump_json(indent=1))
        return views[0]

    async def state_of(self, task: str) -> str:
        """Name a task's state."""
        return next(each.state for each in (await self.view()).tasks if each.id == task)

    async def result(self) -> SessionResult:
        """Wait for the end."""
        return await ends(self.handle.result(), f"the end of {self.handle.id!r}")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def theatre(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Theatre]:
    """The bundled server with our own data converter, and workers for all queues."""
    directory = tmp_path_factory.mktemp("theatre")
    with running_server(directory) as address:
        settings = Settings(data_dir=directory / "data", server=address.address)
        theatre = Theatre(await connect(settings, timedelta(seconds=PATIENCE)))
        async with serving(theatre):
            yield theatre


@asynccontextmanager
async def light_theatre() -> AsyncGenerator[Theatre]:
    """Start the light server: it skips time while a result is awaited, and stores payloads plainly.

    For nothing else: it loses cancellations, and then later tests wait for ever.
    """
    async with await _light_server() as environment:
        theatre = Theatre(environment.client)
        async with serving(theatre):
            yield theatre


async def _light_server(starts: int = 12) -> WorkflowEnvironment:
    """Start it until it comes up: the SDK waits five seconds, and a busy machine may be slower."""
    program = Path(sys.executable).with_name("temporal-test-server")
    try:
        return await WorkflowEnvironment.start_time_skipping(
            test_server_existing_path=str(program), data_converter=pydantic_data_converter
        )
    except RuntimeError:
        if starts == 1:
            raise
        return await _light_server(starts - 1)


@asynccontextmanager
async def serving(theatre: Theatre) -> AsyncGenerator[None]:
    """Serve all queues: workflows with our own code, everything else with the theatre's worlds."""
    async with AsyncExitStack() as stack:
        for queue in (queues.MODELS, queues.HOST, "host/h", queues.LAND):
            await stack.enter_async_context(
                Worker(
                    theatre.client,
                    task_queue=queue,
                    activities=[theatre.act],
                    on_fatal_error=theatre.lose,
                    max_heartbeat_throttle_interval=timedelta(seconds=_BEAT_SECONDS),
                )
            )
        await stack.enter_async_context(
            patient(
                Worker(
                    theatre.client,
                    task_queue=queues.WORKFLOWS,
                    workflows=[*wiring.workflows_for(WorkerRole.WORKFLOWS), Listener],
                    workflow_runner=UnsandboxedWorkflowRunner(),
                    on_fatal_error=theatre.lose,
                )
            )
        )
        yield


async def _beat() -> None:
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        activity.heartbeat()


def request(
    plan: Plan | None = None,
    plan_by: str = "",
    waves_per_run: int = 200,
    events_per_run: int = 12_000,
    **changes: Any,
) -> SessionRequest:
    """Return a session's request; both approvals are automatic unless it says otherwise."""
    config = SessionConfig(
        routes=ROUTES, approvals=Approvals(plan="auto", changeset="auto_if_green")
    )
    return SessionRequest(
        session=SessionId(uuid.uuid4().hex[:10]),
        goal="a goal",
        repository="/r",
        plan=plan,
        plan_by=plan_by,
        waves_per_run=waves_per_run,
        events_per_run=events_per_run,
        config=config.model_copy(update=changes),
    )


def agent_request(session: str, ledger: str, world: World, **facts: Any) -> AgentRequest:
    """Return a developer's request."""
    agent = AgentId("dev.a.1")
    common: dict[str, Any] = {
        "session": session,
        "agent": agent,
        "role": Role.DEVELOPER,
        "route": (model("scripted/alpha", world.usd),),
        "opening": "Role: developer\nTask: a\nAttempt: 1\n\nDo it.",
        "worktree": WorktreeRef(
            session=SessionId(session), agent=agent, repository="key", writable=True
        ),
        "checkpoint": name_of("base"),
        "host_queue": "host/h",
        "ledger": ledger,
        "limits": AgentLimits(turns=20, wall=timedelta(minutes=20), usd=Decimal(3)),
        "command_timeout": timedelta(minutes=5),
        "back_off": timedelta(milliseconds=1),
    }
    return AgentRequest.model_validate({**common, **facts})


async def played(theatre: Theatre, world: World, **config: Any) -> SessionResult:
    """Run a session to its end."""
    async with theatre.session(world, **config) as session:
        return await session.result()


async def result_of(agent: WorkflowHandle[Any, AgentOutcome]) -> AgentOutcome:
    """Wait for an agent's end."""
    return await ends(agent.result(), f"the end of {agent.id!r}")


def states(result: SessionResult) -> dict[str, tuple[str, int]]:
    """Return each task's state and its number of attempts."""
    return {task.id: (task.state, task.attempt) for task in result.tasks}


async def until_in_history(
    agent: WorkflowHandle[Any, Any], holds: Callable[[HistoryEvent], bool]
) -> None:
    """Wait until such an event is in a workflow's history."""
    kinds: list[str] = []

    async def is_there() -> bool:
        events = (await agent.fetch_history()).events
        kinds[:] = [EventType.Name(event.event_type) for event in events]
        return any(map(holds, events))

    await until(is_there, f"an event in the history of {agent.id!r}", seen=lambda: kinds)


async def has_heard(agent: WorkflowHandle[Any, Any], signal: str) -> None:
    """Wait until a signal is in the agent's history."""
    await until_in_history(
        agent,
        lambda event: event.workflow_execution_signaled_event_attributes.signal_name == signal,
    )


async def tools_are_done(agent: WorkflowHandle[Any, Any]) -> None:
    """Wait until the workflow has taken up the outcome of its first tools."""
    await until_in_history(
        agent,
        lambda event: (
            event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
            and b"observations" in event.SerializeToString()
        ),
    )
    await agent.query("state")


async def scheduled(agent: WorkflowHandle[Any, Any]) -> list[str]:
    """Name the activities that the workflow has asked for."""
    history = await agent.fetch_history()
    return [
        event.activity_task_scheduled_event_attributes.activity_type.name
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    ]
