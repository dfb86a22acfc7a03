"""What metrics and traces cost: the same sessions with telemetry on and off, in turn.

Two sets of workers run at the same time, each with a server. One sends traces and metrics to a
collector and is scraped every two seconds, the other does neither. Only one works at a time: blocks
of turns with and without telemetry alternate, and each pair of blocks gives one ratio.

Keys of the last line:
    turn_overhead_pct   median wall time of a turn with telemetry over that without, in per cent:
                        the median over all pairs
    cpu_overhead_pct    the same of the processor time of server and workers in a block
    spans_per_turn      spans that were sent, per turn
    metric_series       series of all four workers as Prometheus counts them, buckets included
"""

import argparse
import asyncio
import contextlib
import statistics
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from temporalio.client import Client

from benchmarks.processor_time import children, seconds_of
from benchmarks.stage import make_repository, report, stage
from benchmarks.turns import measure, playbook
from tests.collector import collecting
from tests.scraping import Scraped, free_ports, scrape

_SCRAPE_SECONDS = 2.0


class Block(NamedTuple):
    """Some turns of one set of workers."""

    turn_seconds: float
    """The median."""
    cpu_seconds: float
    """Of server and workers, per turn."""


@dataclass(frozen=True)
class Side:
    """One set of workers with its server."""

    client: Client
    processes: set[int]

    async def block(self, repository: Path, turns: int) -> Block:
        """Play one session."""
        before = seconds_of(self.processes)
        seen = await measure(self.client, repository, turns)
        used = seconds_of(self.processes) - before
        return Block(statistics.median(seen.seconds_by_turn), used / turns)


async def main(turns: int, pairs: int) -> None:
    """Measure and report."""
    first = free_ports(4)
    places = [f"http://127.0.0.1:{first + place}/metrics" for place in range(4)]
    with collecting() as (collector, endpoint):
        more = {
            "BLUEFLAME_METRICS_ADDRESS": f"127.0.0.1:{first}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint.removesuffix("/v1/traces"),
        }
        script = playbook(turns)
        async with stage(script) as (plain, folder):
            off = Side(plain, children())
            async with stage(script, more=more) as (told, _):
                on = Side(told, children() - off.processes)
                repository = make_repository(folder, 300)
                scraping = asyncio.create_task(_scrape(places))
                blocks = await _alternate(
                    off, on, lambda side: side.block(repository, turns), pairs
                )
                scraping.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await scraping
                series = sum([len((await _scraped([place])).samples) for place in places])
                sent = len(collector.spans)
    _report(blocks, sent / ((pairs + 1) * (turns + 2)), series)


async def _alternate(
    off: Side, on: Side, play: Callable[[Side], Awaitable[Block]], pairs: int
) -> list[tuple[Block, Block]]:
    """Return pairs of blocks, without and with telemetry; every other pair begins with it."""
    for side in (off, on):  # both begin with warm workers
        await play(side)
    found: list[tuple[Block, Block]] = []
    for number in range(pairs):
        if number % 2:
            second = await play(on)
            found.append((await play(off), second))
        else:
            found.append((await play(off), await play(on)))
    return found


def _report(blocks: Sequence[tuple[Block, Block]], spans: float, series: int) -> None:
    wall = statistics.median(on.turn_seconds / off.turn_seconds for off, on in blocks)
    cpu = statistics.median(on.cpu_seconds / off.cpu_seconds for off, on in blocks)
    notes = [
        f"without {off.turn_seconds * 1e3:.1f} ms a turn ({off.cpu_seconds * 1e3:.1f} ms of "
        f"processor time), with telemetry {on.turn_seconds * 1e3:.1f} ms "
        f"({on.cpu_seconds * 1e3:.1f} ms)"
        for off, on in blocks
    ]
    report(
        {
            "turn_overhead_pct": round((wall - 1) * 100, 1),
            "cpu_overhead_pct": round((cpu - 1) * 100, 1),
            "spans_per_turn": round(spans, 2),
            "metric_series": series,
        },
        notes,
    )


async def _scrape(places: Sequence[str]) -> None:
    while True:
        # The samples are not read here: that would cost this machine more than serving them.
        await asyncio.to_thread(_fetch, places)
        await asyncio.sleep(_SCRAPE_SECONDS)


def _fetch(places: Sequence[str]) -> None:
    for place in places:
        with urllib.request.urlopen(place, timeout=30) as answer:
            answer.read()


async def _scraped(places: Sequence[str]) -> Scraped:
    return await asyncio.to_thread(scrape, *places)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=7)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.turns, arguments.pairs))
