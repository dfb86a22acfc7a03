"""Records the histories that the replay tests play: `scripts/record_histories`.

Run it when workflow code changed on purpose and no session that began before has to go on. A change
that running sessions must survive is gated by `workflow.patched`, and the old histories stay.
Of histories with the same course of events only one is kept.
"""

import argparse
import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.replay import fingerprints, scenarios
from tests.theatre import Theatre
from tests.waiting import until
from workers import wiring
from workers.roles import Role
from workers.server.dev_server import choose_address, server_command
from workers.settings import Settings
from workflows import queues

HISTORIES: Final = Path(__file__).with_name("histories")
FINGERPRINTS: Final = Path(__file__).with_name("fingerprints.json")
_EARLY: Final = "--dynamic-config-value=limit.historyCount.suggestContinueAsNew=40"


async def record(only: str = "") -> None:
    """Play every scenario, or the one of a name, and write the histories of all its workflows."""
    shutil.rmtree(HISTORIES / only, ignore_errors=True)
    seen: set[tuple[str, ...]] = set()
    early = scenarios.continued
    async with server() as client:
        for scenario in scenarios.SCENARIOS:
            if only in {"", _name(scenario)}:
                await _record(client, scenario, seen)
    if only in {"", _name(early)}:
        async with server(_EARLY) as client:
            await _record(client, early, seen)


def _name(scenario: scenarios.Scenario) -> str:
    return getattr(scenario, "__name__", "scenario")


async def _record(client: Client, scenario: scenarios.Scenario, seen: set[tuple[str, ...]]) -> None:
    theatre = Theatre(client)
    async with serving(theatre):
        session = await scenario(theatre)
    name = _name(scenario)
    folder = HISTORIES / name
    folder.mkdir(parents=True)
    query = (
        f"WorkflowId = '{session}' OR WorkflowId STARTS_WITH '{session}/' "
        "OR WorkflowType IN ('ScheduledRun', 'RepositoryTurn', 'GoalQueue')"
    )
    found = [each async for each in client.list_workflows(query)]
    for each in sorted(found, key=lambda one: (one.id, one.start_time)):
        history = await client.get_workflow_handle(each.id, run_id=each.run_id).fetch_history()
        course = _course(each.workflow_type, history.events)
        if course not in seen:
            seen.add(course)
            number = sum(1 for _ in folder.glob(f"{each.workflow_type}-*")) + 1
            _write(folder / f"{each.workflow_type}-{number}.json", history)
    kept = sum(1 for _ in folder.iterdir())
    sys.stdout.write(f"{name}: {len(found)} workflows, {kept} kept\n")


def _write(path: Path, history: WorkflowHistory) -> None:
    content = {"id": history.workflow_id, "history": json.loads(history.to_json())}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def load(path: Path) -> WorkflowHistory:
    """Read one recorded history."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return WorkflowHistory.from_json(content["id"], content["history"])


def _course(workflow: str, events: Sequence[HistoryEvent]) -> tuple[str, ...]:
    """Return what happened, without whom and with what."""
    return (workflow, *(_event(each) for each in events))


def _event(event: HistoryEvent) -> str:
    activity = event.activity_task_scheduled_event_attributes.activity_type.name
    signal = event.workflow_execution_signaled_event_attributes.signal_name
    return f"{EventType.Name(event.event_type)} {activity}{signal}"


@asynccontextmanager
async def serving(theatre: Theatre) -> AsyncGenerator[None]:
    """Run workers on all queues; the theatre's worlds play the activities."""
    client = theatre.client
    workers = [
        Worker(client, task_queue=queue, activities=[theatre.act])
        for queue in (queues.MODELS, queues.HOST, "host/h", queues.LAND)
    ]
    workers.append(
        Worker(
            client,
            task_queue=queues.WORKFLOWS,
            workflows=wiring.workflows_for(Role.WORKFLOWS),
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
    )
    async with AsyncExitStack() as stack:
        for worker in workers:
            await stack.enter_async_context(worker)
        yield


@asynccontextmanager
async def server(*flags: str) -> AsyncGenerator[Client]:
    """Run the bundled server with more flags than ours; yield a client that names no one."""
    with tempfile.TemporaryDirectory(prefix="blueflame-record-") as name:
        settings = Settings(data_dir=Path(name), temporal_port=0, ui_port=0)
        address = choose_address(settings)
        command = (*server_command(address, settings.data_dir / "temporal.db"), *flags)
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield await _connected(address.address, process)
        finally:
            process.terminate()
            await process.wait()


async def _connected(address: str, process: asyncio.subprocess.Process) -> Client:
    found: list[Client] = []

    async def answers() -> bool:
        if process.returncode is not None:
            raise SystemExit(f"the server at {address} did not come up")
        with contextlib.suppress(RPCError, RuntimeError):
            found.append(
                await Client.connect(
                    address, data_converter=pydantic_data_converter, identity="recorder"
                )
            )
        return bool(found)

    await until(answers, f"the server at {address} answers")
    return found[0]


def write_fingerprints() -> None:
    """Write the fingerprints of the workflow code as it is now."""
    now = fingerprints.fingerprints(fingerprints.module_files())
    FINGERPRINTS.write_text(json.dumps(now, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Record what is asked for."""
    parser = argparse.ArgumentParser(prog="scripts/record_histories", description=__doc__)
    parser.add_argument(
        "--fingerprints-only",
        action="store_true",
        help="for a change that is gated, or that the recorded histories do not notice",
    )
    parser.add_argument(
        "--only", default="", metavar="SCENARIO", help="record one; keep the others"
    )
    wanted = parser.parse_args(arguments)
    if not wanted.fingerprints_only:
        asyncio.run(record(wanted.only))
    write_fingerprints()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
