"""Names tests that a change deletes, skips or weakens, for the reviewer and the person.

A notice, not a refusal: some tasks have to remove tests. It reads a diff as text, so it can be
wrong. It also compares the runs: which tests did not run, and how many fewer. One case is a
finding, which rejects the work: tests that did not run although their files are unchanged.

| what                                           | example                                    |
|------------------------------------------------|--------------------------------------------|
| a test file is deleted                         | `tests/test_cart.py`                       |
| a test is removed, and not added elsewhere     | `def test_total`, `it("adds")`             |
| a mark to skip it, or to expect that it fails  | `@pytest.mark.skip`, `xfail`, `it.skip`    |
| more assertions removed than added             | `assert total == 3`                        |
| a lower threshold of coverage                  | `fail_under = 90` becomes `fail_under = 50`|
| a runner is told to run less                   | `collect_ignore`, `--ignore`, `-k`         |
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from workflows.domain.gate import GateReport, GateResult

MAX_TOLD: Final = 30
_PATHS_KNOWN: Final = 200
"""A list of a diff's paths is cut at this length."""
_FILE: Final = re.compile(r"diff --git a/(?P<old>.+) b/(?P<new>.+)\Z")
_TEST_PATH: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|_tests?\.[a-z]+$|\.(?:test|spec)\.[a-z]+$"
    r"|(?:^|/)conftest\.py$"
)
_TEST: Final = re.compile(
    r"\s*(?:async\s+)?(?:def (?P<py>test\w*)|func (?P<go>Test\w+)"
    r"|(?:it|test|describe)(?:\.\w+)?\(\s*(?P<js>['\"`].+?['\"`]))"
)
_SKIP: Final = re.compile(
    r"pytest\.(?:mark\.)?(?:skip|xfail|importorskip)|pytestmark\s*=.*(?:skip|xfail)"
    r"|unittest\.(?:skip|expectedFailure)|\bself\.skipTest\(|\bt\.Skip|#\[ignore"
    r"|\b(?:it|test|describe)\.(?:skip|todo|failing|only)\b|\bx(?:it|describe|test)\("
)
_ASSERTION: Final = re.compile(
    r"\s*(?:assert\b|assert\w*!|self\.assert\w+|(?:await )?expect\(|assert\.|t\.(?:Error|Fatal)"
    r"|with pytest\.raises)"
)
_THRESHOLD: Final = re.compile(
    r"\b(?P<key>fail_under|cov-fail-under|minimum_coverage|branches|functions|lines|statements)"
    r"['\"]?\s*[=: ]\s*(?P<value>\d+(?:\.\d+)?)"
)
_LESS: Final = re.compile(
    r"\bcollect_ignore|--ignore(?:-glob)?\b|--deselect\b|testPathIgnorePatterns"
    r"|pytest_collection_modifyitems|\bos\._exit\("
)


class _File(NamedTuple):
    """One file of a diff."""

    path: str
    header: list[str]
    removed: list[str]
    added: list[str]

    @property
    def is_deleted(self) -> bool:
        return any(line.startswith("deleted file mode") for line in self.header)


def weakened_tests(diff: str) -> tuple[str, ...]:
    """Name the tests that a diff deletes, skips or weakens.

    Args:
        diff: as git writes it, with file headers.

    Returns:
        One line each, in the diff's order; at most `MAX_TOLD`, and a line that counts the rest.
    """
    files = _files(diff.splitlines())
    moved = {name for file in files for name in _tests(file.added)}
    found = list(dict.fromkeys(line for file in files for line in _weakened(file, moved)))
    more = len(found) - MAX_TOLD
    return (*found[:MAX_TOLD], *([f"and {more} more"] if more > 0 else []))


def fewer_tests(baseline: GateReport, report: GateReport) -> tuple[str, ...]:
    """Say in which gates fewer tests ran than on the base, and name the missing tests if known.

    Args:
        baseline: the report on the commit that the work is based on.
        report: the report on the work.
    """
    bases = {result.gate: result for result in baseline.results}
    return tuple(
        line
        for result in report.results
        if result.has_run and result.gate in bases and (line := _fewer(bases[result.gate], result))
    )


