"""A stop that comes while an activity is about to end: it ends, and nothing follows it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from tests.effort import pairs
from tests.fakes.world import Hold, World, planned
from tests.theatre import Theatre, until_in_history
from tests.waiting import ends
from workflows.contracts import gate_contracts, host_contracts, model_contracts
from workflows.domain.gate import GateSpec
from workflows.domain.session.session_config import Approvals

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNATTENDED = Approvals(plan="auto", changeset="auto_if_green")
GATES = (GateSpec(name="tests", argv=("true",)),)
CALL = Decimal("0.01")


class Deaf(World):
    """One activity hears of no cancellation, and ends as if nothing were."""

    def __init__(self, activity: str, agent: str | None) -> None:
        super().__init__(planned({"id": "a"}), usd_per_call=CALL)
        self._activity = activity
        self._agent = agent
        self.hold = Hold()

    def activities(self) -> Mapping[str, Callable[[Any], Awaitable[Any]]]:
        played = super().activities()

        async def deaf(request: Any) -> Any:
            if self._is_it(request) and not self.hold.reached.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await self.hold.wait()
            return await played[self._activity](request)

        return {**played, self._activity: deaf}

    def _is_it(self, request: Any) -> bool:
        if isinstance(request, gate_contracts.RunGates):
            return request.baseline is not None
        named = getattr(request, "worktree", request)
        return self._agent is None or named.agent == self._agent


STOPPED_DURING = (
    (model_contracts.CALL_MODEL.name, "plan.1", 1),
    (host_contracts.PREPARE_WORKTREE.name, "dev.a.1", 1),
    (model_contracts.CALL_MODEL.name, "dev.a.1", 2),
    (host_contracts.RUN_TOOLS.name, "dev.a.1", 2),
    (host_contracts.FINISH_TASK.name, "dev.a.1", 3),
    (gate_contracts.RUN_GATES.name, None, 3),
    (model_contracts.CALL_MODEL.name, "review.a.1.1", 4),
)
"""An activity, of which agent, and how many calls there were by then."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("during", "before"), pairs(STOPPED_DURING, [(), ("pause",)]))
async def test_no_call_follows_a_stop(
    theatre: Theatre, during: tuple[str, str | None, int], before: tuple[str, ...]
):
    activity, agent, calls = during
    world = Deaf(activity, agent)
    async with theatre.session(world, approvals=UNATTENDED, gates=GATES) as session:
        await world.hold.arrived()
        for signal in (*before, "stop"):
            await session.say(signal)
        result = await session.result()
    assert result.outcome == "stopped"
    assert len(world.calls) == calls
    assert result.spent_usd == calls * CALL


@pytest.mark.slow
async def test_a_stop_waits_for_every_agent_and_counts_what_it_cost(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}), usd_per_call=CALL)
    reached = {"dev.a.1": asyncio.Event(), "dev.b.1": asyncio.Event()}
    is_late = asyncio.Event()

    async def hold(agent: str) -> None:
        reached[agent].set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if agent == "dev.a.1":
                raise
        await is_late.wait()

    world.on_call = lambda call: hold(call.agent) if call.agent in reached else None
    async with theatre.session(world, approvals=UNATTENDED) as session:
        for agent, is_there in reached.items():
            await ends(is_there.wait(), f"the call of {agent!r}")
        await session.say("stop")
        wave = theatre.client.get_workflow_handle(f"{session.handle.id}/1/develop")
        cancelled = EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED
        await until_in_history(wave, lambda event: event.event_type == cancelled)
        is_late.set()
        result = await session.result()
    assert world.running == {}
    assert result.spent_usd == 3 * CALL
