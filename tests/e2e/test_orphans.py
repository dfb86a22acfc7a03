"""A worker's death and an activity's heartbeats, on the real server."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import CancelledError

from tests import waiting
from tests.e2e.processes import end, environment, kill
from tests.e2e.slow_work import SlowRequest, SlowWorkflow, activities, workflows
from tests.waiting import PATIENCE
from workers.hosting import data_layout
from workers.roles import Role
from workers.settings import Settings
from workers.temporal.orphaned_activities import Journal, fail_orphans
from workers.worker_serving import Code, offers, serve
from workflows.queues import WORKFLOWS

pytestmark = pytest.mark.e2e


@contextlib.contextmanager
def _worker(settings: Settings) -> "Generator[subprocess.Popen[bytes]]":
    log = settings.data_dir.parent / "worker.log"
    variables = environment(settings, BLUEFLAME_SERVER=settings.server or "")
    with (
        log.open("ab") as output,
        subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.e2e.slow_worker", "--roles", "workflows"],
            env=variables,
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                end(process)


@contextlib.asynccontextmanager
async def _serving(settings: Settings) -> AsyncGenerator[None]:
    data_layout.prepare(settings)
    stop = asyncio.Event()
    offered = offers(settings, [Role.WORKFLOWS], Code(workflows, activities))
    task = asyncio.create_task(serve(settings, offered, stop, lambda _line: None))
    try:
        yield
    finally:
        stop.set()
        await task


async def _start(
    client: Client, name: str, request: SlowRequest
) -> WorkflowHandle[SlowWorkflow, int]:
    return await client.start_workflow(SlowWorkflow.run, request, id=name, task_queue=WORKFLOWS)


def endless(began: Path, heartbeat_seconds: float) -> SlowRequest:
    return SlowRequest(
        began=str(began),
        heartbeat_seconds=heartbeat_seconds,
        endless_attempts=1_000,
    )


async def _began(path: Path, line: str) -> None:
    def is_there() -> bool:
        return path.exists() and line in path.read_text().splitlines()

    await waiting.until(is_there, f"the line {line!r}", seen=lambda: waiting.text_of(path))


async def _why_again(handle: WorkflowHandle[SlowWorkflow, int]) -> str:
    """Return the type of the failure that the last attempt followed."""
    reasons = [
        event.activity_task_started_event_attributes.last_failure
        async for event in handle.fetch_history_events()
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    ]
    return reasons[-1].application_failure_info.type


@pytest.mark.slow
async def test_a_killed_workers_activity_is_tried_again_at_the_next_start(
    temporal_settings: Settings, temporal_client: Client, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    # So long a heartbeat timeout that only the journal can bring the second attempt about.
    request = SlowRequest(began=str(began), heartbeat_seconds=600, endless_attempts=1)
    handle = await _start(temporal_client, f"killed-{os.urandom(4).hex()}", request)
    with _worker(temporal_settings) as worker:
        await _began(began, "attempt 1")
        kill(worker.pid)
        worker.wait(PATIENCE)
    with _worker(temporal_settings):
        assert await waiting.ends(handle.result(), "the end of the workflow") == 2
    assert await _why_again(handle) == "WorkerLost"


@pytest.mark.slow
async def test_a_polite_end_leaves_nothing_to_hand_back(
    temporal_settings: Settings, temporal_client: Client, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    request = SlowRequest(began=str(began), heartbeat_seconds=600, until_shutdown=True)
    handle = await _start(temporal_client, f"polite-{os.urandom(4).hex()}", request)
    with _worker(temporal_settings) as worker:
        await _began(began, "attempt 1")
        end(worker)
    journal = data_layout.journal_dir(temporal_settings, on_host=False)
    assert list(journal.iterdir()) == []
    # It finished its activity in the grace; another one takes the workflow to its end.
    async with _serving(temporal_settings):
        assert await waiting.ends(handle.result(), "the end of the workflow") == 1


async def test_a_living_workers_journal_is_left_alone(
    temporal_client: Client, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journals")
    journal.open()
    noted = journal.add(b"token")
    assert await fail_orphans(temporal_client, tmp_path / "journals") == 0
    assert noted.exists()
    journal.close()
    assert list((tmp_path / "journals").iterdir()) == []


async def test_settled_and_damaged_tokens_are_passed_over(
    temporal_settings: Settings, temporal_client: Client, tmp_path: Path
) -> None:
    dead = tmp_path / "journals" / "dead"
    dead.mkdir(parents=True)
    (dead / "lock").touch()
    (dead / "1").write_bytes(b"no token at all")
    (dead / "2").write_bytes(b"")
    assert await fail_orphans(temporal_client, tmp_path / "journals") == 0
    assert not dead.exists()


@pytest.mark.slow
async def test_an_activity_without_code_for_it_keeps_beating(
    temporal_settings: Settings, temporal_client: Client, tmp_path: Path
) -> None:
    request = endless(tmp_path / "began", heartbeat_seconds=1)
    async with _serving(temporal_settings):
        handle = await _start(temporal_client, f"beats-{os.urandom(4).hex()}", request)

        async def outlives_its_timeout() -> bool:
            # On a machine that stood still an attempt may be lost; the next one beats as well.
            description = await handle.describe()
            return any(
                each.last_heartbeat_time.ToDatetime() - each.last_started_time.ToDatetime()
                > timedelta(seconds=1.5)
                for each in description.raw_description.pending_activities
            )

        await waiting.until(outlives_its_timeout, "an attempt lives by its heartbeats")
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await waiting.ends(handle.result(), "the end of the workflow")


@pytest.mark.slow
async def test_a_cancellation_arrives_by_heartbeat(
    temporal_settings: Settings, temporal_client: Client, tmp_path: Path
) -> None:
    """Field report R54."""
    began = tmp_path / "began"
    # So long that no attempt ends by it, and the activity is never asked to end otherwise.
    request = endless(began, heartbeat_seconds=600)
    async with _serving(temporal_settings):
        handle = await _start(temporal_client, f"cancel-{os.urandom(4).hex()}", request)
        await _began(began, "attempt 1")
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as ended:
            await waiting.ends(handle.result(), "the end of the workflow")
        assert isinstance(ended.value.cause, CancelledError)
        assert began.read_text() == "attempt 1\ncancelled\n"
