"""The baseline of turns: a workflow that only calls two empty activities for each.

Each role runs in its own process, as Blue Flame's workers do.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Worker

QUEUE = "bare"


@activity.defn(name="bare.nothing")
async def nothing(text: str) -> str:
    """Return at once."""
    return text


@workflow.defn(name="BareTurns")
class BareTurns:
    """Calls two activities per turn, one after the other."""

    @workflow.run
    async def run(self, turns: int) -> list[float]:
        """Return the seconds of each turn, by the workflow's clock."""
        seconds: list[float] = []
        for _ in range(turns):
            began = workflow.now()
            for _ in range(2):
                await workflow.execute_activity(
                    nothing, "x", start_to_close_timeout=timedelta(seconds=10), task_queue="bare-2"
                )
            seconds.append((workflow.now() - began).total_seconds())
        return seconds


async def serve(target: str, role: str) -> None:
    """Serve one role, `workflows` or `activities`, in this process until it is stopped."""
    client = await Client.connect(target, data_converter=pydantic_data_converter)
    worker = (
        Worker(client, task_queue=QUEUE, workflows=[BareTurns])
        if role == "workflows"
        else Worker(client, task_queue="bare-2", activities=[nothing])
    )
    print("ready", flush=True)
    await worker.run()


@asynccontextmanager
async def bare_workers(target: str) -> AsyncGenerator[None]:
    """Serve the baseline from two processes, as Blue Flame's roles are served."""
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.bare", target, role, stdout=asyncio.subprocess.PIPE
        )
        for role in ("workflows", "activities")
    ]
    try:
        for each in started:
            assert each.stdout is not None
            await each.stdout.readline()
        yield
    finally:
        for each in started:
            each.terminate()
            await each.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2]))
