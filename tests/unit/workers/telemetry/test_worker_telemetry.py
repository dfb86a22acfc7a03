"""What a worker tells is what its environment asks for, and a fault of it ends no worker."""

import io
import logging
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from tests.collector import collecting
from tests.ports import kept_port
from tests.scraping import scrape
from workers.roles import Role
from workers.settings import Settings
from workers.telemetry.worker_metrics import Endpoint, WorkerMetrics, pushing
from workers.telemetry.worker_telemetry import telemetry
from workers.worker_log import write_log_to

ROLES = tuple(Role)


class Full(io.StringIO):
    """A stream whose disk is full."""

    def write(self, text: str, /) -> int:
        raise OSError(28, "No space left on device", text)


def settings(tmp_path: Path, address: str | None = None) -> Settings:
    return Settings(data_dir=tmp_path, metrics_address=address)


@pytest.mark.parametrize(
    ("variables", "jobs", "measures"),
    [
        ({}, 0, False),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9"}, 1, False),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:9"}, 3, True),
        (
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
                "OTEL_METRICS_EXPORTER": "none",
            },
            1,
            False,
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"},
            3,
            True,
        ),
    ],
)
def test_the_standard_variables_say_what_is_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    jobs: int,
    *,
    measures: bool,
) -> None:
    with collecting() as (_, endpoint):
        # What is sent at the end goes to a collector that is there.
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", endpoint)
        with telemetry(settings(tmp_path), ROLES, variables, print) as told:
            assert len(told.jobs) == jobs
            assert (told.runtime is not None) == measures
            assert bool(told.interceptors) == measures


def test_metrics_are_pushed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as (collector, endpoint):
        place = endpoint.replace("/v1/traces", "/v1/metrics")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", place)
        metrics = WorkerMetrics([pushing()], ["models"])
        metrics("llm_tokens_total", 7, model="a/m", role="planner", type="input")
        metrics.close()
        (point,) = collector.metrics["llm_tokens_total"].sum.data_points
    assert point.as_int == 7
    labels = {each.key: each.value.string_value for each in point.attributes}
    assert labels == {"model": "a/m", "role": "planner", "type": "input"}


def test_a_measurement_that_fits_no_metric_is_logged_once_and_ends_no_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = WorkerMetrics([InMemoryMetricReader()], ["models"])
    try:
        for _ in range(3):
            metrics("no_such_metric")
            metrics("tool_calls_total", tool="bash", session="1")
    finally:
        metrics.close()
    said = [each.getMessage() for each in caplog.records]
    assert said == ["'no_such_metric' cannot be measured", "'tool_calls_total' cannot be measured"]


def test_an_address_in_use_is_told_and_ends_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    with kept_port() as port, socket.create_server(("127.0.0.1", port), reuse_port=False):
        given = settings(tmp_path, f"127.0.0.1:{port}")
        with telemetry(given, [Role.WORKFLOWS], {}, said.append) as told:
            assert told.jobs == ()
    (line,) = said
    assert line.startswith(f"warning: metrics cannot be served at 127.0.0.1:{port}: ")
    assert "BLUEFLAME_METRICS_ADDRESS" in line


def test_each_role_has_its_own_port(tmp_path: Path) -> None:
    said: list[str] = []
    with kept_port() as port:
        first = port - list(Role).index(Role.LAND)
        given = settings(tmp_path, f"127.0.0.1:{first}")
        with telemetry(given, [Role.LAND], {}, said.append) as told:
            assert told.jobs != ()
            scrape(f"http://127.0.0.1:{port}/metrics")
    assert said == [f"metrics at http://127.0.0.1:{port}/metrics"]


def test_a_lost_line_of_the_log_is_counted() -> None:
    endpoint = Endpoint("127.0.0.1:0", 0)
    metrics = WorkerMetrics([endpoint.reader], ["models"])
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = []
    try:
        write_log_to(Full())
        root.warning("lost")
        metrics.collect()
        found = scrape(endpoint.url)
    finally:
        root.handlers[:] = before
        metrics.close()
        endpoint.close()
    assert found.of("blueflame_log_write_errors_total") == 1


@pytest.mark.slow
def test_nothing_is_loaded_where_nothing_is_asked_for() -> None:
    code = (
        "import sys; import workers.worker_serving; "
        "from workers.telemetry import worker_telemetry; "
        "print([m for m in sys.modules if m.startswith(('opentelemetry', 'prometheus'))])"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
