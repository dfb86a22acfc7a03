"""How waves speak to their children, where only the server can tell."""

import uuid

from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.theatre import Theatre
from workflows.children import tell


@workflow.defn
class Brief:
    @workflow.run
    async def run(self) -> None: ...

    @workflow.signal
    def steer(self, text: str) -> None: ...


@workflow.defn
class Teller:
    @workflow.run
    async def run(self) -> str:
        child = await workflow.start_child_workflow(Brief.run)
        await child
        await tell(child, "steer", "too late")
        return "goes on"


async def test_a_word_to_a_child_that_has_just_ended_is_no_fault(theatre: Theatre):
    queue = uuid.uuid4().hex
    async with Worker(
        theatre.client,
        task_queue=queue,
        workflows=[Teller, Brief],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        said = await theatre.client.execute_workflow(Teller.run, id=queue, task_queue=queue)
    assert said == "goes on"
