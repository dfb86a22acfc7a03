"""A pytest plugin: writes down what failed, for programs that run the tests again.

Each failure is one line of JSON: `test`, its node id, and `text`, the end of what it said. A file
that cannot be collected stands there under its own path.
"""

import json
from pathlib import Path

import pytest

_CHARACTERS = 4_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures-to", metavar="FILE", help="append what failed to FILE, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    wanted = config.getoption("failures_to")
    # The workers of xdist tell their controller, and only that one writes.
    if isinstance(wanted, str) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(Path(wanted)))


class _Writer:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._write(report.nodeid, report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report.nodeid, report.longreprtext)

    def _write(self, test: str, text: str) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps({"test": test, "text": text[-_CHARACTERS:]}) + "\n")
