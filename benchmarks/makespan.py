"""Random DAGs of 10, 30 and 100 tasks on four slots: how near is a session to a list scheduler?

- A task is a scripted developer with three to eleven model calls and a scripted reviewer with one.
  A call takes 200 ms. The repository has 300 files. Claims do not overlap, and there are no gates.
- A task's length is its wall time alone, in its own session, on the same server in the same run:
  from the start of its DevelopWave to the end of its ValidateWave (where dependants start in
  `flow`). Tasks with the same number of calls are equal, so each kind runs alone a few times,
  before and after the DAGs, and the median counts.
- The bound is the makespan of greedy list scheduling with these lengths (longest chain first; a
  task occupies one of four slots during development only; nothing else takes time), plus one merge:
  the median of the merges of tasks that ran alone.
- A DAG's wall time is from the start of the first DevelopWave to the end of the last MergeWave.
- A task's cost is processor time: that of the server, the workers and all that they start, from the
  approval of the plan to the end of the session, divided by the number of tasks.

Keys of the last line:
    flow_ratio_30               wall time over the bound, 30 tasks, pacing `flow`; median of seeds
    wave_ratio_30               the same with pacing `wave`, whose barriers the bound does not have
    cost_per_task_ratio_100_10  cost of a task with 100 tasks over that with 10 (`flow`)
    session_events_per_task     events in the session's history per task, the highest of all runs
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from temporalio.client import Client

from benchmarks import processor
from benchmarks.bound import Length, list_schedule
from benchmarks.stage import (
    approving_scene,
    concurrency,
    events_of,
    make_repository,
    report,
    stage,
    start_session,
    until_planned,
)
from workflows.domain.plan import Plan
from workflows.domain.session.session_config import Approvals
from workflows.domain.session.session_modes import Pacing

SLOTS = 4
LATENCY_S = 0.2
KINDS = (2, 4, 6, 8, 10)
"""How many turns with a command a task can have before it submits."""
_NEAR = 8
"""A task depends only on some of the last tasks before it, so DAGs have chains and breadth."""


class Job(NamedTuple):
    """One task of a DAG."""

    id: str
    turns: int
    needs: tuple[str, ...]


class Ran(NamedTuple):
    """One session: seconds by the server's clock, from its history."""

    develop: float
    """Of the first DevelopWave."""
    validate: float
    """From its end to the end of the first ValidateWave."""
    merge: float
    """Of the last MergeWave."""
    whole: float
    """From the first DevelopWave's start to the last MergeWave's end."""
    events: int
    processor_s: float


def random_jobs(prefix: str, count: int, seed: int) -> list[Job]:
    """Return a random DAG; the same arguments give the same one."""
    chance = random.Random(seed)
    # Every kind is equally frequent, so that the cost of a task can be compared between sizes.
    kinds = [KINDS[number % len(KINDS)] for number in range(count)]
    chance.shuffle(kinds)
    jobs: list[Job] = []
    for number, kind in enumerate(kinds):
        near = [job.id for job in jobs[-_NEAR:]]
        needs = chance.sample(near, min(len(near), chance.choice((0, 1, 1, 2))))
        jobs.append(Job(f"{prefix}-{number}", kind, tuple(sorted(needs))))
    return jobs


def plan(jobs: Sequence[Job]) -> Plan:
    """Return the plan with claims that never overlap."""
    return Plan.model_validate(
        {
            "tasks": [
                {
                    "id": job.id,
                    "kind": "code",
                    "title": f"Write {job.id}",
                    "acceptance_criteria": ["it has a log"],
                    "claims": [f"work/{job.id}/**"],
                    "depends_on": list(job.needs),
                }
                for job in jobs
            ]
        }
    )


def playbook(jobs: Sequence[Job]) -> dict[str, Any]:
    """Return the playbook for all jobs."""
    scenes = [{"role": "developer", "task": job.id, "turns": _turns(job)} for job in jobs]
    scenes += [approving_scene(job.id, path=f"work/{job.id}/log", quote="0") for job in jobs]
    return {"schema": 1, "name": "makespan", "latency_s": LATENCY_S, "scenes": scenes}


def _turns(job: Job) -> list[dict[str, Any]]:
    folder = f"work/{job.id}"
    commands = [f"mkdir -p {folder}; echo {turn} >> {folder}/log" for turn in range(job.turns)]
    work = [{"calls": [{"bash": {"command": command}}]} for command in commands]
    return [*work, {"calls": [{"submit": {"summary": "done"}}]}]


class Bench:
    """Sessions on one repository and one server."""

    def __init__(self, client: Client, repository: Any) -> None:
        self._client = client
        self._repository = repository

    async def run(self, jobs: Sequence[Job], pacing: Pacing) -> Ran:
        """Run one session to its end and measure it."""
        handle = await start_session(
            self._client,
            self._repository,
            plan(jobs),
            pacing=pacing,
            concurrency=concurrency(SLOTS, SLOTS),
            approvals=Approvals(plan="ask", changeset="auto_if_green", unjudged="allow"),
        )
        await until_planned(handle)
        before = processor.below(os.getpid())
        await handle.signal("approve_plan", {})
        result = await handle.result()
        used = processor.below(os.getpid()) - before
        if result.outcome != "complete":
            raise SystemExit(f"the session ended {result.outcome}: {result.reason}")
        return await _ran(self._client, handle.id, used)

    async def alone(self, jobs: Sequence[Job]) -> dict[int, list[Ran]]:
        """Run each job in its own session; return the lengths by number of turns."""
        found: dict[int, list[Ran]] = {}
        for job in jobs:
            ran = await self.run([job], Pacing.FLOW)
            found.setdefault(job.turns, []).append(ran)
            length = f"{ran.develop:.1f} s + {ran.validate:.1f} s, merge {ran.merge:.1f} s"
            print(f"{job.turns} turns alone: {length}", file=sys.stderr)
        return found


