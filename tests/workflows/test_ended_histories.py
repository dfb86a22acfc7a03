"""`ended_histories`: of which workflows the server forgets the histories."""

from datetime import UTC, datetime, timedelta

import pytest
from temporalio.service import RPCError

from starter.machine.cleaning.ended_histories import delete_histories
from tests.fakes.world import World, planned
from tests.theatre import Theatre
from tests.waiting import until
from workflows import queues
from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionNotMade

pytestmark = pytest.mark.asyncio(loop_scope="session")
NEVER = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.mark.slow
async def test_the_histories_of_a_session_go_and_those_of_others_stay(theatre: Theatre) -> None:
    async with theatre.session(World(planned({"id": "a"}))) as first:
        await first.result()
    async with theatre.session(World(planned({"id": "a"}))) as second:
        await second.result()
    gone, kept, client = first.handle, second.handle, theatre.client
    name = gone.id.partition("/")[2]

    async def listed() -> int:
        return await delete_histories(client, {name}, NEVER, dry_run=True)

    async def all_listed() -> bool:
        return await listed() >= 5

    await until(all_listed, "the server lists all workflows of the session")
    assert await delete_histories(client, {name}, NEVER, dry_run=False) >= 5

    async def forgotten() -> bool:
        try:
            await gone.describe()
        except RPCError:
            return True
        return False

    await until(forgotten, "the server forgets the session")
    assert (await kept.describe()).id == kept.id
    assert await delete_histories(client, {"unknown"}, NEVER, dry_run=False) == 0


async def test_what_started_sessions_goes_by_its_own_age(theatre: Theatre) -> None:
    client, ended = theatre.client, ScheduledGoal(name="n", goal="g", repository="/r")
    world = World(planned({"id": "a"}))
    world.scheduled = SessionNotMade(kind="busy", reason="it is open")
    theatre.worlds["old"] = world
    firing = await client.start_workflow(
        "ScheduledRun", ended, id="schedule/old", task_queue=queues.WORKFLOWS
    )
    await firing.result()
    later = datetime.now(UTC) + timedelta(hours=1)

    async def is_listed() -> bool:
        return await delete_histories(client, frozenset(), later, dry_run=True) >= 1

    await until(is_listed, "the server lists the firing")
    assert await delete_histories(client, frozenset(), NEVER, dry_run=True) == 0
    assert await delete_histories(client, frozenset(), later, dry_run=False) >= 1
