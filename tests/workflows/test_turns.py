"""`turn_history` on real histories: what was recorded of the agents, read without a worker."""

import asyncio
from collections.abc import Awaitable
from decimal import Decimal
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from starter.sessions.turn_history import Happening, Turns, task_of
from starter.views import turn_words
from tests.fakes.world import World, answered, planned
from tests.theatre import Theatre
from tests.waiting import ends, until
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.model_values import Usage
from workflows.domain.plan import Plan
from workflows.errors import FailureType

pytestmark = pytest.mark.asyncio(loop_scope="session")
TASK: dict[str, Any] = {"id": "a"}
AUTO: dict[str, Any] = {"approvals": {"plan": "auto", "changeset": "auto_if_green"}}


def told(happenings: list[Happening], agent: str) -> list[tuple[str, int]]:
    return [(each.kind, each.turn) for each in happenings if each.agent == agent]


@pytest.mark.slow
async def test_every_agent_is_told_turn_by_turn(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}, {"id": "b"}), usd_per_call=Decimal("0.01"))
    async with theatre.session(world, **AUTO) as playing:
        result = await playing.result()
        session = playing.handle.id.removeprefix("session/")
        plan = await playing.handle.query("plan", result_type=Plan)
    assert (result.outcome, [task.id for task in plan.tasks]) == ("complete", ["a", "b"])
    every = await Turns(theatre.client, session).past()
    assert told(every, "dev.a.1") == [
        ("started", 0),
        ("said", 1),
        ("ran", 1),
        ("said", 2),
        ("ended", 2),
    ]
    said = next(each for each in every if (each.agent, each.kind) == ("dev.a.1", "said"))
    assert said.calls[0].arguments == {"command": "work on dev.a.1"}
    assert said.cost_usd == Decimal("0.01")
    assert said.model == "scripted/alpha"
    assert {task_of(each.agent) for each in every} == {"", "a", "b"}
    of_b = await Turns(theatre.client, session, "b").past()
    assert {each.agent for each in of_b} == {"dev.b.1", "review.b.1.1"}
    one = await Turns(theatre.client, session, "review.a.1.1").past()
    assert {each.agent for each in one} == {"review.a.1.1"}


@pytest.mark.slow
async def test_what_happens_is_followed_until_the_session_ends(theatre: Theatre) -> None:
    world = World(planned(TASK))
    reached, go_on = asyncio.Event(), asyncio.Event()

    def on_call(call: CallModel) -> Awaitable[ModelOutcome | None] | None:
        async def wait() -> ModelOutcome | None:
            reached.set()
            await go_on.wait()
            return None

        return wait() if (call.agent, call.turn) == ("dev.a.1", 2) else None

    world.on_call = on_call
    async with theatre.session(world, **AUTO) as playing:
        session = playing.handle.id.removeprefix("session/")

        async def is_over() -> bool:
            found = await playing.handle.describe()
            return found.status is not WorkflowExecutionStatus.RUNNING

        await ends(reached.wait(), "the second call of 'dev.a.1'")
        seen: list[Happening] = []
        async for each in Turns(theatre.client, session, "a").follow(is_over):
            seen.append(each)
            if each.kind == "ran":
                # Only now does the agent go on: the first turn was seen while it still ran.
                go_on.set()
        assert told(seen, "dev.a.1")[-2:] == [("said", 2), ("ended", 2)]
        assert seen[-1].agent == "review.a.1.1"


@pytest.mark.slow
async def test_a_failed_call_is_told_with_its_words(theatre: Theatre) -> None:
    world = World(planned(TASK))

    def on_call(call: CallModel) -> Awaitable[ModelOutcome | None] | None:
        async def fail() -> ModelOutcome | None:
            raise ApplicationError(
                "the request \u001b[2J is wrong",
                type=FailureType.INVALID_REQUEST,
                non_retryable=True,
            )

        return fail() if call.agent == "dev.a.1" else None

    world.on_call = on_call
    async with theatre.session(world, **AUTO) as playing:
        session = playing.handle.id.removeprefix("session/")
        await playing.until(lambda view: view.tasks != () and view.tasks[0].attempt > 0)
        turns = Turns(theatre.client, session, "dev.a.1")
        found: list[Happening] = []

        async def has_ended() -> bool:
            found[:] = await turns.past()
            return "ended" in [each.kind for each in found]

        await until(has_ended, "the agent ends", seen=lambda: found)
    failed = next(each for each in found if each.kind == "failed")
    assert failed.text == "models.call: the request \u001b[2J is wrong"
    assert "    models.call: the request \\x1b[2J is wrong" in turn_words.happening(failed)


@pytest.mark.parametrize("agent", ["plan.1", "dev.a.1", "review.a.1.1"])
@pytest.mark.slow
async def test_a_cost_that_was_estimated_is_marked_in_the_turn_and_in_the_sum(
    theatre: Theatre, agent: str
) -> None:
    world = World(planned(TASK), usd_per_call=Decimal("0.01"))
    guessed = Usage(input_tokens=1, output_tokens=1, is_estimated=True)

    async def estimate(call: CallModel) -> ModelOutcome:
        return answered(call, *world.script(call), usage=guessed, cost_usd=world.usd)

    world.on_call = lambda call: estimate(call) if (call.agent, call.turn) == (agent, 1) else None
    async with theatre.session(world, **AUTO) as playing:
        result = await playing.result()
        view = await playing.view()
        session = playing.handle.id.removeprefix("session/")
    marked = [
        (each.agent, each.kind, each.turn)
        for each in await Turns(theatre.client, session).past()
        if each.is_estimated
    ]
    assert [(who, kind) for who, kind, _ in marked] == [(agent, "said"), (agent, "ended")]
    assert (result.is_estimated, view.is_estimated) == (True, True)
