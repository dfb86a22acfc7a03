"""docker/alerts.yml: each alert comes when it should and stays away when it should not.

The series are those that workers serve; `tests/e2e/test_metrics.py` compares these with a session,
and `tests/e2e/test_fired_alerts.py` brings each alert about by the real program.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from workers.telemetry.metric_table import BY_NAME, CLOSED, MOST

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docker" / "alerts.yml"
WAVE = 'temporal_workflow_endtoend_latency_seconds_bucket{workflow_type="MergeWave",'


class Case(NamedTuple):
    """Series by their name and labels, each with its values a minute apart, as promtool reads them.

    After 20 minutes the alert must be there with `ill`, and must not be there with `well`.
    """

    alert: str
    ill: dict[str, str]
    well: dict[str, str]


CASES = (
    Case(
        "BlueflameKeyRefused",
        {'llm_calls_total{provider="a",role="planner",outcome="AuthenticationFailed"}': "_x18 1 1"},
        {'llm_calls_total{provider="a",role="planner",outcome="AuthenticationFailed"}': "1x30"},
    ),
    Case(
        "BlueflameKeyRefused",
        {'llm_calls_total{provider="a",role="planner",outcome="CreditExhausted"}': "1x17 2x12"},
        {'llm_calls_total{provider="a",role="planner",outcome="answered"}': "1+1x30"},
    ),
    Case(
        "BlueflameBurnAboveLimit",
        {"blueflame_burn_limit_ratio": "0x10 1.2x20"},
        {"blueflame_burn_limit_ratio": "0.9x30"},
    ),
    Case(
        "BlueflameSlowFirstToken",
        {
            'llm_time_to_first_token_seconds_bucket{provider="a",le="30"}': "0+9x30",
            'llm_time_to_first_token_seconds_bucket{provider="a",le="60"}': "0+10x30",
            'llm_time_to_first_token_seconds_bucket{provider="a",le="+Inf"}': "0+10x30",
        },
        {
            'llm_time_to_first_token_seconds_bucket{provider="a",le="30"}': "0+10x30",
            'llm_time_to_first_token_seconds_bucket{provider="a",le="60"}': "0+10x30",
            'llm_time_to_first_token_seconds_bucket{provider="a",le="+Inf"}': "0+10x30",
        },
    ),
    Case(
        "BlueflameProviderErrors",
        {
            'llm_calls_total{provider="a",role="planner",outcome="answered"}': "0+8x30",
            'llm_calls_total{provider="a",role="planner",outcome="ProviderUnavailable"}': "0+2x30",
        },
        {
            'llm_calls_total{provider="a",role="planner",outcome="answered"}': "0+80x30",
            'llm_calls_total{provider="a",role="planner",outcome="ProviderUnavailable"}': "0+2x30",
        },
    ),
    Case(
        "BlueflameToolErrors",
        {
            'tool_calls_total{tool="edit"}': "0+10x30",
            'tool_execution_errors_total{tool="edit",code="error"}': "0+2x30",
        },
        {
            'tool_calls_total{tool="bash"}': "0+10x30",
            'tool_execution_errors_total{tool="bash",code="exit"}': "0+9x30",
        },
    ),
    Case(
        "BlueflameContextSaturated",
        {
            'context_saturation_ratio_count{role="planner"}': "0+2x30",
            'context_saturation_ratio_bucket{role="planner",le="0.9"}': "0+1x30",
        },
        {
            'context_saturation_ratio_count{role="planner"}': "0+2x30",
            'context_saturation_ratio_bucket{role="planner",le="0.9"}': "0+2x30",
        },
    ),
    Case(
        "BlueflameNoProgress",
        {"blueflame_longest_idle_seconds": "3000+60x30"},
        {"blueflame_longest_idle_seconds": "600x30"},
    ),
    Case(
        "BlueflameWaitsForPerson",
        {"blueflame_longest_wait_for_person_seconds": "14000+60x30"},
        {"blueflame_longest_wait_for_person_seconds": "600x30"},
    ),
    Case(
        "BlueflameUnanswered",
        {"blueflame_unanswered_sessions": "1x30"},
        {"blueflame_unanswered_sessions": "0x18 1x12"},
    ),
    Case(
        "BlueflameBacklog",
        {'blueflame_queue_backlog{queue="host"}': "40x30"},
        {'blueflame_queue_backlog{queue="host"}': "0x18 40x12"},
    ),
    Case(
        "BlueflameNoPoller",
        {'blueflame_queue_pollers{queue="models"}': "1x10 0x20"},
        {'blueflame_queue_pollers{queue="models"}': "1x30"},
    ),
    Case(
        "BlueflameNoPoller",
        {'blueflame_queue_pollers{queue="models"}': "1x5 stale"},
        {
            'blueflame_queue_pollers{queue="models",instance="one"}': "0x30",
            'blueflame_queue_pollers{queue="models",instance="two"}': "1x30",
        },
    ),
    Case(
        "BlueflameDiskLow",
        {'blueflame_disk_free_bytes{instance="one"}': "4000000000x30"},
        {'blueflame_disk_free_bytes{instance="one"}': "9000000000x30"},
    ),
    Case(
        "BlueflameLogLost",
        {'blueflame_log_write_errors_total{instance="one"}': "_x18 1 1"},
        {'blueflame_log_write_errors_total{instance="one"}': "7x30"},
    ),
    Case(
        "BlueflameSlowStage",
        {
            WAVE + 'le="1800"}': "0x30",
            WAVE + 'le="3600"}': "0+1x30",
            WAVE + 'le="+Inf"}': "0+1x30",
        },
        {
            WAVE + 'le="600"}': "0+1x30",
            WAVE + 'le="+Inf"}': "0+1x30",
        },
    ),
)


def rules() -> list[dict[str, Any]]:
    """Return the rules of the file."""
    (group,) = YAML(typ="safe").load(RULES.read_text())["groups"]
    return group["rules"]


def promtool() -> str:
    """Return the program that checks rules; skip where it is not installed."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    return found


