"""A step of a workflow that takes long on the clock is no deadlock."""

import time
import uuid

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.theatre import Theatre
from tests.waiting import ends
from workers.worker_serving import patient

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONGER_THAN_THE_SDK_WAITS_S = 2.2


@workflow.defn
class Busy:
    @workflow.run
    async def run(self) -> str:
        time.sleep(LONGER_THAN_THE_SDK_WAITS_S)  # noqa: ASYNC251 -- as if another program ran
        return "done"


@pytest.mark.slow
async def test_a_slow_step_is_no_deadlock(theatre: Theatre):
    queue = uuid.uuid4().hex
    worker = Worker(
        theatre.client,
        task_queue=queue,
        workflows=[Busy],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with patient(worker):
        busy = await theatre.client.start_workflow(Busy.run, id=queue, task_queue=queue)
        assert await ends(busy.result(), "the end of the busy workflow") == "done"
    kinds = {event.event_type for event in (await busy.fetch_history()).events}
    assert EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED not in kinds
