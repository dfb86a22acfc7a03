"""`workers.lifeline`: the end of the supervisor's pipe stops a worker."""

import asyncio
import os

from workers import lifeline


async def test_the_pipes_end_sets_stop() -> None:
    read_end, write_end = os.pipe()
    stop = asyncio.Event()
    lifeline.watch(read_end, stop)
    assert not stop.is_set()
    os.close(write_end)
    await asyncio.wait_for(stop.wait(), 30)
    os.close(read_end)
