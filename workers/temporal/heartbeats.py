"""Automatic heartbeats: one place, so that no activity needs code for them.

An activity with a heartbeat timeout beats every four seconds (or at half of a shorter timeout)
while its event loop is alive. The beat says that the process lives; progress is not told by it
(git holds that). Cancellation arrives with the answers.
"""

import asyncio
import contextlib
from datetime import timedelta

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

_OFTEN = timedelta(seconds=4)
"""A person's stop reaches a running command with the next beat."""


class HeartbeatInterceptor(Interceptor):
    """Beats for every activity of a worker that has a heartbeat timeout."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002 (the SDK's name)
        """Wrap the next interceptor."""
        return _BeatingActivity(next)


class _BeatingActivity(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> object:  # noqa: A002 (the SDK's name)
        timeout = activity.info().heartbeat_timeout
        if not timeout:
            return await super().execute_activity(input)
        beating = asyncio.create_task(_beat(min(timeout / 2, _OFTEN)))
        try:
            return await super().execute_activity(input)
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating


async def _beat(interval: timedelta) -> None:
    while True:
        # Not at once: most activities are over before, and every beat is a write of the server's.
        await asyncio.sleep(interval.total_seconds())
        activity.heartbeat()
