"""A wait of hours for a provider: shown with its end, outliving its worker, and billed once."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetActivityRequest

from starter.sessions.provider_waits import provider_waits
from starter.sessions.session_client import PREFIX
from starter.sessions.shown_session import ProviderWait
from tests.crash import play
from tests.crash.stage import Stage, stage
from tests.waiting import COMMAND_PATIENCE, ends, until
from workers.roles import Role
from workflows.domain.ids import SessionId
from workflows.domain.session.session_values import SessionResult

HOURS = timedelta(seconds=18_000)


async def _waits(running: Stage, session: SessionId) -> tuple[ProviderWait, ...]:
    found: list[tuple[ProviderWait, ...]] = []

    async def are_there() -> bool:
        found[:] = [await provider_waits(running.client, session)]
        return bool(found[0])

    await until(are_there, "a call waits for its provider")
    return found[0]


async def _ask_now(running: Stage, session: SessionId) -> None:
    """End the wait, as `temporal activity reset` does."""
    query = f"WorkflowId STARTS_WITH '{PREFIX}{session}/' AND WorkflowType = 'AgentWorkflow'"
    async for found in running.client.list_workflows(query + " AND ExecutionStatus = 'Running'"):
        execution = WorkflowExecution(workflow_id=found.id, run_id=found.run_id)
        reset = ResetActivityRequest(
            namespace=running.client.namespace, execution=execution, type="models.call"
        )
        await running.client.workflow_service.reset_activity(reset)


async def _played(running: Stage, name: str, *, limited: bool) -> SessionResult:
    repository = await asyncio.to_thread(play.make_repository, running.folder / name)
    began = datetime.now(UTC)
    handle = await play.start(running.client, repository)
    session = SessionId(handle.id.removeprefix(PREFIX))
    if limited:
        (before,) = await _waits(running, session)
        assert (before.agent, before.model) == ("dev.slow.1", "openai/gpt-4.1-nano")
        assert "429" in before.reason
        assert began + HOURS <= before.until <= datetime.now(UTC) + HOURS
        for victims in ((Role.MODELS,), tuple(Role)):
            await running.strike(victims)
            assert await _waits(running, session) == (before,)
        await _ask_now(running, session)
    return await ends(handle.result(), "the session ends", COMMAND_PATIENCE)


@pytest.mark.e2e
async def test_r13_a_wait_of_hours_outlives_its_worker_and_is_billed_once(tmp_path: Path):
    async with stage(tmp_path, play.limited(int(HOURS.total_seconds()))) as running:
        waited = await _played(running, "waited", limited=True)
        asked = [entry["outcome"] for entry in running.simulator.log.entries]
        running.simulator.play(play.playbook({"slow": ()}, turns=1))
        calm = await _played(running, "calm", limited=False)
    assert (waited.outcome, calm.outcome) == ("complete", "complete")
    assert asked.count("rate_limited") == 1
    answers = len(running.simulator.log.entries)
    assert len(asked) == answers + 1
    assert waited.spent_usd == calm.spent_usd > 0