async def _ran(client: Client, session: str, used: float) -> Ran:
    """Read a session's history: when each wave began and ended."""
    begun: dict[str, float] = {}
    ended: dict[str, float] = {}
    events = 0
    async for event in events_of(client, session):
        events += 1
        at = event.event_time.ToDatetime().timestamp()
        started = event.start_child_workflow_execution_initiated_event_attributes.workflow_id
        closed = event.child_workflow_execution_completed_event_attributes
        if started:
            begun[started] = at
        elif closed.workflow_execution.workflow_id:
            ended[closed.workflow_execution.workflow_id] = at
    first = _named(begun, "develop")[0]
    judged = ended[_named(begun, "validate")[0]]
    last = max(_named(begun, "merge"), key=ended.__getitem__)
    return Ran(
        develop=ended[first] - begun[first],
        validate=judged - ended[first],
        merge=ended[last] - begun[last],
        whole=ended[last] - begun[first],
        events=events,
        processor_s=used,
    )


def _named(begun: Mapping[str, float], stage_name: str) -> list[str]:
    return sorted(
        (name for name in begun if name.endswith(f"/{stage_name}")), key=begun.__getitem__
    )


def bound(jobs: Sequence[Job], lone: Mapping[int, Sequence[Ran]]) -> float:
    """Return the bound of a DAG in seconds."""
    by_turns = {
        turns: Length(
            statistics.median(each.develop for each in ran),
            statistics.median(each.validate for each in ran),
        )
        for turns, ran in lone.items()
    }
    lengths = {job.id: by_turns[job.turns] for job in jobs}
    merge = statistics.median(each.merge for ran in lone.values() for each in ran)
    return list_schedule(lengths, {job.id: job.needs for job in jobs}, SLOTS) + merge


async def main(seed: int, seeds: int, repeats: int) -> None:
    """Measure and report."""
    sizes = [(10, f"x{number}") for number in range(seeds)]
    sizes += [(30, f"y{number}") for number in range(seeds)] + [(100, "z")]
    dags = {name: random_jobs(name, size, seed + n) for n, (size, name) in enumerate(sizes)}
    lone_jobs = [
        Job(f"alone{half}-{kind}-{number}", kind, ())
        for half in (0, 1)
        for number in range(repeats)
        for kind in KINDS
    ]
    half = len(lone_jobs) // 2
    script = playbook([*lone_jobs, *(job for jobs in dags.values() for job in jobs)])
    notes = [f"seed {seed}"]
    async with stage(script) as (client, folder):
        bench = Bench(client, make_repository(folder, 300))
        lone = await bench.alone(lone_jobs[:half])
        flow = {name: await _told(bench, name, jobs, Pacing.FLOW) for name, jobs in dags.items()}
        thirty = {name: jobs for name, jobs in dags.items() if len(jobs) == 30}
        wave = {name: await _told(bench, name, jobs, Pacing.WAVE) for name, jobs in thirty.items()}
        for kind, ran in (await bench.alone(lone_jobs[half:])).items():
            lone[kind] += ran
    for kind, ran in lone.items():
        notes.append(f"{kind} turns alone: {[round(r.develop + r.validate, 2) for r in ran]} s")
    for pacing, runs in (("flow", flow), ("wave", wave)):
        for name, ran in runs.items():
            ratio = ran.whole / bound(dags[name], lone)
            notes.append(f"{pacing}, {len(dags[name])} tasks: {ran.whole:.1f} s, ratio {ratio:.3f}")
    report(_figures(dags, lone, flow, wave), notes)


async def _told(bench: Bench, name: str, jobs: Sequence[Job], pacing: Pacing) -> Ran:
    ran = await bench.run(jobs, pacing)
    cost = ran.processor_s / len(jobs)
    text = (
        f"{ran.whole:.1f} s, {cost:.2f} processor seconds and {ran.events / len(jobs):.1f} events"
    )
    print(f"{name}, {len(jobs)} tasks in {pacing}: {text} a task", file=sys.stderr)
    return ran


def _figures(
    dags: Mapping[str, Sequence[Job]],
    lone: Mapping[int, Sequence[Ran]],
    flow: Mapping[str, Ran],
    wave: Mapping[str, Ran],
) -> dict[str, object]:
    def ratio(runs: Mapping[str, Ran]) -> float:
        thirty = [name for name in runs if len(dags[name]) == 30]
        return statistics.median(runs[name].whole / bound(dags[name], lone) for name in thirty)

    def cost(size: int) -> float:
        chosen = [name for name in flow if len(dags[name]) == size]
        return statistics.median(flow[name].processor_s / size for name in chosen)

    events = [ran.events / len(dags[name]) for runs in (flow, wave) for name, ran in runs.items()]
    return {
        "flow_ratio_30": round(ratio(flow), 3),
        "wave_ratio_30": round(ratio(wave), 3),
        "cost_per_task_ratio_100_10": round(cost(100) / cost(10), 3),
        "session_events_per_task": round(max(events), 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3, help="DAGs of 10 and of 30 tasks")
    parser.add_argument("--repeats", type=int, default=2, help="lone runs of a kind, twice")
    options = parser.parse_args()
    asyncio.run(main(options.seed, options.seeds, options.repeats))
