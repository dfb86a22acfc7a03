"""Plans that persons bring, edit while a session runs, and what bounds those of a planner."""

from typing import Any

import pytest

from tests.fakes.world import World, planned
from tests.theatre import Theatre, played, states
from workflows.domain.plan import Plan
from workflows.domain.session.session_config import Approvals

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASK_FOR_THE_PLAN = Approvals(plan="ask", changeset="auto_if_green")


def plan_of(*tasks: dict[str, Any]) -> Plan:
    return Plan.model_validate(planned(*tasks))


@pytest.mark.parametrize(
    "approvals", [ASK_FOR_THE_PLAN, Approvals(plan="auto", changeset="auto_if_green")]
)
async def test_a_persons_own_plan_is_approved_by_them_and_no_planner_is_asked(
    theatre: Theatre, approvals: Approvals
) -> None:
    world = World({})
    own = plan_of({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    result = await played(theatre, world, plan=own, plan_by="ann", approvals=approvals)
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 1)}
    assert not [call for call in world.calls if call.agent.startswith("plan")]
    (decision, *_) = result.decisions
    assert (result.plan_approved_by, decision.by, decision.source) == ("ann", "ann", "start")


async def test_a_plan_that_no_one_signs_waits_for_approval(theatre: Theatre) -> None:
    own = plan_of({"id": "a"})
    async with theatre.session(World({}), plan=own, approvals=ASK_FOR_THE_PLAN) as playing:
        await playing.until(lambda view: view.phase == "awaiting_plan")
        await playing.say("approve_plan", {"by": "bob"})
        assert (await playing.result()).plan_approved_by == "bob"
