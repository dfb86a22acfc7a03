"""How waves speak to their children, where only the server can tell."""

import uuid

import pytest
from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.theatre import Theatre
from workflows.agent_lifecycle import failure_text, tell
from workflows.errors import FailureType


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


def _failed(cause: BaseException) -> ActivityError:
    error = ActivityError(
        "Activity task failed",
        scheduled_event_id=5,
        started_event_id=6,
        identity="w",
        activity_type="hosts.claim",
        activity_id="1",
        retry_state=None,
    )
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            _failed(ApplicationError("no sandbox here", type=FailureType.SANDBOX_UNAVAILABLE)),
            "no sandbox here",
        ),
        (
            _failed(ApplicationError("No space left on device", type="OSError")),
            "No space left on device (in the activity 'hosts.claim')",
        ),
        (
            _failed(exceptions.TimeoutError("late", type=None, last_heartbeat_details=[])),
            "late (in the activity 'hosts.claim')",
        ),
        (ApplicationError("the plan is refused", type="PlanRefused"), "the plan is refused"),
    ],
)
def test_why_it_failed_is_said_in_the_words_that_were_meant_for_a_person(
    error: FailureError, text: str
) -> None:
    assert failure_text(error) == text
