"""The scripted session on a project: its playbook, and when its worktrees were ready."""

import asyncio
import json
from pathlib import Path
from typing import Any

from benchmarks.strangers.stranger_shape import Project

_END = "END_OF_TEXT"


def playbook(project: Project, root: Path) -> dict[str, Any]:
    """Return the playbook: a plan of one task, its work, and a review.

    Args:
        project: the project, with the texts to append.
        root: its repository.
    """
    paths = list(project.appended)
    criterion = "The function and its test are there."
    task = {
        "id": "small-change",
        "kind": "code",
        "title": "One more function, with a test",
        "acceptance_criteria": [criterion],
        "claims": paths,
    }
    evidence = [_evidence(root, path, text) for path, text in project.appended.items()]
    verdict = {"approve": True, "summary": "Both are there.", "evidence": evidence}
    appends = [
        {"bash": {"command": f"cat >> {path} <<'{_END}'\n{text}{_END}"}}
        for path, text in project.appended.items()
    ]
    submit = {"submit": {"summary": "A function and its test."}}
    return {
        "schema": 1,
        "name": "strangers",
        "usage": {"input_tokens": 2000, "output_tokens": 200},
        "scenes": [
            {"role": "planner", "turns": [{"calls": [{"submit_plan": {"tasks": [task]}}]}]},
            {"role": "developer", "turns": [{"calls": appends}, {"calls": [submit]}]},
            {"role": "reviewer", "turns": [{"calls": [{"submit_verdict": verdict}]}]},
        ],
    }


def _evidence(root: Path, path: str, appended: str) -> dict[str, Any]:
    before = (root / path).read_text(encoding="utf-8").count("\n")
    lines = appended.splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.strip())
    place = {"line_start": before + number, "line_end": before + number}
    return {"criterion": "1", "path": path, "quote": lines[number - 1].strip(), **place}


def write_playbook(project: Project, root: Path, file: Path) -> None:
    """Write a project's playbook where every user can read it."""
    file.write_text(json.dumps(playbook(project, root)), encoding="utf-8")  # JSON is YAML
    file.chmod(0o644)


def worktree_seconds(data: Path) -> list[float]:
    """Return how long each worktree took, in the order in which they were asked for.

    Args:
        data: the data directory of a server that runs.
    """
    return asyncio.run(asyncio.wait_for(_worktree_seconds(data), 60))


async def _worktree_seconds(data: Path) -> list[float]:
    from workers.settings import Settings
    from workers.temporal.connection import connect

    client = await connect(Settings(data_dir=data, temporal_port=0, ui_port=0))
    found: list[tuple[int, float]] = []
    async for execution in client.list_workflows(""):
        handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
        asked: dict[int, int] = {}
        for event in (await handle.fetch_history()).events:
            at = event.event_time.ToMicroseconds()
            scheduled = event.activity_task_scheduled_event_attributes
            completed = event.activity_task_completed_event_attributes
            if scheduled.activity_type.name == "worktrees.prepare":
                asked[event.event_id] = at
            elif completed.scheduled_event_id in asked:
                start = asked[completed.scheduled_event_id]
                found.append((start, (at - start) / 1e6))
    return [seconds for _, seconds in sorted(found)]