def test_every_alert_has_a_case() -> None:
    assert {rule["alert"] for rule in rules()} == {case.alert for case in CASES}


def test_every_series_of_a_rule_is_one_that_workers_serve() -> None:
    for rule in rules():
        names = re.findall(r"\b(?:blueflame|llm|tool|context|temporal)_[a-z_]+", rule["expr"])
        assert names, rule["alert"]
        for name in names:
            plain = re.sub(r"_(bucket|count|sum)$", "", name)
            assert plain in BY_NAME or plain.startswith("temporal_workflow_endtoend"), name
        for label in re.findall(r"by \(([^)]+)\)", rule["expr"]):
            known = {*CLOSED, *MOST, "le", "instance", "workflow_type"}
            assert set(re.split(r", *", label)) <= known, label


def test_prometheus_accepts_the_rules_and_the_configuration() -> None:
    program = promtool()
    for check in (
        ("rules", "alerts.yml"),
        ("config", "prometheus.yml"),
        ("config", "prometheus-services.yml"),
    ):
        subprocess.run(
            [program, "check", *check], cwd=RULES.parent, check=True, capture_output=True
        )


def test_each_alert_comes_and_stays_away(tmp_path: Path) -> None:
    program = promtool()
    groups = [
        _group(case.alert, series, fires=fires)
        for case in CASES
        for fires, series in ((True, case.ill), (False, case.well))
    ]
    file = tmp_path / "test.yml"
    # JSON is YAML too.
    file.write_text(json.dumps({"rule_files": [str(RULES)], "tests": groups}))
    ran = subprocess.run(
        [program, "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _group(alert: str, series: dict[str, str], *, fires: bool) -> dict[str, Any]:
    """Return a test of promtool: whether any alert of this name is there after 20 minutes."""
    given = [{"series": name, "values": values} for name, values in series.items()]
    expr = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    seen = [{"labels": "{}", "value": 1}] if fires else []
    return {
        "name": f"{alert} {'comes' if fires else 'stays away'}",
        "interval": "1m",
        "input_series": given,
        "promql_expr_test": [{"expr": expr, "eval_time": "20m", "exp_samples": seen}],
    }
