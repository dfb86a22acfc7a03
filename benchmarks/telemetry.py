"""What metrics and traces cost: the same sessions with telemetry on and off, in turn.

Two sets of workers run at the same time, each with a server. One sends traces and metrics to a
collector and is scraped every two seconds, the other does neither. Only one works at a time.

Keys of the last line:
    turn_overhead_pct   median wall time of a turn with telemetry over that without, in per cent
    spans_per_turn      spans that were sent, per turn
    metric_series       series of all four workers as Prometheus counts them, buckets included
"""

import argparse
import asyncio
import contextlib
import statistics
from collections.abc import Sequence

from benchmarks.stage import make_repository, report, stage
from benchmarks.turns import measure, playbook
from tests.collector import collecting
from tests.scraping import Scraped, free_ports, scrape

_SCRAPE_SECONDS = 2.0


async def main(turns: int, repeats: int) -> None:
    """Measure and report."""
    first = free_ports(4)
    places = [f"http://127.0.0.1:{first + place}/metrics" for place in range(4)]
    with collecting() as (collector, endpoint):
        more = {
            "BLUEFLAME_METRICS_ADDRESS": f"127.0.0.1:{first}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint.removesuffix("/v1/traces"),
        }
        script = playbook(turns)
        async with stage(script) as (plain, folder), stage(script, more=more) as (told, _):
            repository = make_repository(folder, 300)
            off: list[float] = []
            on: list[float] = []
            await measure(plain, repository, turns)  # both begin with warm workers
            await measure(told, repository, turns)
            scraping = asyncio.create_task(_scrape(places))
            for _ in range(repeats):
                off += (await measure(plain, repository, turns)).seconds_by_turn
                on += (await measure(told, repository, turns)).seconds_by_turn
            scraping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await scraping
            series = sum([len((await _scraped([place])).samples) for place in places])
    sessions = repeats + 1
    before, after = (statistics.median(each) * 1e3 for each in (off, on))
    report(
        {
            "turn_overhead_pct": round((after / before - 1) * 100, 1),
            "spans_per_turn": round(len(collector.spans) / (sessions * (turns + 2)), 2),
            "metric_series": series,
        },
        [f"a turn takes {before:.1f} ms without telemetry, {after:.1f} ms with it"],
    )


async def _scrape(places: Sequence[str]) -> None:
    while True:
        await _scraped(places)
        await asyncio.sleep(_SCRAPE_SECONDS)


async def _scraped(places: Sequence[str]) -> Scraped:
    return await asyncio.to_thread(scrape, *places)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.turns, arguments.repeats))
