"""The session that the crash tests disturb: several tasks, several turns, commands that append.

An append that ran twice shows in the final tree; a turn that was asked for twice, in the
simulator's log.
"""

import subprocess
import uuid
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from activities.playbook import Playbook
from workflows import queues
from workflows.domain.config import Approvals, Pacing, Routes, SessionConfig
from workflows.domain.gate import GateSpec
from workflows.domain.ids import SessionId
from workflows.domain.session import SessionRequest, SessionResult

ROUTES = Routes(
    planner=("openai/gpt-4.1-nano",),
    developer=("openai/gpt-4.1-nano",),
    reviewer=("google/gemini-2.5-flash-lite",),
)
TASKS: dict[str, tuple[str, ...]] = {"left": (), "right": (), "top": ("left", "right"), "side": ()}
TURNS = 4
LATENCY_S = 0.1


def playbook(tasks: dict[str, tuple[str, ...]], turns: int) -> Playbook:
    """Return a playbook in which each task appends one line a turn, a second one after a moment."""
    scenes: list[dict[str, Any]] = [_planner(tasks)]
    for name in tasks:
        scenes += [_developer(name, turns), _reviewer(name)]
    document = {"schema": 1, "name": "crash", "latency_s": LATENCY_S, "scenes": scenes}
    return Playbook.model_validate(document)


def _planner(tasks: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    planned = [
        {
            "id": name,
            "title": f"Fill {name}",
            "acceptance_criteria": ["each line is there once"],
            "claims": [f"{name}/**"],
            "depends_on": list(needs),
        }
        for name, needs in tasks.items()
    ]
    look: dict[str, Any] = {"calls": [{"bash": {"command": "ls"}}]}
    submit = {"calls": [{"submit_plan": {"summary": "append", "tasks": planned}}]}
    return {"role": "planner", "turns": [look, submit]}


def _developer(name: str, turns: int) -> dict[str, Any]:
    log = f"{name}/log.txt"
    work: list[dict[str, Any]] = [
        {
            "calls": [
                {"bash": {"command": f"mkdir -p {name}; echo {name} {turn} begins >> {log}"}},
                {"bash": {"command": f"sleep 0.1; echo {name} {turn} ends >> {log}; wc -l {log}"}},
            ]
        }
        for turn in range(1, turns + 1)
    ]
    submit = {"calls": [{"submit": {"summary": "filled"}}]}
    return {"role": "developer", "task": name, "turns": [*work, submit]}


def _reviewer(name: str) -> dict[str, Any]:
    cited = {"criterion": "1", "path": f"{name}/log.txt", "line_start": 1, "line_end": 1}
    evidence = [{**cited, "quote": f"{name} 1 begins"}]
    verdict = {"approve": True, "summary": "good", "evidence": evidence}
    return {"role": "reviewer", "task": name, "turns": [{"calls": [{"submit_verdict": verdict}]}]}


def make_repository(path: Path) -> Path:
    """Make the person's repository: three files, one commit."""
    for name, text in {"README.md": "# logs\n", ".gitignore": "*.seen\n", "a/b": "b\n"}.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    git(path, "init", "-q", "-b", "main")
    git(path, "add", "-A")
    git(path, "-c", "user.name=p", "-c", "user.email=p@localhost", "commit", "-q", "-m", "base")
    return path


def git(where: Path, *arguments: str) -> str:
    """Run git as a person would, and return what it says."""
    ran = subprocess.run(["git", *arguments], cwd=where, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


async def start(
    client: Client, repository: Path, pacing: Pacing
) -> WorkflowHandle[Any, SessionResult]:
    """Start the session, with nobody to ask and one gate."""
    config = SessionConfig(
        pacing=pacing,
        routes=ROUTES,
        approvals=Approvals(plan="auto", changeset="auto_if_green"),
        gates=(GateSpec(name="readme", argv=("test", "-f", "README.md")),),
        on_cap="stop",
    )
    name = SessionId(f"c{uuid.uuid4().hex[:10]}")
    request = SessionRequest(
        session=name, goal="append lines", repository=str(repository), config=config
    )
    return await client.start_workflow(
        "SessionWorkflow",
        request,
        id=f"session/{name}",
        task_queue=queues.WORKFLOWS,
        result_type=SessionResult,
    )