def stopped_tests(missing: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Name the tests that ran on the base and not now, although their files are unchanged.

    Args:
        missing: `gate: file::test`, as a decision names them.
        paths: what the work changes; if there are 200 or more, the result is empty.
    """
    if len(paths) >= _PATHS_KNOWN:
        return ()
    changed = set(paths)
    return tuple(
        name for name in missing if name.partition(": ")[2].partition("::")[0] not in changed
    )


def _fewer(base: GateResult, now: GateResult) -> str:
    if base.tests is None or now.tests is None or now.tests.ran >= base.tests.ran:
        return ""
    counts = f"gate {now.gate!r} ran {now.tests.ran} tests, {base.tests.ran} on the base"
    more = f" and {len(now.missing) - MAX_TOLD} more" if len(now.missing) > MAX_TOLD else ""
    names = f"; not run now: {', '.join(now.missing[:MAX_TOLD])}{more}" if now.missing else ""
    skipped = now.tests.skipped - base.tests.skipped
    return f"{counts}{f'; more are skipped: {skipped}' if skipped > 0 else ''}{names}"


def _files(lines: Iterable[str]) -> list[_File]:
    """Split a diff; a removed or added line inside a hunk is never a header."""
    files: list[_File] = []
    is_hunk = False
    for line in lines:
        if (header := _FILE.match(line)) is not None:
            files.append(_File(header["new"], [], [], []))
            is_hunk = False
        elif files:
            is_hunk = is_hunk or line.startswith("@@")
            _lines(files[-1], line, is_hunk=is_hunk).append(line[1:] if is_hunk else line)
    return files


def _lines(file: _File, line: str, *, is_hunk: bool) -> list[str]:
    """Return the list that a diff's line belongs to; unchanged lines go to a throw-away list."""
    if not is_hunk:
        return file.header
    return {"-": file.removed, "+": file.added}.get(line[:1], [])


def _weakened(file: _File, moved: set[str]) -> Iterator[str]:
    new = [line for line in file.added if line not in file.removed]
    yield from _thresholds(file)
    yield from (f"{file.path}: runs less: {_shown(line)}" for line in new if _LESS.search(line))
    if _TEST_PATH.search(file.path) is not None:
        yield from _weakened_file(file, new, moved)


def _weakened_file(file: _File, new: Sequence[str], moved: set[str]) -> Iterator[str]:
    """Name changes to the tests of a file; `new` are the added lines that were not just moved."""
    if file.is_deleted:
        yield f"{file.path}: deleted"
        return
    gone = (name for name in _tests(file.removed) if name not in moved)
    yield from (f"{file.path}: removed: {name}" for name in gone)
    skips = (line for line in new if _SKIP.search(line))
    yield from (f"{file.path}: skipped or expected to fail: {_shown(line)}" for line in skips)
    fewer = _count(_ASSERTION, file.removed) - _count(_ASSERTION, file.added)
    if fewer > 0:
        yield f"{file.path}: fewer assertions: {fewer}"


def _thresholds(file: _File) -> Iterator[str]:
    before = {match["key"]: float(match["value"]) for match in _matches(_THRESHOLD, file.removed)}
    for match in _matches(_THRESHOLD, file.added):
        old = before.get(match["key"])
        if old is not None and float(match["value"]) < old:
            yield f"{file.path}: lower threshold: {match['key']} {old:g} becomes {match['value']}"


def _tests(lines: Iterable[str]) -> list[str]:
    return [match["py"] or match["go"] or match["js"] for match in _matches(_TEST, lines)]


def _matches(pattern: re.Pattern[str], lines: Iterable[str]) -> Iterator[re.Match[str]]:
    return (match for line in lines if (match := pattern.search(line)) is not None)


def _count(pattern: re.Pattern[str], lines: Iterable[str]) -> int:
    return sum(pattern.match(line) is not None for line in lines)


def _shown(line: str) -> str:
    return line.strip()[:120]
