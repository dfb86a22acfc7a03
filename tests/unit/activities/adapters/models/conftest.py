"""The three providers, each over its official SDK, against one simulator for the whole run.

Starting a server and making the SDKs' clients costs far more than a call, so both are shared; every
test gives the simulator a playbook of its own.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from activities.adapters.models.simulator.simulator_server import Simulator
from tests.unit.activities.adapters.models.wire import PROVIDERS, Wire, play
from workflows.domain.agent.model_values import Provider


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    name: Provider = request.param
    return name


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def wire() -> AsyncIterator[Wire]:
    """The shared simulator and its callers; `wire.play(…)` begins a test."""
    async with Simulator(play("{text: unused}")) as simulator:
        wire = Wire(simulator)
        yield wire
        await wire.registry.aclose()
