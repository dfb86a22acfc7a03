"""The table of log events: every line that the code logs is in it, and every row is logged."""

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from workflows.policy.text.log_events import EVENTS, LogEvent, log_event

ROOT = Path(__file__).parents[2]
PACKAGES = ("activities", "starter", "workers", "workflows")
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def calls() -> Iterator[tuple[Path, ast.Call]]:
    """Yield every call in the source, with its file."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call):
                    yield file.relative_to(ROOT), node


def logged() -> dict[str, set[frozenset[str]]]:
    """Return the events that the code logs, each with the fields that it gives."""
    found: dict[str, set[frozenset[str]]] = {}
    for file, call in calls():
        if not (isinstance(call.func, ast.Name) and call.func.id == "log_event"):
            continue
        event = call.args[1]
        assert isinstance(event, ast.Constant), f"{file}:{call.lineno}: name the event there"
        given = {each.arg for each in call.keywords} - {"error"}
        assert None not in given, f"{file}:{call.lineno}: name the fields there"
        fields = frozenset(str(name) for name in given)
        found.setdefault(str(event.value), set()).add(fields)
    return found


def test_what_the_code_logs_is_the_table() -> None:
    assert logged() == {each.name: {each.fields} for each in EVENTS}


def test_nothing_is_logged_past_the_table() -> None:
    past = [
        f"{file}:{call.lineno}"
        for file, call in calls()
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in LEVELS
        and "log" in ast.unparse(call.func.value)
    ]
    assert past == []


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.name)
def test_an_event_is_logged_with_its_level_text_and_fields(
    event: LogEvent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    numbers = dict.fromkeys(event.fields, 7)
    log_event(logging.getLogger("workers.any"), event.name, error=None, **numbers)
    (record,) = caplog.records
    assert record.levelname.lower() == event.level
    assert record.getMessage() == event.text % numbers
    assert (vars(record)["event"], vars(record)["event_fields"]) == (event.name, numbers)
    assert event.meaning.endswith(".")


def test_the_names_are_unique() -> None:
    assert len({each.name for each in EVENTS}) == len(EVENTS)
