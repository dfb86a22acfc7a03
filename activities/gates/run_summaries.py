"""Reads a test runner's closing lines: how many tests ran, and whether some did not.

Pure. It never decides whether a gate passed, and knows nothing about a run that has no closing
lines of a known runner.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from activities.gates.output_excerpt import plain_lines
from workflows.domain.gate import GateSpec, TestCounts

Lines = list[str]
_ENVIRONMENTS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye"})
"""Programs whose `run` starts a command in the project's own environment."""


class Summary(NamedTuple):
    """The closing lines of one runner."""

    tests: TestCounts | None = None
    none_found: str = ""
    cut_short: str = ""


# --- pytest -------------------------------------------------------------------------------------

_PYTEST_COUNT = re.compile(
    r"(\d+) (failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun)\b"
)
_PYTEST_END = re.compile(
    r"(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*|no tests ran) in \d+\.\d+s(?: \([\d:]+\))?(?: =+)?\Z"
)
_PYTEST_CUT = re.compile(
    r"!+ ((?:xdist\.dsession\.)?(?:Interrupted|_pytest\.outcomes\.Exit): .*?|KeyboardInterrupt"
    r"|stopping after \d+ failures?) !+\Z"
)


def _pytest(lines: Lines) -> Iterator[Summary]:
    """Read each closing line; a line before or after it may say that tests did not run."""
    cuts = [said[1] for line in lines if (said := _PYTEST_CUT.match(line)) is not None]
    cut = cuts[0] if cuts else ""
    for line in lines:
        end = _PYTEST_END.match(line)
        if end is None:
            continue
        found = {word: int(count) for count, word in _PYTEST_COUNT.findall(end[1])}
        counts = _counts(
            found,
            passed=("passed", "xpassed"),
            failed=("failed", "error", "errors"),
            skipped=("skipped", "xfailed"),
        )
        none = "" if counts.ran or counts.skipped or cut else end[0].strip("= ")
        yield Summary(counts, none, cut)


_PYTEST_RAN = re.compile(r"(?:PASSED|FAILED|ERROR|XPASS|XFAIL) (\S+?::.+?)(?: - .*)?\Z")
_PYTEST_PASSED = re.compile(rb"^PASSED \S+::.*\n?", re.MULTILINE)
_PARAMETERS = re.compile(r"\[.*\Z")
NAMING_OPTION = "-rpsxXEf"
"""Makes pytest's summary also name the tests that passed, before those that failed."""


def names_passed(argv: Sequence[str]) -> bool:
    """Say whether a command is pytest itself, so that an option at its end is pytest's.

    `pytest`, `python -m pytest` and `uv run pytest` are; `tox -e pytest` and `make pytest` are not.
    """
    words = [PurePosixPath(word).name for word in argv]
    place = next((n for n, word in enumerate(words) if word in {"pytest", "py.test"}), None)
    if place is None or "--" in words:
        return False
    before = words[place - 1] if place else ""
    return place == 0 or before == "-m" or (before == "run" and words[0] in _ENVIRONMENTS)


def pytest_names(output: str) -> tuple[str, ...]:
    """Return the test functions that pytest ran, without parameters, sorted."""
    found = (_PYTEST_RAN.match(line) for line in plain_lines(output))
    return tuple(sorted({_PARAMETERS.sub("", match[1]) for match in found if match is not None}))


def without_passed(output: bytes) -> bytes:
    """Remove the lines that name passed tests: a reader of an excerpt does not need them."""
    return _PYTEST_PASSED.sub(b"", output)


# --- unittest -----------------------------------------------------------------------------------

_UNITTEST_RAN = re.compile(r"Ran (\d+) tests? in ")
_UNITTEST_END = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?\Z")
_UNITTEST_COUNT = re.compile(r"(failures|errors|skipped|expected failures)=(\d+)")


def _unittest(lines: Lines) -> Iterator[Summary]:
    ran: int | None = None
    for line in lines:
        begin = _UNITTEST_RAN.match(line)
        if begin is not None:
            ran = int(begin[1])
        end = _UNITTEST_END.match(line)
        if end is None or ran is None:
            continue
        found = {word: int(count) for word, count in _UNITTEST_COUNT.findall(end[2] or "")}
        failed = found.get("failures", 0) + found.get("errors", 0)
        skipped = found.get("skipped", 0) + found.get("expected failures", 0)
        counts = TestCounts(passed=max(ran - failed - skipped, 0), failed=failed, skipped=skipped)
        yield Summary(counts, "" if ran or failed else "Ran 0 tests")
        ran = None


# --- go, cargo ----------------------------------------------------------------------------------

_GO_EMPTY = re.compile(r"\?\s+\t?\S+\t\[no test files\]\Z|ok\s+\t?\S+\t.*\[no tests to run\]\Z")
_GO_PACKAGE = re.compile(r"(?:ok  |FAIL|\?   )\t\S+\t")
_CARGO = re.compile(r"test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;")
_CARGO_CUT = re.compile(r"error: test failed, to rerun pass ")


def _go(lines: Lines) -> Iterator[Summary]:
    packages = [line for line in lines if _GO_PACKAGE.match(line)]
    if packages and all(_GO_EMPTY.match(line) for line in packages):
        yield Summary(none_found="no test files")


