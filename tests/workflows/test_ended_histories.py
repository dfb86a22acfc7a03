"""`ended_histories`: of which workflows the server forgets the histories."""

import pytest
from temporalio.service import RPCError

from starter.machine.cleaning.ended_histories import delete_histories
from tests.fakes.world import World, planned
from tests.theatre import Theatre
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.slow
async def test_the_histories_of_a_session_go_and_those_of_others_stay(theatre: Theatre) -> None:
    async with theatre.session(World(planned({"id": "a"}))) as first:
        await first.result()
    async with theatre.session(World(planned({"id": "a"}))) as second:
        await second.result()
    gone, kept, client = first.handle, second.handle, theatre.client
    name = gone.id.partition("/")[2]

    async def listed() -> int:
        return await delete_histories(client, {name}, dry_run=True)

    async def all_listed() -> bool:
        return await listed() >= 5

    await until(all_listed, "the server lists all workflows of the session")
    assert await delete_histories(client, {name}, dry_run=False) >= 5

    async def forgotten() -> bool:
        try:
            await gone.describe()
        except RPCError:
            return True
        return False

    await until(forgotten, "the server forgets the session")
    assert (await kept.describe()).id == kept.id
    assert await delete_histories(client, {"unknown"}, dry_run=False) == 0
