"""No test waits in a way that can race: only `tests/waiting.py` sleeps and polls."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
ALLOWED = {
    "waiting.py": "the one home of waiting",
    "jitter.py": "makes calls late on purpose",
    "crash/kills.py": "strikes at random moments: that is its subject",
    "unit/workers/server/test_lifeline.py": "a worker that never ends by itself",
    "theatre.py": "heartbeats at an interval, as an activity does",
    "workflows/test_chaos.py": "a call that outlives its time limit",
    "workflows/test_patience.py": "a step that blocks as on a busy machine: that is its subject",
}
"""Files that sleep, each with its reason."""
COMMANDS = {
    "unit/policy/commands/command_table.py": "commands that are judged and not run",
    "unit/activities/adapters/shell/test_witness.py": "walks over arguments",
    "unit/activities/adapters/sandbox/test_bwrap_probe.py": "walks over arguments",
}
"""Files whose shell loops wait for nothing."""
SHELL_LOOP = re.compile(r"\b(?:until|while) (?:\[|!|test\b|grep\b)")
"""A loop of shell that waits for something; without a bound it waits for ever."""
SLEEP = re.compile(r"\bsleep\b")


def _sources(pattern: re.Pattern[str]) -> Iterator[tuple[str, ast.Module]]:
    """Give the files whose text has a match; to parse all would take seconds."""
    for path in sorted(TESTS.rglob("*.py")):
        if pattern.search(text := path.read_text()):
            yield path.relative_to(TESTS).as_posix(), ast.parse(text)


def _sleeps(tree: ast.Module) -> Iterator[int]:
    """Give the lines that sleep longer than for one turn of the loop."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "sleep"
            and not (isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
        ):
            yield node.lineno


def _shell_loops(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and SHELL_LOOP.search(node.value)
        ):
            yield node.lineno


def test_no_test_sleeps() -> None:
    found = {
        f"{name}:{line}"
        for name, tree in _sources(SLEEP)
        if name not in ALLOWED
        for line in _sleeps(tree)
    }
    assert found == set()


def test_no_shell_loop_waits_without_a_bound() -> None:
    found = {
        f"{name}:{line}"
        for name, tree in _sources(SHELL_LOOP)
        if name not in {*ALLOWED, *COMMANDS, "unit/test_waits.py"}
        for line in _shell_loops(tree)
    }
    assert found == set()


def test_every_file_that_may_sleep_is_there() -> None:
    assert [name for name in ALLOWED if not (TESTS / name).is_file()] == []
