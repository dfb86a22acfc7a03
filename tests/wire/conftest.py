"""One simulator for each module."""

from collections.abc import AsyncIterator

import pytest_asyncio

from activities.adapters.models.simulator.simulator_server import Simulator
from tests.unit.activities.adapters.models.wire import play
from tests.wire.stage import Stage


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage() -> AsyncIterator[Stage]:
    """The module's simulator and its callers; `stage.simulator.play(…)` begins a test."""
    async with Simulator(play("{text: unused}")) as simulator:
        stage = Stage(simulator)
        await stage.warm_up()
        yield stage
        await stage.aclose()
