"""What a worker process tells about its work: traces to a collector, metrics by scraping or push.

Everything is off unless the environment asks for it, and then nothing of it is loaded.

| variable                              | traces            | metrics                  |
|---------------------------------------|-------------------|--------------------------|
| `OTEL_EXPORTER_OTLP_ENDPOINT`         | sent              | sent                     |
| `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`  | sent              |                          |
| `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` |                   | sent                     |
| `OTEL_TRACES_EXPORTER=none`           | not sent          |                          |
| `OTEL_METRICS_EXPORTER=none`          |                   | not sent                 |
| `BLUEFLAME_METRICS_ADDRESS`           |                   | served for Prometheus    |
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from temporalio.client import Client
from temporalio.runtime import Runtime
from temporalio.worker import Interceptor

from workers.roles import Role
from workers.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader

    from workers.telemetry.worker_metrics import WorkerMetrics

Say = Callable[[str], None]
Job = Callable[[Client, asyncio.Event], Coroutine[None, None, None]]
"""Runs beside the workers until the event is set."""

_COLLECTOR: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"


@dataclass(frozen=True)
class Telemetry:
    """What a worker needs for it."""

    runtime: Runtime | None = None
    """What the client must be connected with; None: the default."""
    interceptors: tuple[Interceptor, ...] = ()
    jobs: tuple[Job, ...] = ()


@contextmanager
def telemetry(
    settings: Settings, roles: Sequence[Role], environment: Mapping[str, str], say: Say
) -> Generator[Telemetry]:
    """Start what the settings and the standard variables ask for; at last send what is left.

    Args:
        settings: the process's.
        roles: the process's.
        environment: with the standard variables `OTEL_*`.
        say: takes the address of the metrics, or why there is none.
    """
    jobs: list[Job] = []
    if Role.WORKFLOWS in roles and _sends(environment, "TRACES"):
        from workers.telemetry.traces.trace_export import export_traces

        jobs.append(lambda client, stop: export_traces(client, settings.data_dir, stop))
    with ExitStack() as stack:
        readers = _readers(settings, roles, environment, say, stack)
        if not readers:
            yield Telemetry(jobs=tuple(jobs))
            return
        from workers.telemetry.activity_metrics import MeasuringInterceptor
        from workers.telemetry.worker_metrics import WorkerMetrics

        metrics = WorkerMetrics(readers, roles)
        stack.callback(metrics.close)
        jobs.append(lambda _client, stop: metrics.run(stop))
        jobs += _looks(settings, roles, metrics)
        yield Telemetry(metrics.runtime, (MeasuringInterceptor(metrics),), tuple(jobs))


def _looks(settings: Settings, roles: Sequence[Role], measure: "WorkerMetrics") -> list[Job]:
    """Return what looks at sessions, queues and disk, by role."""
    from workers.telemetry.fleet_metrics import measure_disk, measure_fleet

    jobs: list[Job] = []
    if Role.WORKFLOWS in roles:
        data, store = settings.data_dir, settings.store_dir
        jobs.append(lambda client, stop: measure_fleet(measure, measure.show, client, stop))
        jobs.append(lambda _client, stop: measure_disk(measure, data, store, stop))
    elif Role.HOST in roles:
        # Of the data directory a host that dropped root may see no more than this.
        host = settings.host_dir
        jobs.append(lambda _client, stop: measure_disk(measure, host, None, stop))
    return jobs


def _sends(environment: Mapping[str, str], signal: str) -> bool:
    wanted = environment.get(_COLLECTOR) or environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return bool(wanted) and environment.get(f"OTEL_{signal}_EXPORTER") != "none"


def _readers(
    settings: Settings,
    roles: Sequence[Role],
    environment: Mapping[str, str],
    say: Say,
    stack: ExitStack,
) -> "list[MetricReader]":
    readers: list[MetricReader] = []
    if _sends(environment, "METRICS"):
        from workers.telemetry.worker_metrics import pushing

        readers.append(pushing())
    if settings.metrics_address is not None:
        from workers.telemetry.worker_metrics import Endpoint, MetricsAddressError

        try:
            endpoint = Endpoint(settings.metrics_address, list(Role).index(roles[0]))
        except MetricsAddressError as error:
            # A worker is worth more than its figures.
            say(f"warning: {error}")
        else:
            say(f"metrics at {endpoint.url}")
            stack.callback(endpoint.close)
            readers.append(endpoint.reader)
    return readers
