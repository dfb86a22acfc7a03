"""One time-skipping server and one set of workers for all tests of workflows in a process.

Starting them for each test would take as long as the tests. Sessions do not see each other: their
activities are played by the world that the test gave to that session.
"""

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import RawValue
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.fakes.listener import Listener
from tests.fakes.world import World
from workers import wiring
from workers.roles import Role
from workers.serving import workflow_runner
from workflows import contracts, queues
from workflows.domain.config import Approvals, Routes, SessionConfig
from workflows.domain.ids import SessionId
from workflows.domain.plan import Plan
from workflows.domain.session import SessionRequest, SessionResult, SessionView
from workflows.domain.task import TaskRecord

ROUTES = Routes(
    planner=("scripted/alpha",), developer=("scripted/alpha",), reviewer=("scripted/beta",)
)
ASK = Approvals()
_BY_NAME = {contract.name: contract for contract in contracts.ALL}
_PATIENCE_SECONDS = 20
_BEAT_SECONDS = 0.05
"""Heartbeats bring cancellations; a test should not wait for them."""


class Theatre:
    """The server's client, and the world of each session that is played."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.worlds: dict[str, World] = {}

    @activity.defn(dynamic=True)
    async def act(self, inputs: Sequence[RawValue]) -> Any:
        """Let the session's world play any activity."""
        info = activity.info()
        session = (info.workflow_id or "").split("/")[1]
        contract = _BY_NAME[info.activity_type]
        given = activity.payload_converter().from_payload(inputs[0].payload, contract.request)
        beating = asyncio.create_task(_beat())
        try:
            return await self.worlds[session].activities()[contract.name](given)
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating

    @asynccontextmanager
    async def session(
        self, world: World, plan: Plan | None = None, **config: Any
    ) -> AsyncIterator["Playing"]:
        """Start a session in a world; at the end stop it, if it has not ended."""
        wanted = request(**config).model_copy(update={"plan": plan})
        self.worlds[wanted.session] = world
        handle = await self.client.start_workflow(
            "SessionWorkflow",
            wanted,
            id=f"session/{wanted.session}",
            task_queue=queues.WORKFLOWS,
            result_type=SessionResult,
        )
        try:
            yield Playing(handle, world)
        finally:
            if (await handle.describe()).status is WorkflowExecutionStatus.RUNNING:
                await handle.signal("stop")
                await handle.result()
            del self.worlds[wanted.session]


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
        view = await self.view()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while not holds(view):
                    await asyncio.sleep(0.01)
                    view = await self.view()
        except TimeoutError:
            pytest.fail(f"never came: {view.model_dump_json(indent=1)}")
        return view

    async def state_of(self, task: str) -> str:
        """Name a task's state."""
        return next(each.state for each in (await self.view()).tasks if each.id == task)

    async def result(self) -> SessionResult:
        """Wait for the end; time is skipped meanwhile."""
        return await self.handle.result()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def theatre() -> AsyncIterator[Theatre]:
    """The server with workers on all queues."""
    program = Path(sys.executable).with_name("temporal-test-server")
    async with AsyncExitStack() as stack:
        environment = await stack.enter_async_context(
            await WorkflowEnvironment.start_time_skipping(
                test_server_existing_path=str(program), data_converter=pydantic_data_converter
            )
        )
        theatre = Theatre(environment.client)
        for queue in (queues.MODELS, queues.HOST, "host/h", queues.LAND):
            await stack.enter_async_context(
                Worker(
                    theatre.client,
                    task_queue=queue,
                    activities=[theatre.act],
                    max_heartbeat_throttle_interval=timedelta(seconds=_BEAT_SECONDS),
                )
            )
        await stack.enter_async_context(
            Worker(
                theatre.client,
                task_queue=queues.WORKFLOWS,
                workflows=[*wiring.workflows_for(Role.WORKFLOWS), Listener],
                workflow_runner=workflow_runner(),
            )
        )
        yield theatre


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(_BEAT_SECONDS)


def request(**changes: Any) -> SessionRequest:
    """Return a session's request; both approvals are automatic unless it says otherwise."""
    config = SessionConfig(
        routes=ROUTES, approvals=Approvals(plan="auto", changeset="auto_if_green")
    )
    return SessionRequest(
        session=SessionId(uuid.uuid4().hex[:10]),
        goal="a goal",
        repository="/r",
        config=config.model_copy(update=changes),
    )


async def played(theatre: Theatre, world: World, **config: Any) -> SessionResult:
    """Run a session to its end."""
    async with theatre.session(world, **config) as session:
        return await session.result()


def states(result: SessionResult) -> dict[str, tuple[str, int]]:
    """Return each task's state and its number of attempts."""
    return {task.id: (task.state, task.attempt) for task in result.tasks}
