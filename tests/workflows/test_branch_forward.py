"""A session that fast-forwards the branch that it started from."""

import pytest

from tests.fakes.world import World, name_of, planned
from tests.theatre import Theatre, played
from workflows.contracts.host_contracts import WorkRefused
from workflows.domain.session.notice import NoticeKind
from workflows.domain.violation import DiffRule, Violation

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_branch_follows_once_all_is_merged(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    result = await played(theatre, world, deliver="fast_forward")
    (asked,) = world.forwarded
    assert (asked.branch, asked.old, asked.new) == ("main", name_of("base"), result.head)
    assert result.outcome == "complete"
    assert "branch 'main' was fast-forwarded" in result.reason


@pytest.mark.slow
async def test_a_branch_that_cannot_follow_is_a_notice_and_no_failure(theatre: Theatre):
    world = World(planned({"id": "a"}))
    world.forward_refused = "'main' is checked out in '/srv/shop'"
    async with theatre.session(world, deliver="fast_forward") as session:
        result = await session.result()
        notices = (await session.view()).notices
    assert result.outcome == "complete"
    assert [each.text for each in notices if each.kind is NoticeKind.DELIVERY] == [
        world.forward_refused
    ]


@pytest.mark.slow
async def test_a_session_that_lacks_work_moves_nothing(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}))
    found = Violation(rule=DiffRule.EMPTY, text="nothing was changed")
    empty = WorkRefused(reason="empty", findings=(found,))
    world.finish = lambda finish: empty if finish.task == "b" else None
    result = await played(theatre, world, deliver="fast_forward", attempts=1)
    assert result.outcome == "incomplete"
    assert world.forwarded == []
