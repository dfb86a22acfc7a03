"""Debian's Prometheus with the shipped rules beside a session: it scrapes, and it alerts."""

import json
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import CONFIGURATION, blueflame, repository
from tests.e2e.prometheus import prometheus
from tests.scraping import free_ports
from tests.waiting import until_blocking
from workers.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox, pytest.mark.slow]

PLAYBOOK = """
schema: 1
name: a key that ends
scenes:
  - role: planner
    turns:
      - calls:
          - submit_plan:
              tasks: [{id: a, title: A, acceptance_criteria: [It is there], claims: [a.txt]}]
  - role: developer
    turns: [{error: {kind: auth}}]
"""


def test_a_refused_key_is_an_alert_within_seconds(tmp_path: Path) -> None:
    place = repository(tmp_path / "sample", {"README": "x\n"})
    config, playbook = tmp_path / "config.yaml", tmp_path / "playbook.yaml"
    config.write_text(CONFIGURATION)
    playbook.write_text(PLAYBOOK)
    settings = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    first = free_ports(5)
    more = {"BLUEFLAME_METRICS_ADDRESS": f"127.0.0.1:{first}"}
    try:
        came = blueflame(settings, "up", "--detach", "--playbook", str(playbook), more=more)
        assert came.returncode == 0, came.stderr
        with prometheus(tmp_path, first, first + 4) as asked:
            until_blocking(lambda: len(asked.value("up == 1")) == 4, "four workers are scraped")
            given = ("--repo", str(place), "--config", str(config), "--playbook", str(playbook))
            ended = blueflame(settings, "run", "Notes", *given)
            assert ended.returncode == ExitCode.WAITING, ended.stdout + ended.stderr
            approved = blueflame(settings, "approve", "plan")
            assert approved.returncode == ExitCode.COMPLETE, approved.stderr
            until_blocking(
                lambda: "BlueflameKeyRefused" in asked.alerts(), "the alert", seen=asked.alerts
            )
            until_blocking(
                lambda: asked.value('max(blueflame_waits_for_person{kind="paused"}) == 1'),
                "the session waits for a person",
            )
            assert asked.value("sum(llm_tokens_total)")
            assert "BlueflameNoPoller" not in asked.alerts()
        health = json.loads(blueflame(settings, "health", "--json").stdout)
        (session,) = health["sessions"]
        assert session["phase"] == "paused"
        assert session["waits_for_person"][0].startswith("paused: ")
        assert session["problem"] == ""
    finally:
        blueflame(settings, "up", "--stop")
