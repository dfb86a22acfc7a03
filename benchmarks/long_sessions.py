"""Sessions of many tasks, and many sessions at once: what a turn costs, and what does not move.

Not a benchmark of its own: `benchmarks.size` and `benchmarks.growth` report what this measures.
Models are scripted and take no time.
"""

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from temporalio.client import Client, WorkflowHandle

from benchmarks import processor
from benchmarks.bare import QUEUE, BareTurns, bare_workers
from benchmarks.stage import (
    approving_scene,
    concurrency,
    events_of,
    make_repository,
    stage,
    start_session,
    until_planned,
)
from workflows.domain.plan import Plan
from workflows.domain.session.query_answers import SessionResult
from workflows.domain.session.session_config import Approvals, HistoryDepth, WorktreeConfig
from workflows.domain.session.session_modes import Pacing

LONG: Final = "t0"
"""The task that takes `LONG_SECONDS`, where a playbook has one."""
LONG_SECONDS: Final = 10


_EVENTS: Final = 120
"""Of the baseline: soon exceeded, so that a continuation is due while the long task runs."""


class Size(NamedTuple):
    """What one session took."""

    tasks: int
    seconds: float
    processor_s: float
    """Of server, workers and all that they start."""
    host_s: float
    """Of that, what the worker of role `host` and its children used."""
    events: int
    idle_s: float
    """The longest time in which no wave began, before the last one."""


def names(tasks: int) -> list[str]:
    """Return the ids of the tasks of any plan of this size."""
    return [f"t{number}" for number in range(tasks)]


def plan(tasks: Sequence[str]) -> Plan:
    """Return a plan of tasks without dependencies, whose claims do not overlap."""
    common = {"kind": "code", "acceptance_criteria": ["it has a file"]}
    return Plan.model_validate(
        {
            "tasks": [
                {"id": task, "title": f"Write {task}", "claims": [f"work/{task}/**"], **common}
                for task in tasks
            ]
        }
    )


def playbook(tasks: int, turns: int = 2, *, has_long: bool = False) -> dict[str, Any]:
    """Return the playbook of plans of up to this many tasks.

    Args:
        tasks: of the largest plan.
        turns: of each developer: one each of `write`, `bash`, `read` and `edit` in turn, and the
            last one submits.
        has_long: the first task takes `LONG_SECONDS` more.
    """
    long = [_call("bash", command=f"sleep {LONG_SECONDS}")] if has_long else []
    scenes = [
        {
            "role": "developer",
            "task": task,
            "turns": [*(long if task == LONG else ()), *_turns(f"work/{task}", turns)],
        }
        for task in names(tasks)
    ]
    quote = "two" if turns > 1 and (turns - 1) % 4 == 0 else "one"
    scenes += [
        approving_scene(task, path=f"work/{task}/file", quote=quote) for task in names(tasks)
    ]
    return {"schema": 1, "name": "long", "scenes": scenes}


def _turns(folder: str, count: int) -> list[dict[str, Any]]:
    work = cycle(
        (
            _call("write", path=f"{folder}/file", content="one\n"),
            _call("bash", command=f"echo more >> {folder}/log; cat {folder}/log"),
            _call("read", path=f"{folder}/file"),
            _call("edit", path=f"{folder}/file", old="one\n", new="two\n"),
        )
    )
    return [*islice(work, count - 1), _call("submit", summary="done")]


def _call(tool: str, **arguments: str) -> dict[str, Any]:
    return {"calls": [{tool: arguments}]}


async def run_one(
    client: Client, repository: Path, tasks: int, slots: int = 4, **more: Any
) -> tuple[Size, WorkflowHandle[Any, SessionResult]]:
    """Run one session in flow to its end.

    Args:
        client: of the stage.
        repository: the person's.
        tasks: how many tasks its plan has.
        slots: how many are developed at a time.
        more: further arguments of `start_session`.
    """
    before, of_host, began = processor.below(os.getpid()), _host(), time.monotonic()
    chosen = {"pacing": Pacing.FLOW, "concurrency": concurrency(slots, slots)}
    handle = await start_session(client, repository, plan(names(tasks)), **chosen, **more)
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
    async for event in events_of(client, session):
        events += 1
        if event.HasField("start_child_workflow_execution_initiated_event_attributes"):
            starts.append(event.event_time.ToDatetime().timestamp())
    # The first is the ledger, before the repository is read.
    gaps = [later - before for before, later in pairwise(sorted(starts)[1:])]
    return events, max(gaps, default=0.0)


class Start(NamedTuple):
    """How a session began."""

    call_s: float
    """Until its first model call."""
    processor_s: float
    """Of server, workers and all that they start, for the whole session of one task."""


async def first_calls(
    make: Callable[[Path], Path], depths: Sequence[HistoryDepth] = ("full",)
) -> list[tuple[Start, Start]]:
    """Return how a session begins, and the next on its base, for each depth of the history.

    Args:
        make: makes the repository in a folder, and returns its path.
        depths: as `worktree.history`; each with a copy of the repository, which no host saw.
    """
    found: list[tuple[Start, Start]] = []
    async with stage(playbook(1)) as (client, folder):
        made = await asyncio.to_thread(make, folder / "large")
        for number, depth in enumerate(depths):
            repository = folder / f"copy{number}"
            await asyncio.to_thread(shutil.copytree, made, repository)
            first = await _start(client, repository, depth)
            found.append((first, await _start(client, repository, depth)))
    return found


