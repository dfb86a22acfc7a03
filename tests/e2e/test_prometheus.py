"""Debian's Prometheus with the shipped rules beside a session: it scrapes, and it alerts."""

import contextlib
import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import CONFIGURATION, ROOT, blueflame, repository
from tests.scraping import free_ports
from tests.waiting import PATIENCE, text_of, until_blocking
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


class Asked:
    """A running Prometheus."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            return self.value("vector(1)") != []
        return False

    def value(self, query: str) -> list[Any]:
        """Return the samples that a query finds now."""
        return self._get(f"/query?{urllib.parse.urlencode({'query': query})}")["result"]

    def alerts(self) -> list[str]:
        """Name the alerts that fire."""
        found = self._get("/alerts")["alerts"]
        return [each["labels"]["alertname"] for each in found if each["state"] == "firing"]

    def _get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(self._url + path, timeout=30) as answer:
            return json.load(answer)["data"]


@contextlib.contextmanager
def prometheus(folder: Path, first: int, port: int) -> Generator[Asked]:
    """Run Prometheus with the shipped configuration, only faster and at other ports."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed: apt-get install prometheus")
    shipped = YAML(typ="safe").load((ROOT / "docker" / "prometheus.yml").read_text())
    shipped["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    shipped["rule_files"] = [str(ROOT / "docker" / "alerts.yml")]
    targets = [f"127.0.0.1:{first + place}" for place in range(4)]
    shipped["scrape_configs"][0]["static_configs"] = [{"targets": targets}]
    (folder / "prometheus.yml").write_text(json.dumps(shipped))  # JSON is YAML
    log = folder / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(program, f"--config.file={folder / 'prometheus.yml'}"),
                f"--storage.tsdb.path={folder / 'prometheus'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=output,
            stderr=output,
        )
        try:
            asked = Asked(port)
            until_blocking(asked.is_ready, "Prometheus answers", seen=lambda: text_of(log))
            yield asked
        finally:
            process.terminate()
            process.wait(PATIENCE)
