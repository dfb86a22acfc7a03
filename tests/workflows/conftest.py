"""A time-skipping server and workers with fake activities, for tests of workflows."""

import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.fakes.world import World
from workers import wiring
from workers.roles import Role
from workers.serving import workflow_runner
from workflows import queues
from workflows.domain.config import Approvals, Routes, SessionConfig
from workflows.domain.ids import SessionId
from workflows.domain.session import SessionRequest, SessionView

ROUTES = Routes(
    planner=("scripted/alpha",), developer=("scripted/alpha",), reviewer=("scripted/beta",)
)


@pytest.fixture
async def server() -> AsyncIterator[WorkflowEnvironment]:
    """A time-skipping server of its own for each test."""
    program = Path(sys.executable).with_name("temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=str(program), data_converter=pydantic_data_converter
    ) as environment:
        yield environment


@asynccontextmanager
async def serving(client: Client, world: World) -> AsyncIterator[None]:
    """Serve all queues with our workflows and a world's fakes."""
    activities = world.activities()
    async with AsyncExitStack() as stack:
        for queue in (queues.MODELS, queues.HOST, "host/h", queues.LAND):
            await stack.enter_async_context(Worker(client, task_queue=queue, activities=activities))
        await stack.enter_async_context(
            Worker(
                client,
                task_queue=queues.WORKFLOWS,
                workflows=wiring.workflows_for(Role.WORKFLOWS),
                workflow_runner=workflow_runner(),
            )
        )
        yield


def request(**changes: Any) -> SessionRequest:
    """Return a session's request; both approvals are automatic unless it says otherwise."""
    config = SessionConfig(
        routes=ROUTES, approvals=Approvals(plan="auto", changeset="auto_if_green")
    )
    config = config.model_copy(update=changes)
    return SessionRequest(
        session=SessionId(uuid.uuid4().hex[:10]), goal="a goal", repository="/r", config=config
    )


async def start(client: Client, wanted: SessionRequest) -> WorkflowHandle[Any, Any]:
    """Start a session."""
    return await client.start_workflow(
        "SessionWorkflow",
        wanted,
        id=f"session/{wanted.session}",
        task_queue=queues.WORKFLOWS,
    )


async def view(handle: WorkflowHandle[Any, Any]) -> SessionView:
    """Ask a session for its picture."""
    return SessionView.model_validate(await handle.query("state", result_type=SessionView))
