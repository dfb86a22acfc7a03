"""One agent, 100 turns, no model latency, 4 KB observations: does the cost of a turn stay flat?

Keys of the last line:
    history_bytes_ratio_100_10   history bytes of turn 100 over turn 10, the worst of one and three
                                 model workers; flat is 1
    activities_per_turn          scheduled activities per turn
    wall_ratio                   median wall time of a turn on 300 files over the median of two bare
                                 sequential activities, measured in the same run
    wall_ratio_10k               the same on 10,000 files
"""

import argparse
import asyncio
import statistics
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from benchmarks.bare import QUEUE, BareTurns, bare_workers
from benchmarks.stage import approving_scene, make_repository, report, stage, start_session
from workflows.domain.plan import Plan

OBSERVATION_BYTES = 4_000


class Measured(NamedTuple):
    """One agent's turns."""

    bytes_by_turn: list[int]
    seconds_by_turn: list[float]
    activities: int


def playbook(turns: int) -> dict[str, Any]:
    """Return a developer with this many turns, each with 4 KB of output and one small change."""
    work = [
        {
            "calls": [
                {
                    "bash": {
                        "command": f"echo {number} >> work/log; yes {number:06} "
                        f"| head -c {OBSERVATION_BYTES}; true"
                    }
                }
            ]
        }
        for number in range(turns)
    ]
    submit = {"calls": [{"submit": {"summary": "done"}}]}
    first = {"calls": [{"bash": {"command": "mkdir work"}}]}
    developer = {"role": "developer", "turns": [first, *work, submit]}
    return {"schema": 1, "name": "turns", "scenes": [developer, approving_scene()]}


PLAN = Plan.model_validate(
    {
        "tasks": [
            {
                "id": "long",
                "kind": "architecture",
                "title": "Many turns",
                "acceptance_criteria": ["file 0 is there"],
                "claims": ["work/**"],
            }
        ]
    }
)


async def measure(client: Client, repository: Path, turns: int) -> Measured:
    """Run one session with one long agent and read that agent's history."""
    handle = await start_session(client, repository, PLAN, turns=2 * turns)
    result = await handle.result()
    if result.outcome != "complete":
        raise SystemExit(f"the session ended {result.outcome}: {result.reason}")
    agent = client.get_workflow_handle(f"{handle.id}/1/develop/dev.long.1")
    events = [event async for event in agent.fetch_history_events()]
    return _by_turn(events)


def _by_turn(events: list[HistoryEvent]) -> Measured:
    """Split a history at each scheduled model call."""
    starts = [
        place
        for place, event in enumerate(events)
        if event.activity_task_scheduled_event_attributes.activity_type.name == "models.call"
    ]
    turns = [events[a:b] for a, b in pairwise(starts)]
    at = [events[place].event_time.ToDatetime() for place in starts]
    scheduled = sum(event.HasField("activity_task_scheduled_event_attributes") for event in events)
    return Measured(
        [sum(event.ByteSize() for event in turn) for turn in turns],
        [_seconds(a, b) for a, b in pairwise(at)],
        scheduled,
    )


def _seconds(a: datetime, b: datetime) -> float:
    return (b - a).total_seconds()


async def bare(client: Client, turns: int) -> list[float]:
    """Return the seconds of each bare turn, by the server's times in the history."""
    handle = await client.start_workflow(
        BareTurns.run, turns, id=f"bare-{turns}-{id(object())}", task_queue=QUEUE
    )
    await handle.result()
    events = [event async for event in handle.fetch_history_events()]
    at = [
        event.event_time.ToDatetime()
        for event in events
        if event.HasField("activity_task_scheduled_event_attributes")
    ][::2]
    return [_seconds(a, b) for a, b in pairwise(at)]


async def main(turns: int) -> None:
    """Measure and report."""
    ratios: list[float] = []
    wall: dict[int, float] = {}
    activities = 0.0
    notes: list[str] = []
    for models, files in ((1, 300), (3, 300), (1, 10_000)):
        async with stage(playbook(turns), models) as (client, folder):
            repository = make_repository(folder, files)
            async with bare_workers(client.service_client.config.target_host):
                base = await bare(client, turns)
                seen = await measure(client, repository, turns)
                base += await bare(client, turns)
        ratio = seen.bytes_by_turn[turns - 1] / seen.bytes_by_turn[9]
        turn, two = statistics.median(seen.seconds_by_turn[5:]), statistics.median(base)
        notes.append(
            f"{files} files, {models} model workers: turn {turn * 1e3:.0f} ms, two bare activities "
            f"{two * 1e3:.0f} ms, {seen.bytes_by_turn[9]} bytes at turn 10, ratio {ratio:.3f}"
        )
        ratios.append(ratio)
        if models == 1:
            wall[files] = turn / two
        activities = max(activities, seen.activities / (len(seen.bytes_by_turn) + 1))
    figures = {
        "history_bytes_ratio_100_10": round(max(ratios, key=lambda each: abs(each - 1)), 3),
        "activities_per_turn": round(activities, 2),
        "wall_ratio": round(wall[300], 2),
        "wall_ratio_10k": round(wall[10_000], 2),
    }
    report(figures, notes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100)
    asyncio.run(main(parser.parse_args().turns))
