"""Heartbeats come by themselves: not for what is over at once, and for as long as work lasts."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

from temporalio import activity
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from tests.waiting import ends
from workers.temporal.heartbeats import HeartbeatInterceptor


class _Work(ActivityInboundInterceptor):
    def __init__(self, work: Callable[[], Awaitable[str]]) -> None:
        self._work = work

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        return await self._work()


async def played(work: Callable[[], Awaitable[str]], beaten: Callable[..., None]) -> str:
    """Run `work` as an activity with a heartbeat timeout of 20 ms behind the interceptor."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, heartbeat_timeout=timedelta(milliseconds=20)
    )
    environment.on_heartbeat = beaten

    @activity.defn
    async def act() -> str:
        inbound = HeartbeatInterceptor().intercept_activity(_Work(work))
        return await inbound.execute_activity(cast("ExecuteActivityInput", None))

    return await environment.run(act)


async def test_work_that_lasts_is_told_again_and_again():
    beats = 0
    enough = asyncio.Event()

    def beaten(*_: object) -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            enough.set()

    async def work() -> str:
        await ends(enough.wait(), "three heartbeats")
        return "done"

    assert await played(work, beaten) == "done"
    assert beats >= 3


async def test_work_that_is_over_at_once_costs_no_beat():
    beats: list[object] = []

    async def work() -> str:
        await asyncio.sleep(0)  # lets every task that was started run once
        return "done"

    assert await played(work, lambda *_: beats.append(1)) == "done"
    assert beats == []
