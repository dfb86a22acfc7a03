"""`merged_work`: which ended sessions may go by themselves, because all of their work is merged."""

import pytest

from starter.machine.cleaning.merged_work import unproven
from tests.fakes.world import World, planned
from tests.theatre import ASK, Theatre
from workflows.domain.session.session_modes import SessionPhase

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.slow
async def test_only_a_session_that_merged_all_of_its_work_is_proven(theatre: Theatre) -> None:
    async with theatre.session(World(planned({"id": "a"}))) as merged:
        assert (await merged.result()).outcome == "complete"
    async with theatre.session(World(planned({"id": "a"})), approvals=ASK) as stopped:
        await stopped.until(lambda view: view.phase is SessionPhase.AWAITING_PLAN)
        await stopped.say("stop")
        await stopped.result()
    async with theatre.session(World(planned({"id": "a"})), approvals=ASK) as killed:
        await killed.until(lambda view: view.phase is SessionPhase.AWAITING_PLAN)
        await killed.handle.terminate()
    one, two, three = (each.handle.id.partition("/")[2] for each in (merged, stopped, killed))
    found = await unproven(theatre.client, (one, two, three))
    assert found == {
        two: "it ended stopped, so not all of its work is proven merged",
        three: "it failed or was ended by hand, so its work is not proven merged",
    }
