"""Sessions on one stage: a wait of hours for a provider, and `stop` while something runs.

The wait is shown with its end, outlives its worker, and is billed once. A stop ends what runs,
keeps its work, and books what was asked for.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import pytest_asyncio
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
from workflows.domain.session.query_answers import SessionResult

HOURS = timedelta(seconds=18_000)
SECONDS = f"987.{os.getpid()}"
"""Longer than a command or a test may take: only the stop can end it. No other process has it."""
COMMAND = f"mkdir -p slow; echo begun > slow/log.txt; sleep {SECONDS}"
SLEEPING = f"sleep\0{SECONDS}\0".encode()
CALL_USD = Decimal("0.00014")
"""What each answered call of the playbook costs: 1,000 tokens in, 100 out."""

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stage]:
    """Server, workers and simulator; each test says what is played."""
    folder = tmp_path_factory.mktemp("stage")
    async with stage(folder, play.silent(0)) as running:
        yield running


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


@pytest.mark.slow
async def test_r13_a_wait_of_hours_outlives_its_worker_and_is_billed_once(running: Stage):
    running.simulator.play(play.limited(int(HOURS.total_seconds())))
    waited = await _played(running, "waited", limited=True)
    asked = [entry["outcome"] for entry in running.simulator.log.entries]
    running.simulator.play(play.playbook({"slow": ()}, turns=1))
    calm = await _played(running, "calm", limited=False)
    assert (waited.outcome, calm.outcome) == ("complete", "complete")
    assert asked.count("rate_limited") == 1
    answers = len(running.simulator.log.entries)
    assert len(asked) == answers + 1
    assert waited.spent_usd == calm.spent_usd > 0


async def stopped(
    running: Stage, name: str, is_under_way: Callable[[], bool]
) -> tuple[str, SessionResult]:
    """Play until something is under way, and stop; return the session's id and its result."""
    repository = await asyncio.to_thread(play.make_repository, running.folder / name)
    handle = await play.start(running.client, repository)
    await until(is_under_way, "it is under way")
    await handle.signal("stop", {"by": "ann"})
    result = await ends(handle.result(), "the session ends")
    assert (result.outcome, result.reason) == ("stopped", "stopped by ann")
    assert [(task.id, task.state) for task in result.tasks] == [("slow", "cancelled")]
    return handle.id.removeprefix(PREFIX), result


@pytest.mark.slow
async def test_r54_stop_ends_what_runs_keeps_its_work_and_books_it(running: Stage):
    running.simulator.play(play.stalling(COMMAND))
    await _a_command(running)
    running.simulator.play(play.silent(300))
    await _a_call(running)


async def _a_command(running: Stage) -> None:
    session, result = await stopped(running, "command", lambda: is_running(SLEEPING))
    await until(lambda: not is_running(SLEEPING), "the command has ended")
    kept = f"refs/blueflame/{session}/agents/dev.slow.1"
    safe = ("-c", "safe.bareRepository=all")
    bares = running.settings.host_dir.glob("repositories/*.git")
    (bare,) = (each for each in bares if play.git(each, *safe, "for-each-ref", kept))
    assert play.git(bare, *safe, "show", f"{kept}:slow/log.txt") == "begun"
    assert result.spent_usd == len(running.simulator.log.entries) * CALL_USD


async def _a_call(running: Stage) -> None:
    entries = running.simulator.log.entries
    _, result = await stopped(running, "call", lambda: len(entries) == 3)
    assert [entry.get("role") for entry in entries] == ["planner", "planner", "developer"]
    # In flight it may be billed: it counts at its quote, which is more than an answer costs.
    assert result.spent_usd > 3 * CALL_USD


def is_running(command: bytes) -> bool:
    """Say whether such a process lives on this machine."""
    found: list[bytes] = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(line.read_bytes())
    return any(each.startswith(command) for each in found)
