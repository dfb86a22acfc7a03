"""One activity that ends when it should, and a workflow that waits for it."""

import asyncio
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel
from temporalio import activity, workflow
from temporalio.common import RetryPolicy

from workers.roles import Role
from workers.settings import Settings
from workers.wiring import Activity


class SlowRequest(BaseModel, frozen=True):
    """What to do: say that it began, and end."""

    began: str
    """A file that gets one line for each attempt."""
    heartbeat_seconds: float
    endless_attempts: int = 0
    """So many first attempts never end."""
    until_shutdown: bool = False
    """Whether it ends only in the grace that a worker has when it is asked to end."""


@activity.defn(name="e2e.slow")
async def slow(request: SlowRequest) -> int:
    """Return the number of the attempt that came to its end."""
    attempt = activity.info().attempt
    with Path(request.began).open("a") as file:  # noqa: ASYNC230 (a test's own file)
        file.write(f"attempt {attempt}\n")
    try:
        if attempt <= request.endless_attempts:
            await asyncio.Event().wait()
        if request.until_shutdown:
            await activity.wait_for_worker_shutdown()
    except asyncio.CancelledError:
        with Path(request.began).open("a") as file:  # noqa: ASYNC230
            file.write("cancelled\n")
        raise
    return attempt


@workflow.defn(name="SlowWorkflow")
class SlowWorkflow:
    """Runs the activity once."""

    @workflow.run
    async def run(self, request: SlowRequest) -> int:
        """Return what the activity returned."""
        result: int = await workflow.execute_activity(
            "e2e.slow",
            request,
            result_type=int,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=timedelta(seconds=request.heartbeat_seconds),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=100)),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        return result


def workflows(role: Role) -> list[type]:
    """For `Code`."""
    return [SlowWorkflow] if role is Role.WORKFLOWS else []


def activities(role: Role, settings: Settings) -> list[Activity]:
    """For `Code`."""
    del settings
    return [slow] if role is Role.WORKFLOWS else []
