"""Large payloads, with our own data converter: they pass, or are refused in words."""

import base64
import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from temporalio.client import WorkflowHandle

from activities.toolset.observations import WHOLE_CHARACTERS
from tests.fakes.world import World, planned, tool
from tests.theatre import ASK, Playing, Theatre, result_of, states
from workflows.contracts.host_contracts import Observation, RunTools, ToolsOutcome
from workflows.domain.agent.agent_values import AgentEnd, AgentLimits
from workflows.domain.agent.model_values import Role
from workflows.domain.ids import Tree
from workflows.domain.session.notice import NoticeKind

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMIT_BYTES = 256 * 1024
"""What no payload may reach."""
TURNS = 300


def many(count: int) -> dict[str, Any]:
    """Return a plan of so many tasks with texts of 3 kB each."""
    return planned(
        *(
            {
                "id": f"task-{number}",
                "title": f"Task {number} " + "x" * 150,
                "description": "y" * 3_000,
            }
            for number in range(count)
        )
    )


async def largest_payload(handle: WorkflowHandle[Any, Any]) -> int:
    """Return the size of the largest event of a workflow's history."""
    return max(event.ByteSize() for event in (await handle.fetch_history()).events)


@pytest.mark.slow
async def test_a_plan_of_a_thousand_tasks_with_long_texts_passes(theatre: Theatre):
    """Field report R53."""
    world = World(many(1_000))
    async with theatre.session(world, approvals=ASK) as session:
        view = await session.until(lambda view: view.phase == "awaiting_plan")
        assert len(view.tasks) == 1_000
        assert len(view.model_dump_json().encode()) <= 300 * 1_000
        assert len((await session.task("task-999")).task.description) == 3_000
        session_id = session.handle.id
        for name in ("", "/plan/1", "/plan/1/plan.1"):
            handle = theatre.client.get_workflow_handle(session_id + name)
            assert await largest_payload(handle) < LIMIT_BYTES
        await session.say("approve_plan")
        await session.until(lambda view: view.phase == "running" and view.cycle == 1)


@pytest.mark.slow
async def test_a_plan_of_one_task_more_is_refused_in_words(theatre: Theatre):
    """Field report R53."""
    world = World(many(1_001))
    async with theatre.session(world, approvals=ASK) as session:
        view = await session.until(lambda view: view.phase == "awaiting_plan")
        assert view.tasks == ()
        assert "refused 3 times" in view.reason
        assert "1000" in world.heard("plan.1", 2)


async def test_a_steer_of_three_megabytes_is_refused_in_words(theatre: Theatre):
    """Field report R53."""
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=ASK) as session:
        await session.until(lambda view: view.phase == "awaiting_plan")
        await session.say("steer_task", {"id": "a", "text": "x" * 3_000_000})
        view = await session.until(
            lambda view: any(each.kind is NoticeKind.BAD_SIGNAL for each in view.notices)
        )
        assert "at most 10000" in view.notices[-1].text


def noise(characters: int) -> str:
    """Return a text that does not compress; each time the same one."""
    return base64.b64encode(random.Random(1).randbytes(characters)).decode()[:characters]


async def sizes(theatre: Theatre, session: Playing, *names: str) -> list[int]:
    """Return the largest events of the histories of a session and of workflows below it."""
    ids = [session.handle.id, *(f"{session.handle.id}/{name}" for name in names)]
    return [await largest_payload(theatre.client.get_workflow_handle(each)) for each in ids]


@pytest.mark.slow
async def test_r53_a_submission_of_five_megabytes_passes_and_is_kept_outside(theatre: Theatre):
    world = World(planned({"id": "a"}))
    submit = [tool("submit", summary=noise(5_000_000))]
    world.script = lambda call: submit if call.agent == "dev.a.1" else world.usual(call)
    async with theatre.session(world) as session:
        assert states(await session.result()) == {"a": ("merged", 1)}
        found = await sizes(theatre, session, "1/develop", "1/develop/dev.a.1")
    assert max(found) < LIMIT_BYTES


@pytest.mark.slow
async def test_r53_a_reviewer_who_quotes_a_megabyte_abstains_in_words(theatre: Theatre):
    world = World(planned({"id": "a"}))
    quote = {"criterion": "1", "path": "a", "line_start": 1, "line_end": 1, "quote": noise(10**6)}
    verdict = [tool("submit_verdict", approve=True, summary="ok", evidence=[quote])]
    world.script = lambda call: verdict if call.role is Role.REVIEWER else world.usual(call)
    async with theatre.session(world, attempts=1) as session:
        assert states(await session.result()) == {"a": ("cancelled", 1)}
        told = [n.text for n in (await session.view()).notices if n.kind is NoticeKind.ABSTENTION]
        found = await sizes(theatre, session)
    assert ["evidence[0].quote: must have at most 2000 characters" in text for text in told] == [
        True
    ]
    assert max(found) < LIMIT_BYTES


@pytest.mark.slow
async def test_r53_three_hundred_turns_with_full_observations_pass(theatre: Theatre):
    world = World(planned({"id": "a"}))
    whole = noise(WHOLE_CHARACTERS + TURNS)

    async def observe(asked: RunTools) -> ToolsOutcome:
        text = whole[asked.turn :][:WHOLE_CHARACTERS]
        seen = Observation(call_id=asked.calls[0].id, name="bash", text=text)
        tree = Tree(f"{asked.turn:040}")
        return ToolsOutcome(observations=(seen,), checkpoint=asked.checkpoint, tree=tree)

    world.on_tools = observe
    world.script = lambda call: [tool("bash", command=f"command {call.turn}")]
    limits = AgentLimits(turns=TURNS, wall=timedelta(hours=9), usd=Decimal(3))
    async with theatre.agent(world, limits=limits) as agent:
        outcome = await result_of(agent)
        assert await largest_payload(agent) < LIMIT_BYTES
    assert (outcome.end, outcome.turns) == (AgentEnd.TURN_LIMIT, TURNS)
