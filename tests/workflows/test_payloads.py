"""Large payloads, with our own data converter: they pass, or are refused in words."""

from typing import Any

import pytest
from temporalio.client import WorkflowHandle

from tests.fakes.world import World, planned
from tests.theatre import ASK, Theatre
from workflows.domain.notice import NoticeKind

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMIT_BYTES = 256 * 1024
"""What no payload may reach."""


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


async def test_a_plan_of_one_task_more_is_refused_in_words(theatre: Theatre):
    """Field report R53."""
    world = World(many(1_001))
    async with theatre.session(world, approvals=ASK) as session:
        view = await session.until(lambda view: view.phase == "awaiting_plan")
        assert view.tasks == ()
        assert "refused twice" in view.reason
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
