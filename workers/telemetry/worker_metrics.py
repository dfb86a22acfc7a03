"""The metrics of one worker process: recorded here, scraped by Prometheus or pushed by OTLP.

It is switched on by `BLUEFLAME_METRICS_ADDRESS`, by a collector in the standard variables
(`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`), or both. Otherwise nothing
of this module is imported. Chosen metrics of Temporal's SDK are added: the SDK puts them into a
buffer, which is emptied every few seconds.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader
from opentelemetry.sdk.resources import Resource
from temporalio.runtime import (
    BUFFERED_METRIC_KIND_COUNTER,
    BUFFERED_METRIC_KIND_GAUGE,
    MetricBuffer,
    MetricBufferDurationFormat,
    Runtime,
    TelemetryConfig,
)

from workers.telemetry.library_noise import core_logging
from workers.telemetry.metric_table import BY_NAME, METRICS, BoundedLabels, Metric
from workers.worker_log import lost_lines
from workflows.policy.text.log_events import log_event

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

    from temporalio.runtime import BufferedMetric, BufferedMetricUpdate

_log = logging.getLogger(__name__)

_BUFFER: Final = 50_000
_EMPTIED_SECONDS: Final = 2.0
_MOST_KNOWN: Final = 2_000
_LAST_PUSH_MS: Final = 3_000.0
_FEW_BUCKETS: Final = (0.05, 0.5, 5, 60, 600, 1_800, 3_600)
_TEMPORAL: Final[Mapping[str, tuple[str, ...]]] = {
    "temporal_worker_task_slots_available": ("task_queue", "worker_type"),
    "temporal_sticky_cache_size": ("task_queue",),
    "temporal_request_failure": ("operation", "status_code"),
    "temporal_long_request_failure": ("operation", "status_code"),
    "temporal_workflow_task_execution_failed": ("workflow_type", "failure_reason"),
    "temporal_workflow_task_execution_latency": ("workflow_type",),
    "temporal_workflow_endtoend_latency": ("workflow_type",),
    "temporal_workflow_completed": ("workflow_type",),
    "temporal_workflow_failed": ("workflow_type",),
    "temporal_activity_schedule_to_start_latency": ("task_queue",),
}
"""The metrics of Temporal's SDK that are kept, each with the labels that are; all are bounded."""


class MetricsAddressError(ValueError):
    """The address for Prometheus cannot be used."""


class WorkerMetrics:
    """Takes all measurements of a process; implements `activities.ports.measures.Measure`."""

    def __init__(self, readers: Sequence[MetricReader], roles: Sequence[str]) -> None:
        """Args: who reads the metrics; the process's roles."""
        resource = Resource.create({"service.name": "blueflame", "blueflame.roles": [*roles]})
        # Exemplars name the span that runs; spans here come from histories, so none ever does.
        no_exemplars = AlwaysOffExemplarFilter()
        self._provider = MeterProvider(
            readers, resource, exemplar_filter=no_exemplars, shutdown_on_exit=False
        )
        meter = self._provider.get_meter("blueflame")
        self._labels = BoundedLabels()
        self._known: dict[tuple[object, ...], dict[str, str]] = {}
        """Labels that were checked, by metric and labels."""
        self._instruments = {
            each.name: _Instrument(meter, each) for each in METRICS if not each.is_replaced
        }
        self._rows = {each.name: _Rows(meter, each) for each in METRICS if each.is_replaced}
        self._temporal = _TemporalMetrics(meter)
        self._lost = lost_lines()
        self._refused: set[str] = set()

    def __call__(self, metric: str, value: float = 1.0, **labels: str) -> None:
        """Take one measurement; see the port. It never raises: work is worth more than figures."""
        try:
            key = (metric, *labels.items())
            known = self._known.get(key)
            if known is None:
                known = self._labels.within(BY_NAME[metric], labels)
                if len(self._known) < _MOST_KNOWN:
                    self._known[key] = known
            self._instruments[metric].record(value, known)
        except Exception as error:  # noqa: BLE001  (see above)
            if metric not in self._refused:
                log_event(_log, "metric_refused", error=error, metric=metric)
            self._refused.add(metric)

    def show(self, metric: str, rows: Sequence[tuple[float, Mapping[str, str]]]) -> None:
        """Replace all series of a gauge; see `activities.ports.measures.ShowRows`.

        Raises:
            KeyError: the metric is none whose series are replaced.
            ValueError: labels are not the metric's.
        """
        bounded = BoundedLabels()
        self._rows[metric].shown = [
            Observation(value, bounded.within(BY_NAME[metric], labels)) for value, labels in rows
        ]

    @property
    def runtime(self) -> Runtime:
        """What a client must be connected with, so that Temporal's own metrics arrive."""
        return self._temporal.runtime

    async def run(self, stop: asyncio.Event) -> None:
        """Collect what Temporal's SDK and the log have to say until `stop` is set."""
        while not stop.is_set():
            self.collect()
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _EMPTIED_SECONDS)
        self.collect()

    def collect(self) -> None:
        """Take over what was measured outside of Python, and lost lines of the log."""
        self._temporal.take()
        if (lost := lost_lines()) > self._lost:
            self("blueflame_log_write_errors_total", lost - self._lost)
            self._lost = lost

    def close(self) -> None:
        """Push what was not pushed yet, and release the readers."""
        self._provider.shutdown(_LAST_PUSH_MS)