def _cargo(lines: Lines) -> Iterator[Summary]:
    found = [match for line in lines if (match := _CARGO.match(line)) is not None]
    cut = any(_CARGO_CUT.match(line) for line in lines)
    if found:
        counts = TestCounts(
            passed=sum(int(match[1]) for match in found),
            failed=sum(int(match[2]) for match in found),
            skipped=sum(int(match[3]) for match in found),
        )
        none = "" if counts.ran or counts.skipped else "0 tests in every target"
        yield Summary(counts, none, "cargo stops at the first target that fails" if cut else "")


# --- JavaScript ---------------------------------------------------------------------------------

_NODE = re.compile(r"(?:#|\u2139) (tests|pass|fail|cancelled|skipped|todo) (\d+)\Z")
_JEST = re.compile(r"Tests:\s+(.*\d+ total)\Z")
_VITEST = re.compile(r"\s+Tests\s+(\d+ .*?)\s*\(\d+\)\Z")
_MOCHA = re.compile(r"\s+(\d+) (passing|failing|pending)\b")
_AVA = re.compile(r"\s{2}(\d+) tests? (passed|failed|skipped|todo)\Z")
_JASMINE = re.compile(r"(\d+) specs?, (\d+) failures?(?:, (\d+) pending specs?)?\Z")
_COUNT = re.compile(r"(\d+) (failed|passed|skipped|todo|total)\b")
_JS_NONE = re.compile(
    r"(No tests? (?:files? )?found)\b.*exiting with code|.*(no test specified)\b", re.IGNORECASE
)


def _node(lines: Lines) -> Iterator[Summary]:
    found: dict[str, int] = {}
    for line in lines:
        match = _NODE.match(line.strip())
        if match is not None:
            found[match[1]] = int(match[2])
            if match[1] == "todo":
                yield _counted(
                    found, passed=("pass",), failed=("fail", "cancelled"), skipped=("skipped",)
                )
                found = {}


def _script(lines: Lines) -> Iterator[Summary]:
    for line in lines:
        if (none := _JS_NONE.match(line)) is not None:
            yield Summary(none_found=none[1] or none[2])
        end = _JEST.match(line) or _VITEST.match(line)
        if end is not None:
            found = {word: int(count) for count, word in _COUNT.findall(end[1])}
            yield _counted(
                found, passed=("passed",), failed=("failed",), skipped=("skipped", "todo")
            )


def _mocha(lines: Lines) -> Iterator[Summary]:
    found = _numbers(_MOCHA, lines)
    if "passing" in found:
        yield _counted(found, passed=("passing",), failed=("failing",), skipped=("pending",))


def _ava(lines: Lines) -> Iterator[Summary]:
    found = _numbers(_AVA, lines)
    if found.keys() & {"passed", "failed"}:
        yield _counted(found, passed=("passed",), failed=("failed",), skipped=("skipped", "todo"))


def _jasmine(lines: Lines) -> Iterator[Summary]:
    for line in lines:
        if (match := _JASMINE.match(line)) is not None:
            total, failed, pending = (int(number or 0) for number in match.groups())
            found = {"passed": total - failed - pending, "failed": failed, "pending": pending}
            yield _counted(found, passed=("passed",), failed=("failed",), skipped=("pending",))


def _numbers(form: re.Pattern[str], lines: Lines) -> dict[str, int]:
    """Return the last number for each word, from lines of the form `<number> <word>`."""
    found = (match for line in lines if (match := form.match(line)) is not None)
    return {match[2]: int(match[1]) for match in found}


# --- all ----------------------------------------------------------------------------------------

_Reader = Callable[[Lines], Iterable[Summary]]
_ALL: tuple[_Reader, ...] = (
    *(_pytest, _unittest, _go, _cargo),
    *(_node, _script, _mocha, _ava, _jasmine),
)
_BY_PROGRAM: dict[str, tuple[_Reader, ...]] = {
    "pytest": (_pytest,),
    "py.test": (_pytest,),
    "unittest": (_unittest,),
    "go": (_go,),
    "cargo": (_cargo,),
    "ruff": (),
    "gitleaks": (),
}


def summarise(gate: GateSpec, output: str) -> Summary:
    """Read the closing lines of a gate's run.

    Args:
        gate: its command tells the runner; with `make` and the like, any runner.
        output: the whole output as text.

    Returns:
        The sum over all runners; for a runner that the command itself names, its last closing line.
    """
    lines = plain_lines(output)
    programs = (_BY_PROGRAM.get(PurePosixPath(word).name) for word in gate.argv)
    named = next((found for found in programs if found is not None), None)
    readers = _ALL if named is None else named
    found = [each for read in readers for each in read(lines)]
    if named is not None:
        found = found[-1:]
    counted = [each.tests for each in found if each.tests is not None]
    has_tests = any(tests.ran or tests.skipped for tests in counted)
    return Summary(
        tests=_sum(counted) if counted else None,
        none_found="" if has_tests else next((f.none_found for f in found if f.none_found), ""),
        cut_short=next((each.cut_short for each in found if each.cut_short), ""),
    )


def _sum(counted: list[TestCounts]) -> TestCounts:
    return TestCounts(
        passed=sum(each.passed for each in counted),
        failed=sum(each.failed for each in counted),
        skipped=sum(each.skipped for each in counted),
    )


def _counted(found: dict[str, int], **words: tuple[str, ...]) -> Summary:
    counts = _counts(found, **words)
    return Summary(counts, "" if counts.ran or counts.skipped else "0 tests")


def _counts(found: dict[str, int], **words: tuple[str, ...]) -> TestCounts:
    return TestCounts(
        **{kind: sum(found.get(word, 0) for word in named) for kind, named in words.items()}
    )
