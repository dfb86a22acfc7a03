"""Sessions of many tasks, and many sessions: what a turn costs in time and by role.

Not a benchmark of its own: `benchmarks.size` and `benchmarks.growth` report what this measures.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from temporalio.client import Client, WorkflowHandle

from benchmarks import processor
from benchmarks.stage import approving_scene, concurrency, start_session
from workflows.domain.plan import Plan
from workflows.domain.session.session_config import Pacing
from workflows.domain.session.session_values import SessionResult

TURNS = 3
"""Turns of each task: one that writes, one that submits, and one of its reviewer."""


class Size(NamedTuple):
    """One session."""

    tasks: int
    seconds: float
    processor_s: float
    """Of server, workers and all that they start."""
    host_s: float
    """Of that, what the worker of role `host` and its children used."""
    events: int
    idle_s: float
    """The longest time in which work was left and no wave began."""


def plan(tasks: Sequence[str]) -> Plan:
    """Return a plan of tasks without dependencies, whose claims do not overlap."""
    return Plan.model_validate(
        {
            "tasks": [
                {
                    "id": task,
                    "kind": "code",
                    "title": f"Write {task}",
                    "acceptance_criteria": ["file 0 is there"],
                    "claims": [f"work/{task}/**"],
                }
                for task in tasks
            ]
        }
    )


def names(tasks: int) -> list[str]:
    """Return the ids of the tasks of any plan of this size."""
    return [f"t{number}" for number in range(tasks)]


def playbook(tasks: int) -> dict[str, Any]:
    """Return the playbook for plans of up to this many tasks."""
    scenes = [
        {
            "role": "developer",
            "task": task,
            "turns": [
                {"calls": [{"write": {"path": f"work/{task}/file", "content": f"{task}\n"}}]},
                {"calls": [{"submit": {"summary": "done"}}]},
            ],
        }
        for task in names(tasks)
    ]
    return {"schema": 1, "name": "long", "scenes": [*scenes, approving_scene()]}


async def run_one(
    client: Client, repository: Path, tasks: int, slots: int = 4, **config: Any
) -> tuple[Size, WorkflowHandle[Any, SessionResult]]:
    """Run one session in flow to its end.

    Args:
        client: of the stage.
        repository: the person's.
        tasks: how many tasks its plan has.
        slots: how many are developed at a time.
        config: more of the session's configuration.
    """
    before, of_host, began = processor.below(os.getpid()), _host(), time.monotonic()
    handle = await start_session(
        client,
        repository,
        plan(names(tasks)),
        pacing=Pacing.FLOW,
        concurrency=concurrency(slots, slots),
        **config,
    )
    result = await handle.result()
    if result.outcome != "complete":
        raise SystemExit(f"the session ended {result.outcome}: {result.reason}")
    seconds = time.monotonic() - began
    used, host = processor.below(os.getpid()) - before, _host() - of_host
    events, idle = await _course(client, handle.id)
    return Size(tasks, seconds, used, host, events, idle), handle


def _host() -> float:
    return processor.of("workers", "host")


async def _course(client: Client, session: str) -> tuple[int, float]:
    """Return a session's events in all its runs, and its longest time without a new wave."""
    events, starts = 0, list[float]()
    query = f'WorkflowId="{session}"'
    async for run in client.list_workflows(query):
        handle = client.get_workflow_handle(session, run_id=run.run_id)
        async for event in handle.fetch_history_events():
            events += 1
            if event.HasField("start_child_workflow_execution_initiated_event_attributes"):
                starts.append(event.event_time.ToDatetime().timestamp())
    starts.sort()
    gaps = [later - before for before, later in pairwise(starts)]
    return events, max(gaps, default=0.0)


async def run_many(client: Client, repository: Path, sessions: int, tasks: int) -> float:
    """Run sessions at the same time; return their turns a second."""
    began = time.monotonic()
    await asyncio.gather(*(run_one(client, repository, tasks) for _ in range(sessions)))
    return sessions * tasks * TURNS / (time.monotonic() - began)
