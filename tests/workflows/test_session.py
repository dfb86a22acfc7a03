"""The session against fakes: the whole course, in both pacings, with rework and conflicts."""

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.fakes.world import World, planned
from tests.workflows.conftest import request, serving, start
from workflows.domain.config import Pacing
from workflows.domain.session import SessionResult


@pytest.mark.parametrize("pacing", list(Pacing))
async def test_all_tasks_are_merged_in_both_pacings(
    server: WorkflowEnvironment, pacing: Pacing
) -> None:
    world = World(planned({"id": "a"}, {"id": "b"}, {"id": "c", "depends_on": ["a", "b"]}))
    async with serving(server.client, world):
        handle = await start(server.client, request(pacing=pacing))
        result = SessionResult.model_validate(await handle.result())
    assert result.outcome == "complete"
    assert {task.state for task in result.tasks} == {"merged"}
    assert world.delivered[-1].new == result.head
    assert result.scripted
