"""When a session continues as new, and what survives that."""

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from starter.sessions.session_client import Sessions
from tests.fakes.world import Hold, World, planned
from tests.theatre import ASK, Theatre, request, states
from tests.waiting import ends, until
from workflows import queues
from workflows.domain.session.session_config import Approvals, Concurrency
from workflows.domain.session.session_modes import Pacing
from workflows.schedules.repository_turn import RepositoryTurn, turn_id

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.slow
async def test_a_session_that_continues_as_new_loses_nothing(theatre: Theatre):
    """Field report R51."""
    tasks = ({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    world = World(planned(*tasks), usd_per_call=Decimal("0.01"))
    approvals = Approvals(plan="auto", changeset="ask")
    async with theatre.session(world, waves_per_run=1, approvals=approvals) as session:
        for task in "ab":
            view = await session.until(
                lambda view, task=task: any(
                    each.id == task and each.state == "awaiting_approval"
                    for each in view.changesets
                )
            )
            digest = next(each.digest for each in view.changesets if each.id == task)
            for number in range(5):
                await session.say("set_priority", {"id": "b", "n": number})
            await session.say("approve_changeset", {"id": task, "digest": digest})
        result = await session.result()
        first = await session.handle.describe()
    assert states(result) == dict.fromkeys("ab", ("merged", 1))
    assert result.spent_usd == world.spent
    assert first.raw_description.workflow_execution_info.first_run_id != first.run_id
    assert (await session.task("b")).task.priority == 4


@pytest.mark.slow
async def test_a_long_run_continues_in_a_gap_and_holds_no_wave_back_for_it(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}, {"id": "c", "depends_on": ["a", "b"]}))
    world.on_call = hold = Hold(lambda call: call.agent == "dev.a.1")
    async with theatre.session(world, waves_per_run=1, pacing=Pacing.FLOW) as session:
        await hold.arrived()
        await session.until(
            lambda view: any(each.id == "b" and each.state == "merged" for each in view.tasks)
        )
        during = await session.handle.describe()
        hold.release()
        result = await session.result()
        last = await session.handle.describe()
    assert states(result) == dict.fromkeys("abc", ("merged", 1))
    first_run = last.raw_description.workflow_execution_info.first_run_id
    assert during.run_id == first_run != last.run_id


@pytest.mark.slow
async def test_a_run_near_the_limits_of_a_history_makes_a_gap_and_loses_nothing(theatre: Theatre):
    tasks = [{"id": task} for task in "abcd"]
    world = World(planned(*tasks), usd_per_call=Decimal("0.01"))
    slots = Concurrency(develop=2)
    async with theatre.session(
        world, events_per_run=1, pacing=Pacing.FLOW, concurrency=slots
    ) as session:
        result = await session.result()
        last = await session.handle.describe()
    assert states(result) == dict.fromkeys("abcd", ("merged", 1))
    assert result.spent_usd == world.spent
    assert last.raw_description.workflow_execution_info.first_run_id != last.run_id


async def test_however_a_session_starts_a_worker_has_a_minute_to_replay_it(theatre: Theatre):
    by_hand, by_queue = (request(approvals=ASK) for _ in range(2))
    world = World(planned({"id": "a"}))
    theatre.worlds.update({each.session: world for each in (by_hand, by_queue)})
    sessions = Sessions(theatre.client)
    await sessions.start(by_hand)
    turn = await theatre.client.start_workflow(
        RepositoryTurn.run, by_queue, id=turn_id(by_queue.session), task_queue=queues.WORKFLOWS
    )
    for each in (by_hand, by_queue):
        handle = theatre.client.get_workflow_handle(each.workflow_id)
        await until(partial(_exists, handle), f"the session {each.session!r} is there")
        described = await handle.describe()
        config = described.raw_description.execution_config
        assert config.default_workflow_task_timeout.ToTimedelta() == timedelta(minutes=1)
        await handle.signal("stop", {})
        await sessions.result(each.session)
    await ends(turn.result(), "the repository's turn")


async def _exists(handle: WorkflowHandle[Any, Any]) -> bool:
    with suppress(RPCError):
        await handle.describe()
        return True
    return False
