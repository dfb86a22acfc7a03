"""A pytest plugin: writes down what failed, for programs that run the tests again.

Each failure is one line of JSON: `test`, its node id; `text`, the end of what it said; `is_test`,
whether a test failed, and not the collection of a file or a process of xdist that ended. With
`--passes-to`, the node ids of what passed stand in another file, one a line.
"""

import json
from pathlib import Path

import pytest

_CHARACTERS = 4_000
_LOST_PROCESS = "???"
"""The phase in which xdist reports a test whose process has ended."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures-to", metavar="FILE", help="append what failed to FILE, as JSON")
    parser.addoption("--passes-to", metavar="FILE", help="append the ids of what passed to FILE")


def pytest_configure(config: pytest.Config) -> None:
    # The workers of xdist tell their controller, and only that one writes.
    if hasattr(config, "workerinput"):
        return
    failures, passes = config.getoption("failures_to"), config.getoption("passes_to")
    if isinstance(failures, str):
        config.pluginmanager.register(_Failures(Path(failures)))
    if isinstance(passes, str):
        config.pluginmanager.register(_Passes(Path(passes)))


class _Passes:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and report.when == "call":
            with self._path.open("a") as file:
                file.write(f"{report.nodeid}\n")


class _Failures:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            is_test = str(report.when) != _LOST_PROCESS
            self._write(report.nodeid, report.longreprtext, is_test=is_test)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report.nodeid, report.longreprtext, is_test=False)

    def _write(self, test: str, text: str, *, is_test: bool) -> None:
        failure = {"test": test, "text": text[-_CHARACTERS:], "is_test": is_test}
        with self._path.open("a") as file:
            file.write(json.dumps(failure) + "\n")
