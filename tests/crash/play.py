"""The session that the crash tests disturb: several tasks, several turns, commands that append.

An append that ran twice shows in the final tree; a turn that was asked for twice, in the
simulator's log.
"""

import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from activities.adapters.models.scripted.playbook import Playbook
from workflows import queues
from workflows.domain.gate import GateSpec
from workflows.domain.ids import SessionId
from workflows.domain.session.query_answers import SessionResult
from workflows.domain.session.session_config import Approvals, Routes, SessionConfig
from workflows.domain.session.session_modes import Pacing
from workflows.domain.session.session_start import SessionRequest

ROUTES = Routes(
    planner=("openai/gpt-4.1-nano",),
    developer=("openai/gpt-4.1-nano",),
    reviewer=("google/gemini-2.5-flash-lite",),
)
TASKS: Mapping[str, tuple[str, ...]] = {
    "left": (),
    "right": (),
    "top": ("left", "right"),
    "side": (),
}
TURNS = 4
LATENCY_S = 0.1
_SUBMIT: Mapping[str, Any] = {"calls": [{"submit": {"summary": "filled"}}]}


def stalling(command: str) -> Playbook:
    """Return a playbook of one task whose only turn runs `command`."""
    tasks = {"slow": ()}
    turns = [{"calls": [{"bash": {"command": command}}]}, _SUBMIT]
    developer: dict[str, Any] = {"role": "developer", "turns": turns}
    cited = {"criterion": "1", "path": "README.md", "line_start": 1, "line_end": 1}
    return _book(_planner(tasks), developer, _reviewer("slow", {**cited, "quote": "# logs"}))


def silent(wait_s: int) -> Playbook:
    """Return a playbook of one task whose first call is answered after so many seconds."""
    developer: dict[str, Any] = {"role": "developer", "turns": [{**_SUBMIT, "latency_s": wait_s}]}
    return _book(_planner({"slow": ()}), developer)


def limited(wait_s: int) -> Playbook:
    """Return a playbook of one task whose first call is refused once, for so many seconds."""
    error = {"kind": "rate_limited", "retry_after": wait_s, "times": 1}
    write = {"calls": [{"write": {"path": "slow/log.txt", "content": "slow\n"}}], "error": error}
    developer: dict[str, Any] = {"role": "developer", "turns": [write, _SUBMIT]}
    cited = {"criterion": "1", "path": "slow/log.txt", "line_start": 1, "line_end": 1}
    reviewer = _reviewer("slow", {**cited, "quote": "slow"})
    return _book(_planner({"slow": ()}), developer, reviewer)


def playbook(tasks: Mapping[str, tuple[str, ...]] = TASKS, turns: int = TURNS) -> Playbook:
    """Return a playbook in which each task appends one line a turn, a second one after a moment."""
    scenes: list[dict[str, Any]] = [_planner(tasks)]
    for name in tasks:
        cited = {"criterion": "1", "path": f"{name}/log.txt", "line_start": 1, "line_end": 1}
        evidence = {**cited, "quote": f"{name} 1 begins"}
        scenes += [_developer(name, turns), _reviewer(name, evidence)]
    return _book(*scenes)


def _book(*scenes: dict[str, Any]) -> Playbook:
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    document = {
        "schema": 1,
        "name": "crash",
        "latency_s": LATENCY_S,
        "usage": usage,
        "scenes": scenes,
    }
    return Playbook.model_validate(document)


def _planner(tasks: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
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
    return {"role": "developer", "task": name, "turns": [*work, _SUBMIT]}


def _reviewer(name: str, evidence: dict[str, Any]) -> dict[str, Any]:
    verdict = {"approve": True, "summary": "good", "evidence": [evidence]}
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
    client: Client, repository: Path, waves_per_run: int = 200, **changes: Any
) -> WorkflowHandle[Any, SessionResult]:
    """Start the session, with no one to ask and one gate unless `changes` says otherwise.

    Args:
        client: of the server.
        repository: the person's.
        waves_per_run: after which the session continues as new.
        changes: of its configuration.
    """
    config = SessionConfig(
        pacing=Pacing.FLOW,
        routes=ROUTES,
        approvals=Approvals(plan="auto", changeset="auto_if_green"),
        gates=(GateSpec(name="readme", argv=("test", "-f", "README.md")),),
        on_cap="stop",
    ).model_copy(update=changes)
    name = SessionId(f"c{uuid.uuid4().hex[:10]}")
    request = SessionRequest(
        session=name,
        goal="append lines",
        repository=str(repository),
        config=config,
        waves_per_run=waves_per_run,
    )
    return await client.start_workflow(
        "SessionWorkflow",
        request,
        id=f"session/{name}",
        task_queue=queues.WORKFLOWS,
        result_type=SessionResult,
    )
