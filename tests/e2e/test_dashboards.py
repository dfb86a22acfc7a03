"""Prometheus beside a real session: it loads the rules, and every panel of Grafana has data."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import ROOT, blueflame, repository
from tests.e2e.prometheus import Asked, prometheus
from tests.e2e.test_metrics import CONFIGURATION, PLAYBOOK
from tests.scraping import free_ports
from tests.waiting import until_blocking
from workers.settings import Settings
from workers.telemetry.metric_table import BY_NAME

NEVER_HERE = {
    "api_rate_limit_remaining": "the scripted provider tells of no limit",
    "llm_time_to_first_token_seconds": "the scripted provider answers in one piece",
    "blueflame_parked_calls": "the only wait for the provider ends between two looks",
}


def service_levels() -> Iterator[tuple[str, str]]:
    """Yield each query of the page's table of service levels with its name."""
    page = (ROOT / "docs" / "monitoring.md").read_text()
    table = page.partition("## Service levels")[2].partition("\n## ")[0]
    yield from re.findall(r"^\| ([^|`]+) \| [\d.]+ % \| `([^`]+)` \|$", table, re.MULTILINE)


def panels() -> Iterator[tuple[str, str]]:
    """Yield each query of each dashboard with its panel's title."""
    for file in sorted((ROOT / "docker" / "grafana" / "dashboards").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield f"{file.stem}: {panel['title']}", target["expr"]


@pytest.mark.e2e
@pytest.mark.sandbox
@pytest.mark.slow
def test_every_panel_shows_something_of_a_session(tmp_path: Path) -> None:
    place = repository(tmp_path / "sample", {"README": "x\n", ".gitignore": "lib/\n"})
    config, playbook = tmp_path / "config.yaml", tmp_path / "playbook.yaml"
    config.write_text(f"{CONFIGURATION}approvals: {{changeset: auto_if_green, unjudged: allow}}\n")
    playbook.write_text(PLAYBOOK)
    settings = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    first = free_ports(5)
    more = {"BLUEFLAME_METRICS_ADDRESS": f"127.0.0.1:{first}"}
    began = time.time()
    try:
        came = blueflame(settings, "up", "--detach", "--playbook", str(playbook), more=more)
        assert came.returncode == 0, came.stderr
        with prometheus(tmp_path, first, first + 4) as asked:
            given = ("--repo", str(place), "--config", str(config), "--playbook", str(playbook))
            started = blueflame(settings, "run", "Notes", *given, "--detach", "--json")
            assert started.returncode == 0, started.stdout + started.stderr
            session = json.loads(started.stdout)["session"]
            until_blocking(
                lambda: asked.value("blueflame_session_waits_for_person > 0"),
                "the plan waits for a person, as Prometheus sees it",
            )
            assert blueflame(settings, "approve", "plan").returncode == 0
            ended = blueflame(settings, "watch", "--plain")
            assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
            until_blocking(
                lambda: asked.value("count_over_time(blueflame_deliveries_total[1m]) > 3"),
                "the delivery, seen by Prometheus often enough for a rate",
            )
            _all_have_data(asked, began, session)
    finally:
        blueflame(settings, "up", "--stop")


def _all_have_data(asked: Asked, began: float, session: str) -> None:
    empty = []
    for title, query in [*panels(), *service_levels()]:
        narrow = query.replace("$__rate_interval", "1m").replace("$session", session)
        narrow = narrow.replace("[30d:1m]", "[1m:1s]").replace("[30d]", "[1m]")
        if any(name in query for name in NEVER_HERE):
            continue
        if not asked.course(narrow, began):
            empty.append((title, narrow))
    assert not empty, empty


def test_every_panel_asks_for_series_that_workers_serve() -> None:
    assert len(list(service_levels())) >= 5
    for title, query in [*panels(), *service_levels()]:
        for name in re.findall(r"\b(?:blueflame|llm|tool|context|api|agent)_[a-z_]+", query):
            assert re.sub(r"_(bucket|count|sum)$", "", name) in BY_NAME, (title, name)
        for name, bound in re.findall(r'(\w+)_bucket\{le=~"(\d+)\(\[.\]0\)\?"', query):
            assert name not in BY_NAME or float(bound) in BY_NAME[name].buckets, (title, name)
