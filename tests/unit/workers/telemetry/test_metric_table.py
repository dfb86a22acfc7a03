"""The table of metrics: names and labels as Prometheus wants them, and no label without a bound."""

import re

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from tests.scraping import scrape
from workers.telemetry.metric_table import (
    BY_NAME,
    CLOSED,
    METRICS,
    MOST,
    OTHER,
    BoundedLabels,
    Metric,
)
from workers.telemetry.worker_metrics import Endpoint, WorkerMetrics


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_follows_the_conventions(metric: Metric) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert (metric.unit == "s") == metric.name.endswith("_seconds")
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert sorted(metric.buckets) == list(metric.buckets)
    assert metric.meaning.endswith(".")


def test_every_label_has_a_bound() -> None:
    assert len(BY_NAME) == len(METRICS)
    used = {label for metric in METRICS for label in metric.labels}
    assert used == set(CLOSED) | set(MOST)
    assert not set(CLOSED) & set(MOST)


def test_an_unknown_value_and_one_too_many_count_as_other() -> None:
    labels = BoundedLabels()
    tools = BY_NAME["tool_calls_total"]
    assert labels.within(tools, {"tool": "bash"}) == {"tool": "bash"}
    assert labels.within(tools, {"tool": "rm -rf"}) == {"tool": OTHER}
    calls = BY_NAME["llm_cost_usd_total"]
    seen = {
        labels.within(calls, {"model": f"m{n}", "role": "planner"})["model"] for n in range(1_000)
    }
    assert len(seen) == MOST["model"] + 1
    assert OTHER in seen


def test_labels_that_are_not_the_metrics_are_refused() -> None:
    with pytest.raises(ValueError, match="has labels"):
        BoundedLabels().within(BY_NAME["tool_calls_total"], {"tool": "bash", "session": "1"})


def test_prometheus_sees_each_metric_by_its_name_and_never_more_than_2_000_series() -> None:
    endpoint = Endpoint("127.0.0.1:0", 0)
    metrics = WorkerMetrics([endpoint.reader, InMemoryMetricReader()], ["models"])
    try:
        for number in range(1_000):
            for metric in METRICS:
                # Every closed value in turn, and always new ones of the others.
                values = {
                    label: _nth(label, number) if label in CLOSED else f"{label}-{number}"
                    for label in metric.labels
                }
                if metric.is_replaced:
                    metrics.show(metric.name, [(1.0, values)])
                else:
                    metrics(metric.name, 1.0, **values)
        found = scrape(endpoint.url)
    finally:
        metrics.close()
        endpoint.close()
    assert found.names() >= set(BY_NAME)
    assert {name for name in found.names() if not name.startswith("target")} == set(BY_NAME)
    assert len(found.samples) < 2_000


def test_a_replaced_gauge_forgets_what_is_not_shown_again() -> None:
    endpoint = Endpoint("127.0.0.1:0", 0)
    metrics = WorkerMetrics([endpoint.reader], ["workflows"])
    try:
        name = "blueflame_session_spent_usd"
        metrics.show(name, [(1.5, {"session": "a"}), (2.5, {"session": "b"})])
        assert scrape(endpoint.url).of(name) == 4
        metrics.show(name, [(3.5, {"session": "b"})])
        found = scrape(endpoint.url)
        assert {labels for metric, labels in found.samples if metric == name} == {
            frozenset({("session", "b")})
        }
        metrics.show(name, [(1.0, {"session": f"s{n}"}) for n in range(1_000)])
        assert scrape(endpoint.url).of(name) == MOST["session"] + 1
        with pytest.raises(KeyError):
            metrics.show("blueflame_sessions", [])
    finally:
        metrics.close()
        endpoint.close()


def _nth(label: str, number: int) -> str:
    values = sorted(CLOSED[label])
    return values[number % len(values)]