async def _start(client: Client, repository: Path, depth: HistoryDepth) -> Start:
    before = processor.below(os.getpid())
    worktree = WorktreeConfig(history=depth)
    handle = await start_session(client, repository, plan(names(1)), attempts=1, worktree=worktree)
    await handle.result()
    used = processor.below(os.getpid()) - before
    return Start(await _first_call(client, handle.id), round(used, 2))


async def _first_call(client: Client, session: str) -> float:
    began = (await client.get_workflow_handle(session).describe()).start_time.timestamp()
    agent = client.get_workflow_handle(f"{session}/1/develop/dev.{LONG}.1")
    async for event in agent.fetch_history_events():
        if event.activity_task_scheduled_event_attributes.activity_type.name == "models.call":
            return round(event.event_time.ToDatetime(UTC).timestamp() - began, 2)
    raise SystemExit(f"session {session!r} called no model")


async def many_at_once(sessions: int, turns: int) -> dict[str, float]:
    """Measure sessions of one task, all at the same time, and then as many bare turns.

    A bare turn is two empty activities of a workflow, with nothing before, between or after: what
    Temporal itself costs on the machine.
    """

    async def play() -> None:
        slots = concurrency(4, 4)
        handle = await start_session(
            client, repository, plan(names(1)), pacing=Pacing.FLOW, concurrency=slots
        )
        if (result := await handle.result()).outcome != "complete":
            raise SystemExit(f"the session ended {result.outcome}: {result.reason}")

    async def play_bare() -> None:
        name = f"bare-{os.urandom(6).hex()}"
        await client.execute_workflow(BareTurns.run, count, id=name, task_queue=QUEUE)

    count = turns + 1  # and the reviewer's
    async with stage(playbook(1, turns)) as (client, folder):
        repository = make_repository(folder, 300)
        await play()
        figures = await _rate(play, sessions, count, "")
        async with bare_workers(client.service_client.config.target_host):
            await play_bare()
            figures |= await _rate(play_bare, sessions, count, "baseline_")
    return figures


async def _rate(
    play: Callable[[], Coroutine[object, object, None]], plays: int, turns: int, way: str
) -> dict[str, float]:
    before, began = processor.below(os.getpid()), time.monotonic()
    await asyncio.gather(*(play() for _ in range(plays)))
    seconds, used = time.monotonic() - began, processor.below(os.getpid()) - before
    return {
        f"{way}turns_per_s_{plays}_sessions": round(plays * turns / seconds, 2),
        f"{way}cpu_ms_per_turn": round(1e3 * used / (plays * turns), 1),
    }


async def host_cost(small: int, large: int) -> dict[str, float]:
    """Compare what a task costs the host in a large session and in a small one."""
    async with stage(playbook(large)) as (client, folder):
        repository = make_repository(folder, 300)
        costs: list[float] = []
        for tasks in (small, large):
            size, _ = await run_one(client, repository, tasks)
            costs.append(size.host_s / tasks)
    return {f"cpu_ms_per_turn_host_{large}_over_{small}": round(costs[1] / costs[0], 2)}


async def idle_gap(tasks: int) -> dict[str, float]:
    """Measure how long nothing begins around a continuation, while one task takes long."""
    figures: dict[str, float] = {}
    async with stage(playbook(tasks, has_long=True)) as (client, folder):
        repository = make_repository(folder, 300)
        for way, events in (("", 12_000), ("baseline_", _EVENTS)):
            size, _ = await run_one(client, repository, tasks, events_per_run=events)
            figures[f"{way}idle_gap_s"] = round(size.idle_s, 2)
    return figures


async def status_time(tasks: int) -> dict[str, float]:
    """Measure `status` of a session that waits for the approval of a plan of this size."""
    async with stage(playbook(1)) as (client, folder):
        asking = Approvals(plan="ask", changeset="ask")
        repository = make_repository(folder, 300)
        handle = await start_session(client, repository, plan(names(tasks)), approvals=asking)
        await until_planned(handle)
        environment = {**os.environ, "BLUEFLAME_DATA_DIR": str(folder / "data")}
        status = ("-m", "starter", "status")
        bare = ("-c", "import pydantic, temporalio.client, typer")
        seconds, used = await _took(status, environment)
        bare_seconds, bare_used = await _took(bare, environment)
    return {
        f"status_{tasks}_tasks_s": seconds,
        f"status_{tasks}_tasks_cpu_s": used,
        "baseline_imports_s": bare_seconds,
        "baseline_imports_cpu_s": bare_used,
    }


async def _took(arguments: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Return the median seconds and processor seconds of a Python program."""

    def once() -> tuple[float, float]:
        began = time.monotonic()
        command = (sys.executable, "-P", *arguments)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{arguments!r} ended with {process.returncode}")
        return time.monotonic() - began, usage.ru_utime + usage.ru_stime

    runs = [await asyncio.to_thread(once) for _ in range(5)]
    seconds, used = (round(statistics.median(each), 2) for each in zip(*runs, strict=True))
    return seconds, used
