"""One simulator with one way to it for each module; a test begins a play and a transcript."""

from collections.abc import AsyncIterator

import pytest_asyncio

from activities.adapters.http_listener import Listening
from activities.adapters.models.simulator.recording.recording_proxy import Proxy
from activities.adapters.models.simulator.recording.upstreams import Upstreams
from activities.adapters.models.simulator.simulator_server import Simulator
from tests.unit.activities.adapters.models.simulator.recording.studio import Studio
from tests.unit.activities.adapters.models.wire import play


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def studio() -> AsyncIterator[Studio]:
    async with Simulator(play("{text: unused}")) as simulator:
        studio = Studio(simulator)
        upstreams = Upstreams({**simulator.base_urls, "nobody": "http://127.0.0.1:9/v1"})
        proxy = Proxy(upstreams, studio.meet, studio.note, trust_env=False)
        async with Listening(proxy) as listening:
            studio.listen(listening.url)
            yield studio
            await studio.aclose()
        await proxy.aclose()
