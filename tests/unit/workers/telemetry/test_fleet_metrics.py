"""The gauges of queues: living hosts have their names, dead ones are forgotten."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from tests.scraping import Scraped, scrape
from workers.telemetry.fleet import Fleet, Poller, QueueState
from workers.telemetry.fleet_metrics import FleetGauges
from workers.telemetry.metric_table import MOST, OTHER
from workers.telemetry.worker_metrics import Endpoint, WorkerMetrics

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
POLLERS, BACKLOG = "blueflame_queue_pollers", "blueflame_queue_backlog"


class Looks:
    """Sets the gauges for one look after another, and reads what Prometheus sees."""

    def __init__(self, url: str, gauges: FleetGauges) -> None:
        self._url = url
        self._gauges = gauges

    def see(self, hours: float, *queues: str) -> dict[str, float]:
        """Return the pollers of each queue at a look at which these have one, and 2 work items."""
        at = BEGAN + timedelta(hours=hours)
        poller = Poller(identity="1@h", last_seen=at)
        found = tuple(QueueState(queue=each, pollers=(poller,), backlog=2) for each in queues)
        self._gauges.set(Fleet(at=at, queues=found, sessions=()))
        self.seen = scrape(self._url)
        return of(self.seen, POLLERS)


def of(seen: Scraped, metric: str) -> dict[str, float]:
    """Return the values of a gauge by queue."""
    return {
        dict(labels)["queue"]: value
        for (name, labels), value in seen.samples.items()
        if name == metric
    }


@contextmanager
def looking() -> Generator[Looks]:
    endpoint = Endpoint("127.0.0.1:0", 0)
    metrics = WorkerMetrics([endpoint.reader], ["workflows"])
    try:
        yield Looks(endpoint.url, FleetGauges(metrics, metrics.show))
    finally:
        metrics.close()
        endpoint.close()


def test_a_new_host_has_its_name_however_many_were_before_it() -> None:
    with looking() as looks:
        for number in range(2 * MOST["queue"]):
            looks.see(number / 10, "models", f"host/{number}")
        seen = looks.see(7, "models", "host/new")
        assert (seen["models"], seen["host/new"]) == (1, 1)
        assert seen[f"host/{2 * MOST['queue'] - 1}"] == 0
        assert len(seen) == MOST["queue"] + 1
        assert seen[OTHER] == 0


def test_a_dead_host_is_shown_without_workers_for_a_day() -> None:
    with looking() as looks:
        looks.see(0, "models", "host/a")
        assert looks.see(23, "models") == {"models": 1, "host/a": 0}
        assert looks.see(25, "models") == {"models": 1}


def test_living_hosts_beyond_the_bound_are_counted_together() -> None:
    hosts = [f"host/{number}" for number in range(MOST["queue"] + 5)]
    with looking() as looks:
        assert looks.see(0, *hosts)[OTHER] == 5
        assert of(looks.seen, BACKLOG)[OTHER] == 10
