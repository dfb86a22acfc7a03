"""The set-up of all benchmarks: a repository, a playbook, and the real server and workers.

Nothing here measures. Each benchmark ends with one line of JSON, printed by `report`.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle

from workers.roles import Role
from workers.server.supervisor import Supervisor
from workers.settings import Settings
from workers.temporal.connection import connect
from workflows import queues
from workflows.domain.ids import SessionId
from workflows.domain.plan import Plan
from workflows.domain.session.query_answers import SessionResult
from workflows.domain.session.session_config import Approvals, Concurrency, Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_start import SessionRequest

ROUTES = Routes(
    planner=("scripted/alpha",), developer=("scripted/alpha",), reviewer=("scripted/beta",)
)


@asynccontextmanager
async def stage(
    playbook: Mapping[str, Any], models: int = 1, more: Mapping[str, str] = MappingProxyType({})
) -> AsyncGenerator[tuple[Client, Path]]:
    """Run server and workers on a fresh data directory; yield a client and a scratch folder.

    Args:
        playbook: the content of a playbook.
        models: how many processes serve role `models`.
        more: variables of the workers' environment.
    """
    with tempfile.TemporaryDirectory(prefix="blueflame-bench-") as name:
        folder = Path(name)
        settings = settings_in(folder, playbook)
        async with serving(settings, models, more):
            yield await connect(settings), folder


def settings_in(folder: Path, playbook: Mapping[str, Any]) -> Settings:
    """Return settings whose data directory is `data` in a folder, and write the playbook there."""
    folder.chmod(0o755)  # made by tempfile, before anything else runs
    script = folder / "playbook.yaml"
    script.write_text(json.dumps(playbook))  # JSON is YAML
    return Settings(data_dir=folder / "data", temporal_port=0, ui_port=0, playbook=script)


@asynccontextmanager
async def serving(
    settings: Settings, models: int = 1, more: Mapping[str, str] = MappingProxyType({})
) -> AsyncGenerator[None]:
    """Run server and workers on a data directory, which lasts."""
    roles = (Role.WORKFLOWS, *[Role.MODELS] * models, Role.HOST, Role.LAND)
    supervisor = Supervisor(settings, {**_environment(), **more}, roles=roles)
    keeping = asyncio.create_task(supervisor.keep())
    try:
        await asyncio.wait_for(supervisor.workers_ready.wait(), 120)
        yield
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}


def make_repository(folder: Path, files: int) -> Path:
    """Make a repository with this many small files, a hundred in each folder."""
    root = folder / f"repository-{files}"
    for number in range(files):
        path = root / f"src/d{number // 100}/f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n" * 20)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-q", "-m", "base")
    return root


def git(root: Path, *arguments: str) -> str:
    """Run git in a repository of the benchmark's own."""
    ran = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return ran.stdout


async def start_session(
    client: Client, repository: Path, plan: Plan, events_per_run: int = 12_000, **config: Any
) -> WorkflowHandle[Any, SessionResult]:
    """Start an unattended session on a given plan; `config` changes its configuration."""
    settings = SessionConfig(
        routes=ROUTES,
        approvals=Approvals(plan="auto", changeset="auto_if_green", unjudged="allow"),
        gates=(),
        on_cap="stop",
    ).model_copy(update=config)
    name = SessionId(f"b{os.urandom(6).hex()}")
    request = SessionRequest(
        session=name,
        goal="benchmark",
        repository=str(repository),
        config=settings,
        plan=plan,
        events_per_run=events_per_run,
    )
    return await client.start_workflow(
        "SessionWorkflow",
        request,
        id=f"session/{name}",
        task_queue=queues.WORKFLOWS,
        task_timeout=request.task_timeout,
        result_type=SessionResult,
    )


async def events_of(client: Client, workflow: str) -> AsyncGenerator[HistoryEvent]:
    """Yield the events of a workflow's runs, also of those that continued as new; runs unordered.

    Args:
        client: of the stage.
        workflow: its id.
    """
    async for run in client.list_workflows(f'WorkflowId="{workflow}"'):
        handle = client.get_workflow_handle(workflow, run_id=run.run_id)
        async for event in handle.fetch_history_events():
            yield event


async def until_planned(handle: WorkflowHandle[Any, SessionResult]) -> None:
    """Wait until a session has prepared, has its plan, and asks for its approval."""
    while True:
        view = await handle.query("state", result_type=dict)
        if view["phase"] == SessionPhase.AWAITING_PLAN:
            return
        await asyncio.sleep(0.2)


def concurrency(develop: int, validation: int) -> Concurrency:
    """Return a session's concurrency."""
    return Concurrency.model_validate({"develop": develop, "validate": validation})


def approving_scene(task: str | None = None, **cited: str) -> dict[str, Any]:
    """Return a reviewer that approves, with valid evidence for its only criterion.

    Args:
        task: the only one that it reviews; None: any task.
        cited: `path` and `quote` of the first line of a file that the task wrote. Without them the
            evidence is a line of the base, for which Blue Flame asks for a second review.
    """
    unchanged = {
        "path": "src/d0/f0.txt",
        "quote": "file 0",
        "unchanged_because": "the criterion asks for a file of the base",
    }
    evidence = {"criterion": "1", "line_start": 1, "line_end": 1, **(cited or unchanged)}
    verdict = {"approve": True, "summary": "good", "evidence": [evidence]}
    turns = [{"calls": [{"submit_verdict": verdict}]}]
    return {"role": "reviewer", "turns": turns, **({"task": task} if task else {})}


def report(figures: Mapping[str, object], notes: Sequence[str] = ()) -> None:
    """Print notes for a person on standard error, and the figures as one line of JSON."""
    for note in notes:
        print(note, file=sys.stderr)
    print(json.dumps(figures))
