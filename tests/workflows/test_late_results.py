"""A result that reaches a workflow in the same moment as its cancellation."""

import asyncio
import uuid
from datetime import timedelta

import pytest
from pydantic import BaseModel
from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.theatre import Theatre, until_in_history
from tests.waiting import ends
from workflows.cancellation import is_cancelled
from workflows.contracts.contract import Contract, retry

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Word(BaseModel):
    text: str


@workflow.defn
class Asker:
    @workflow.run
    async def run(self, queue: str) -> str:
        contract = Contract[Word, Word]("say", Word, Word, queue, timedelta(minutes=2), retry(1))
        said = await contract.ask(Word(text="ask"), "say a word")
        return f"{said.text}, cancelled: {is_cancelled()}"


@pytest.mark.parametrize("first", ["result", "cancellation"])
async def test_a_result_that_comes_together_with_the_cancellation_counts(
    theatre: Theatre, first: str
):
    """Both wait until workflows have a worker again, so one workflow task brings both."""
    queue = uuid.uuid4().hex
    asked, answer = asyncio.Event(), asyncio.Event()

    @activity.defn(name="say")
    async def say(word: Word) -> Word:
        asked.set()
        await answer.wait()
        return Word(text=f"{word.text}ed")

    def serving() -> Worker:
        runner = UnsandboxedWorkflowRunner()
        return Worker(theatre.client, task_queue=queue, workflows=[Asker], workflow_runner=runner)

    async with Worker(theatre.client, task_queue=f"{queue}/say", activities=[say]):
        async with serving():
            handle = await theatre.client.start_workflow(
                Asker.run, f"{queue}/say", id=queue, task_queue=queue
            )
            await ends(asked.wait(), "the activity's start")
        for what in sorted(("result", "cancellation"), key=lambda each: each != first):
            if what == "result":
                answer.set()
                kind = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
            else:
                await handle.cancel()
                kind = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
            await until_in_history(handle, lambda event, kind=kind: event.event_type == kind)
        async with serving():
            assert await ends(handle.result(), "the workflow's end") == "asked, cancelled: True"