class _Instrument:
    """One of our metrics as an instrument of OpenTelemetry."""

    def __init__(self, meter: Meter, metric: Metric) -> None:
        match metric.kind:
            case "counter":
                self.record = meter.create_counter(metric.name, metric.unit, metric.meaning).add
            case "gauge":
                self.record = meter.create_gauge(metric.name, metric.unit, metric.meaning).set
            case "histogram":
                self.record = meter.create_histogram(
                    metric.name,
                    metric.unit,
                    metric.meaning,
                    explicit_bucket_boundaries_advisory=metric.buckets,
                ).record


class _Rows:
    """A gauge of which only what was shown last is there when a reader comes."""

    def __init__(self, meter: Meter, metric: Metric) -> None:
        self.shown: list[Observation] = []
        meter.create_observable_gauge(metric.name, [self._read], metric.unit, metric.meaning)

    def _read(self, options: CallbackOptions) -> list[Observation]:
        del options
        return self.shown


class _TemporalMetrics:
    """Passes on the metrics of Temporal's SDK."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._buffer = MetricBuffer(_BUFFER, MetricBufferDurationFormat.SECONDS)
        self.runtime = Runtime(
            telemetry=TelemetryConfig(
                logging=core_logging(), metrics=self._buffer, attach_service_name=False
            )
        )
        self._records: dict[str, _Instrument] = {}

    def take(self) -> None:
        gauges: dict[tuple[str, ...], tuple[float, dict[str, str]]] = {}
        for update in self._buffer.retrieve_updates():
            metric = update.metric
            name = metric.name
            if (kept := _TEMPORAL.get(name)) is None:
                continue
            labels = _kept(update, kept)
            if name not in self._records:
                self._records[name] = _Instrument(self._meter, _of_temporal(metric))
            if metric.kind == BUFFERED_METRIC_KIND_GAUGE:
                # Each task changes the gauges of its worker several times: only the last counts.
                gauges[name, *labels.values()] = update.value, labels
            else:
                self._records[name].record(update.value, labels)
        for (name, *_), (value, labels) in gauges.items():
            self._records[name].record(value, labels)


def _kept(update: "BufferedMetricUpdate", kept: tuple[str, ...]) -> dict[str, str]:
    given = update.attributes
    return {label: str(given[label]) for label in kept if label in given}


def _of_temporal(metric: "BufferedMetric") -> Metric:
    name, meaning = metric.name, metric.description or ""
    if metric.kind == BUFFERED_METRIC_KIND_COUNTER:
        return Metric(f"{name}_total", "counter", "", meaning)
    if metric.kind == BUFFERED_METRIC_KIND_GAUGE:
        return Metric(name, "gauge", "", meaning)
    return Metric(f"{name}_seconds", "histogram", "s", meaning, buckets=_FEW_BUCKETS)


class Endpoint:
    """Where Prometheus scrapes a process."""

    def __init__(self, address: str, place: int) -> None:
        """Listen.

        Args:
            address: `host:port`; port 0: any free one.
            place: added to the port, so that the processes of one machine do not collide.

        Raises:
            MetricsAddressError: the address is not one, or is in use.
        """
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from prometheus_client import CollectorRegistry, start_http_server

        host, _, port = address.rpartition(":")
        number = int(port) + place if int(port) else 0
        registry = CollectorRegistry()
        self.reader = PrometheusMetricReader(scope_info_enabled=False, registry=registry)
        try:
            self._server: WSGIServer = start_http_server(number, host.strip("[]"), registry)[0]
        except OSError as error:
            raise MetricsAddressError(
                f"metrics cannot be served at {host}:{number}: {error.strerror}; change "
                "BLUEFLAME_METRICS_ADDRESS, and start again"
            ) from error
        self.url = f"http://{host}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def pushing() -> MetricReader:
    """Return a reader that sends the metrics to the collector that the environment names."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    return PeriodicExportingMetricReader(OTLPMetricExporter())
