"""Sessions of 10 to 1,000 tasks in flow, with a gate: what does a task cost as they grow?

One server and one repository for all. `--plot FILE` draws the figures as an SVG file. The largest
size takes most of an hour on two cores; `--tasks` chooses others.

Keys of the last line, each a list with one value for each size:
    tasks                   the sizes
    seconds_per_task        wall time
    cpu_s_per_task          processor time of server, workers and what they start
    peak_worker_mb          the most memory that one worker held until then
    events_per_task         events in the session's history
    store_kb_per_task       what the store grew by
    disk_kb_per_task        what the data folder grew by, the store and the database included
"""

import argparse
import asyncio
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from activities.adapters.git.repository_cleanup import size_of
from benchmarks import processor
from benchmarks.long_sessions import playbook, run_one
from benchmarks.stage import make_repository, report, stage
from workflows.domain.gate import GateSpec

SIZES: Final = (10, 30, 100, 300, 1_000)
_GATE: Final = GateSpec(name="base", argv=("grep", "-q", "file 0", "src/d0/f0.txt"))
_WIDTH, _HEIGHT, _EDGE = 240, 150, 34
_COLUMNS: Final = 3
_STYLE: Final = (
    "text{font:11px sans-serif;fill:#444}path{fill:none;stroke:#2563eb;stroke-width:2}"
    "circle{fill:#2563eb}line{stroke:#bbb}"
)


async def measure(sizes: Sequence[int], file: Path | None) -> dict[str, list[float]]:
    """Run one session of each size, and return the figures by key.

    Args:
        sizes: in tasks, in their order.
        file: drawn again after each size; None: nothing is drawn.
    """
    figures: dict[str, list[float]] = {}
    async with stage(playbook(max(sizes))) as (client, folder):
        repository, data = make_repository(folder, 300), folder / "data"
        for tasks in sizes:
            before = size_of(data / "store"), size_of(data)
            size, _ = await run_one(client, repository, tasks, gates=(_GATE,))
            store, disk = size_of(data / "store") - before[0], size_of(data) - before[1]
            row = {
                "tasks": tasks,
                "seconds_per_task": round(size.seconds / tasks, 2),
                "cpu_s_per_task": round(size.processor_s / tasks, 2),
                "peak_worker_mb": round(processor.peak_mb("workers")),
                "events_per_task": round(size.events / tasks, 1),
                "store_kb_per_task": round(store / tasks / 1e3, 1),
                "disk_kb_per_task": round(disk / tasks / 1e3, 1),
            }
            for key, value in row.items():
                figures.setdefault(key, []).append(value)
            print(json.dumps(row | {"load": os.getloadavg()}), file=sys.stderr, flush=True)
            if file is not None:
                await asyncio.to_thread(file.write_text, plot(figures))
    return figures


def plot(figures: Mapping[str, Sequence[float]]) -> str:
    """Draw each key over the number of tasks, which grows by factors, as an SVG document."""
    panels = [key for key in figures if key != "tasks"]
    rows = math.ceil(len(panels) / _COLUMNS)
    size = f"0 0 {_COLUMNS * _WIDTH} {rows * _HEIGHT}"
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}">'
    parts = [f"{opened}<style>{_STYLE}</style>"]
    for number, key in enumerate(panels):
        at = number % _COLUMNS * _WIDTH, number // _COLUMNS * _HEIGHT
        drawn = "".join(_panel(key, figures["tasks"], figures[key]))
        parts.append(f'<g transform="translate{at}">{drawn}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(key: str, tasks: Sequence[float], values: Sequence[float]) -> list[str]:
    floor, highest = _HEIGHT - _EDGE, max([*values, 1e-9])
    span = math.log(max(tasks) / min(tasks)) or 1.0
    points = [
        (
            _EDGE + math.log(each / min(tasks)) / span * (_WIDTH - 2 * _EDGE),
            floor - max(value, 0) / highest * (floor - _EDGE),
        )
        for each, value in zip(tasks, values, strict=True)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        f'<text x="{x:.1f}" y="{y - 7:.1f}" text-anchor="middle">{value:g}</text>'
        f'<text x="{x:.1f}" y="{floor + 16}" text-anchor="middle">{each:g}</text>'
        for (x, y), each, value in zip(points, tasks, values, strict=True)
    ]
    axis = f'<line x1="{_EDGE}" y1="{floor}" x2="{_WIDTH - _EDGE}" y2="{floor}"/>'
    title = key.replace("_", " ")
    return [f'<text x="{_EDGE}" y="14">{title}</text>', axis, f'<path d="M{line}"/>', *marks]


async def main(sizes: Sequence[int], file: Path | None) -> None:
    """Measure and draw; report."""
    report(await measure(sizes, file))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, nargs="+", default=SIZES)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    asyncio.run(main(options.tasks, options.plot))
