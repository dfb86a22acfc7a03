"""Debian's Prometheus with the shipped rules, beside a session of a test."""

import contextlib
import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.e2e.processes import ROOT
from tests.waiting import PATIENCE, text_of, until_blocking

RULES = ROOT / "docker" / "alerts.yml"


class Asked:
    """A running Prometheus."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            return self.value("vector(1)") != []
        return False

    def course(self, query: str, since: float) -> list[Any]:
        """Return the series that a query finds from a moment (Unix time) until now."""
        asked = {"query": query, "start": f"{since}", "end": f"{time.time()}", "step": "1"}
        return self._get(f"/query_range?{urllib.parse.urlencode(asked)}")["result"]

    def value(self, query: str) -> list[Any]:
        """Return the samples that a query finds now."""
        return self._get(f"/query?{urllib.parse.urlencode({'query': query})}")["result"]

    def alerts(self, *states: str) -> list[str]:
        """Name the alerts that fire, or those in other states."""
        found = self._get("/alerts")["alerts"]
        wanted = states or ("firing",)
        return [each["labels"]["alertname"] for each in found if each["state"] in wanted]

    def _get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(self._url + path, timeout=30) as answer:
            return json.load(answer)["data"]


@contextlib.contextmanager
def prometheus(folder: Path, first: int, port: int, rules: Path = RULES) -> Generator[Asked]:
    """Run Prometheus with the shipped configuration, only faster and at other ports.

    Args:
        folder: for its data and its log.
        first: the port of the first of four workers.
        port: its own.
        rules: the file with the alerts.
    """
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed: apt-get install prometheus")
    shipped = YAML(typ="safe").load((ROOT / "docker" / "prometheus.yml").read_text())
    shipped["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    shipped["rule_files"] = [str(rules)]
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
