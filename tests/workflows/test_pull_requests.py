"""A session that proposes its work on a hosting service."""

import pytest

from tests.fakes.world import Hold, World, planned
from tests.theatre import Theatre, played, states
from workflows.contracts.hosting_contracts import PublishOutcome, PublishPull, PullRefused
from workflows.contracts.model_contracts import CallModel
from workflows.domain.session.notice import NoticeKind

pytestmark = pytest.mark.asyncio(loop_scope="session")


def _shown(world: World) -> list[tuple[str, bool, bool]]:
    return [
        (each.pull.key, each.pull.is_draft, each.pull.is_closed) for each in world.hosting.published
    ]


async def test_it_is_a_draft_until_every_task_is_merged(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    result = await played(theatre, world, deliver="pull_request")
    assert result.outcome == "complete"
    assert "https://hosting.example/session" in result.reason
    assert _shown(world) == [("session", True, False), ("session", False, False)]
    last = world.hosting.published[-1]
    assert last.pull.commit == result.head
    assert (last.pull.branch, last.pull.target) == (result.branch, "main")
    assert last.pushed == world.hosting.published[0].pull.commit


async def test_it_tells_goal_criteria_gates_and_verdicts(theatre: Theatre):
    world = World(planned({"id": "a", "title": "Ping @everyone"}))
    await played(theatre, world, deliver="pull_request")
    body = world.hosting.published[-1].pull.body
    assert "> a goal" in body
    assert "- [x] it works" in body
    assert "Gates: `tests` found nothing new" in body
    assert "approved by scripted/beta" in body
    assert "@everyone" not in body


async def test_a_stopped_session_closes_it(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    hold = Hold(lambda call: call.agent == "dev.b.1")
    world.on_call = hold
    async with theatre.session(world, deliver="pull_request") as session:
        await hold.arrived()
        await session.say("stop")
        result = await session.result()
    assert result.outcome == "stopped"
    assert _shown(world)[-1] == ("session", True, True)


async def test_what_cannot_be_published_leaves_the_session_incomplete(theatre: Theatre):
    world = World(planned({"id": "a"}))
    world.hosting.instead = lambda _: PullRefused(reason="there is no token for 'github.com'")
    async with theatre.session(world, deliver="pull_request") as session:
        result = await session.result()
        notices = (await session.view()).notices
    assert (result.outcome, states(result)) == ("incomplete", {"a": ("merged", 1)})
    assert "there is no token for 'github.com'" in result.reason
    assert [each.kind for each in notices if "token" in each.text] == [NoticeKind.DELIVERY]


async def test_a_refusal_that_passes_does_not_spoil_the_end(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))

    def once(request: PublishPull) -> PublishOutcome | None:
        return (
            PullRefused(reason="the token is revoked")
            if len(world.hosting.published) == 1
            else None
        )

    world.hosting.instead = once
    result = await played(theatre, world, deliver="pull_request")
    assert result.outcome == "complete"


async def test_nothing_is_published_while_nothing_is_merged(theatre: Theatre):
    world = World(planned({"id": "a"}))

    def refuse(call: CallModel) -> None:
        assert not world.hosting.published, call.agent

    world.on_call = refuse
    await played(theatre, world, deliver="pull_request")
    assert len(world.hosting.published) == 1


async def test_a_continuation_goes_on_with_the_same_pull_request(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    async with theatre.session(world, deliver="pull_request") as session:
        result = await session.result()
    assert result.outcome == "complete"
    assert {each.pull.key for each in world.hosting.published} == {"session"}
