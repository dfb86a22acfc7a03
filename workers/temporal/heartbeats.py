"""Automatic heartbeats: one place, so that no activity needs code for them.

An activity with a heartbeat timeout beats every four seconds (or at half of a shorter timeout)
while its event loop is alive. A beat says that the process lives, not that there is progress
(git records progress). Cancellation arrives with the server's answers.
"""

import asyncio
import contextlib
from datetime import timedelta

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

_OFTEN = timedelta(seconds=4)
"""A person's stop reaches a running command with the next beat."""


class HeartbeatInterceptor(Interceptor):
    """Sends heartbeats for every activity with a heartbeat timeout."""

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
        # Not at once: most activities are over before, and every beat costs the server a write.
        await asyncio.sleep(interval.total_seconds())
        activity.heartbeat()
