"""What runners' closing lines say, taken from real runs of each runner."""

import pytest

from activities.gates.run_summaries import (
    Summary,
    names_passed,
    pytest_names,
    summarise,
    without_passed,
)
from workflows.domain.gate import GateSpec, TestCounts


def said(argv: str, output: str) -> Summary:
    return summarise(GateSpec(name="tests", argv=tuple(argv.split())), output)


def counts(passed: int = 0, failed: int = 0, skipped: int = 0) -> TestCounts:
    return TestCounts(passed=passed, failed=failed, skipped=skipped)


JEST = "Test Suites: 1 failed, 2 total\nTests:       1 failed, 1 skipped, 3 passed, 5 total\n"
CARGO = """\
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured;
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured;
"""
CARGO_CUT = """\
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured;
error: test failed, to rerun pass `--lib`
"""
NODE = "# tests 4\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n"


@pytest.mark.parametrize(
    ("argv", "output", "tests"),
    [
        ("pytest -q", "..\n2 passed in 0.01s\n", counts(2)),
        ("pytest", "===== 1 failed, 2 passed, 1 skipped in 0.12s =====\n", counts(2, 1, 1)),
        ("pytest", "=== 3 passed, 2 warnings in 61.23s (0:01:01) ===\n", counts(3)),
        ("pytest -q", "1 xfailed, 1 xpassed, 1 error in 0.10s\n", counts(1, 1, 1)),
        ("pytest -q", "1 passed in 0.01s\n2 passed in 0.01s\n", counts(2)),
        ("make test", "1 passed in 0.01s\n2 passed in 0.01s\n", counts(3)),
        ("python -m unittest", "Ran 3 tests in 0.001s\n\nOK (skipped=1)\n", counts(2, 0, 1)),
        (
            "python -m unittest",
            "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n",
            counts(1, 2),
        ),
        (
            "cargo test",
            CARGO,
            counts(3, 1, 1),
        ),
        ("npm test", JEST, counts(3, 1, 1)),
        ("npm test", "      Tests  1 failed | 3 passed (4)\n", counts(3, 1)),
        ("npm test", NODE, counts(2, 1, 1)),
        ("npm test", "  3 passing (5ms)\n  1 pending\n  2 failing\n", counts(3, 2, 1)),
        ("npm test", "2 specs, 1 failure, 1 pending spec\nFinished in 0.05 s\n", counts(0, 1, 1)),
        ("npm test", "3 specs, 0 failures\n", counts(3)),
        ("npx ava", "  1 test failed\n  1 test skipped\n  2 tests todo\n", counts(0, 1, 3)),
        ("npx ava", "  2 tests passed\n", counts(2)),
        ("npm test", "\u2139 tests 1\n\u2139 pass 1\n\u2139 fail 0\n\u2139 todo 0\n", counts(1)),
        ("./check", "all is well\n", None),
        ("ruff check", "1 passed in 0.01s\n", None),
        ("pytest", "printed by a test: 2 passed in 1.00s, we think\n", None),
        ("python -m unittest", "OK\n", None),
    ],
)
def test_closing_lines_say_how_many_tests_ran(argv: str, output: str, tests: TestCounts | None):
    found = said(argv, output)
    assert found.tests == tests
    assert (found.none_found, found.cut_short) == ("", "")


@pytest.mark.parametrize(
    ("argv", "output", "words"),
    [
        ("pytest -q", "no tests ran in 0.01s\n", "no tests ran in"),
        ("pytest -q", "3 deselected in 0.01s\n", "3 deselected in"),
        ("python -m unittest", "Ran 0 tests in 0.000s\n\nOK\n", "Ran 0 tests"),
        ("python -m unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", "Ran 0 tests"),
        ("go test ./...", "?   \texample.com/a\t[no test files]\n", "no test files"),
        ("go test ./...", "ok  \texample.com/a\t0.1s [no tests to run]\n", "no test files"),
        (
            "cargo test",
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured;\n",
            "0 tests in every target",
        ),
        ("npm test", "No tests found, exiting with code 1\n", "No tests found"),
        ("npm test", "No test files found, exiting with code 1\n", "No test files found"),
        ("npm test", "Error: no test specified\n", "no test specified"),
        ("npm test", "# tests 0\n# pass 0\n# fail 0\n# todo 0\n", "0 tests"),
        ("npm test", "  0 passing (1ms)\n", "0 tests"),
        ("npm test", "0 specs, 0 failures\n", "0 tests"),
    ],
)
def test_closing_lines_say_that_there_are_no_tests(argv: str, output: str, words: str):
    assert words in said(argv, output).none_found


def test_one_runner_with_tests_is_enough_behind_make():
    assert said("make test", "no tests ran in 0.01s\n2 passed in 0.01s\n").none_found == ""
    assert said("go test ./...", "?   \ta\t[no test files]\nok  \tb\t0.1s\n").none_found == ""


@pytest.mark.parametrize(
    ("argv", "output", "words"),
    [
        (
            "pytest -x",
            "!!!!!! stopping after 1 failures !!!!!!\n1 failed, 2 passed in 0.10s\n",
            "stopping after 1 failures",
        ),
        (
            "pytest",
            "!!!!!!! Interrupted: 1 error during collection !!!!!!!\n1 error in 0.05s\n",
            "Interrupted: 1 error during collection",
        ),
        (
            "pytest",
            "no tests ran in 0.05s\n!!!!!! _pytest.outcomes.Exit: enough !!!!!!\n",
            "_pytest.outcomes.Exit: enough",
        ),
        (
            "cargo test",
            CARGO_CUT,
            "cargo stops at the first target that fails",
        ),
    ],
)
def test_closing_lines_say_that_tests_were_left_out(argv: str, output: str, words: str):
    found = said(argv, output)
    assert found.cut_short == words
    assert found.none_found == ""


SUMMARY = """\
=== short test summary info ===
PASSED t.py::test_a[1]
PASSED t.py::test_a[2]
PASSED t.py::TestB::test_b
SKIPPED [1] t.py:9: no
XFAIL t.py::test_c - known
FAILED t.py::test_d[x - y] - assert 0
ERROR broken.py - ImportError
ERROR t.py::test_e - fixture
"""


def test_pytest_names_the_functions_that_ran():
    assert pytest_names(SUMMARY) == (
        "t.py::TestB::test_b",
        "t.py::test_a",
        "t.py::test_c",
        "t.py::test_d",
        "t.py::test_e",
    )


def test_an_excerpt_names_no_test_that_passed():
    assert b"PASSED" not in without_passed(SUMMARY.encode())
    assert b"FAILED t.py::test_d" in without_passed(SUMMARY.encode())


@pytest.mark.parametrize(
    ("argv", "is_pytest"),
    [
        ("python -m pytest -q", True),
        ("uv run pytest", True),
        (".venv/bin/pytest tests", True),
        ("coverage run -m pytest", True),
        ("tox -e pytest", False),
        ("make pytest", False),
        ("npm run pytest", False),
        ("pytest -- tests", False),
        ("bash -c pytest", False),
        ("make test", False),
    ],
)
def test_only_pytest_itself_is_asked_to_name_what_passed(argv: str, is_pytest: bool):
    assert names_passed(tuple(argv.split())) is is_pytest
