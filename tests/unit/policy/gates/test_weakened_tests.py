"""Tests that a change deletes, skips or weakens are named, and what only moves is not."""

import pytest

from tests.unit.policy.gates.results import a_report, passed
from workflows.domain.gate import TestCounts
from workflows.policy.gates.weakened_tests import (
    MAX_TOLD,
    fewer_tests,
    stopped_tests,
    weakened_tests,
)


def diff(path: str, *lines: str, header: str = "index 1..2 100644") -> str:
    return "\n".join([f"diff --git a/{path} b/{path}", header, "@@ -1 +1 @@", *lines])


DELETED = "deleted file mode 100644"


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (diff("tests/test_a.py", "-assert 1", header=DELETED), "tests/test_a.py: deleted"),
        (diff("test_a.py", "-def test_x():", "-    pass"), "test_a.py: removed: test_x"),
        (diff("a_test.go", "-func TestX(t *testing.T) {"), "a_test.go: removed: TestX"),
        (diff("a.test.ts", "-  it('adds', () => {"), "a.test.ts: removed: 'adds'"),
        (
            diff("test_a.py", "+@pytest.mark.skip(reason='later')", " def test_x():"),
            "test_a.py: skipped or expected to fail: @pytest.mark.skip(reason='later')",
        ),
        (
            diff("test_a.py", "+pytestmark = pytest.mark.xfail"),
            "test_a.py: skipped or expected to fail: pytestmark = pytest.mark.xfail",
        ),
        (
            diff("test_a.py", "+    @unittest.skipIf(True, 'x')"),
            "test_a.py: skipped or expected to fail: @unittest.skipIf(True, 'x')",
        ),
        (
            diff("a.spec.js", "-it('adds', f)", "+it.skip('adds', f)"),
            "a.spec.js: skipped or expected to fail: it.skip('adds', f)",
        ),
        (
            diff("tests/a.rs", "+#[ignore]"),
            "tests/a.rs: skipped or expected to fail: #[ignore]",
        ),
        (
            diff("test_a.py", "-    assert a == 1", "-    assert b == 2", "+    pass"),
            "test_a.py: fewer assertions: 2",
        ),
        (
            diff("pyproject.toml", "-fail_under = 90", "+fail_under = 50"),
            "pyproject.toml: lower threshold: fail_under 90 becomes 50",
        ),
        (
            diff("jest.config.js", "-    branches: 80,", "+    branches: 8,"),
            "jest.config.js: lower threshold: branches 80 becomes 8",
        ),
        (
            diff("conftest.py", "+collect_ignore = ['test_a.py']"),
            "conftest.py: runs less: collect_ignore = ['test_a.py']",
        ),
        (diff("src/a.py", "+os._exit(0)"), "src/a.py: runs less: os._exit(0)"),
    ],
)
def test_a_weakened_test_is_named(patch: str, told: str):
    assert told in weakened_tests(patch)


@pytest.mark.parametrize(
    "patch",
    [
        "",
        diff("src/a.py", "-def test_x():", "-    assert 1"),
        diff("src/a.py", "-assert a", header=DELETED),
        diff("test_a.py", "+def test_y():", "+    assert 1"),
        diff("test_a.py", "-def test_x():") + "\n" + diff("test_b.py", "+def test_x():"),
        diff("test_a.py", "-@pytest.mark.skip", "+@pytest.mark.skip"),
        diff("test_a.py", "-    assert a == 1", "+    assert a == 2"),
        diff("pyproject.toml", "-fail_under = 50", "+fail_under = 90"),
        diff("pyproject.toml", "+fail_under = 90"),
        diff("test_a.py", " def test_x():", "---- a/x", "+++ b/test_b.py"),
    ],
)
def test_harmless_changes_of_tests_are_not_named(patch: str):
    assert weakened_tests(patch) == ()


def test_only_the_first_are_listed():
    many = diff("test_a.py", *(f"-def test_{number}(): pass" for number in range(MAX_TOLD + 5)))
    told = weakened_tests(many)
    assert (len(told), told[-1]) == (MAX_TOLD + 1, "and 5 more")


def counted(ran: int, skipped: int = 0, missing: tuple[str, ...] = (), gate: str = "tests"):
    tests = TestCounts(passed=ran, skipped=skipped)
    return passed(gate, tests=tests, missing=missing)


def test_a_gate_that_ran_fewer_tests_names_them():
    base = a_report(counted(5), counted(3, gate="more"), passed("lint"))
    now = a_report(
        counted(3, skipped=1, missing=("t.py::a", "t.py::b")),
        counted(3, gate="more"),
        passed("lint"),
        counted(1, gate="new"),
    )
    (told,) = fewer_tests(base, now)
    assert told.startswith("gate 'tests' ran 3 tests, 5 on the base; more are skipped: 1;")
    assert told.endswith("; not run now: t.py::a, t.py::b")
    assert fewer_tests(base, a_report(counted(4)))[0] == "gate 'tests' ran 4 tests, 5 on the base"
    many = a_report(counted(1, missing=tuple(f"t{n:02}" for n in range(MAX_TOLD + 2))))
    assert fewer_tests(base, many)[0].endswith("t29 and 2 more")


def test_a_test_is_stopped_where_its_file_was_not_changed():
    missing = ("tests: a.py::test_x", "tests: b.py::T::test_y")
    assert stopped_tests(missing, ("a.py", "conftest.py")) == ("tests: b.py::T::test_y",)
    assert stopped_tests(missing, tuple(map(str, range(200)))) == ()


def test_lines_before_the_first_file_are_ignored() -> None:
    assert weakened_tests("-def test_x():\n" + diff("src/a.py", "+x = 1")) == ()
