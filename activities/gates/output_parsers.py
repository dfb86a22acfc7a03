"""Parses the output of test runners and linters: one function for each form.

Pure, and strict: a line inside a test's own output that only looks like a failure must not count as
one. A runner's names are made unique where it repeats them (Go by package, Cargo by crate, Jest by
file). Each function takes the lines of a plain text and yields failures in order.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

Lines = list[str]


class Failure(NamedTuple):
    """One failure: its name, and the place that distinguishes it from others of that name."""

    name: str
    place: str = ""


# --- pytest -------------------------------------------------------------------------------------

_PYTEST_SUMMARY = re.compile(r"=+ short test summary info =+\Z")
_PYTEST_LINE = re.compile(
    r"(?:FAILED|ERROR|SUBFAILED(\[[^\]]*\])? ?(\([^()]*(?:\([^()]*\)[^()]*)*\))?) (\S.*)\Z"
)
_PYTEST_COVERAGE = re.compile(r"(?:FAIL|ERROR:?) (?:Required test coverage|Coverage failure)\b")


def pytest_failures(lines: Lines) -> Iterator[Failure]:
    """Read the short summary; without one (cut output), lines of its form that name a test."""
    start = max((n for n, line in enumerate(lines) if _PYTEST_SUMMARY.match(line)), default=None)
    for line in lines[start or 0 :]:
        if _PYTEST_COVERAGE.match(line):
            yield Failure("coverage below the required total")
        match = _PYTEST_LINE.match(line)
        if match is None:
            continue
        name = _pytest_id(match[3])
        if start is not None or "::" in name or name.endswith(".py"):
            yield Failure(" ".join(part for part in (name, match[1], match[2]) if part))


def _pytest_id(rest: str) -> str:
    """Cut the message off (`id - message`); a parameter in brackets may contain ` - ` too."""
    depth = 0
    pieces = rest.split(" - ")
    for count, piece in enumerate(pieces, start=1):
        depth += piece.count("[") - piece.count("]")
        if depth <= 0:
            return " - ".join(pieces[:count])
    return pieces[0]


# --- unittest -----------------------------------------------------------------------------------

_UNITTEST_LINE = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([\w.<>]+)\)(.*)\Z")
_UNITTEST_RULE = "=" * 70


def unittest_failures(lines: Lines) -> Iterator[Failure]:
    """Read the headings of the report; a double rule above them distinguishes them from logs."""
    for rule, line in pairwise(lines):
        match = _UNITTEST_LINE.match(line) if rule == _UNITTEST_RULE else None
        if match is not None:
            yield Failure(_unittest_id(match[1], match[2]) + match[3].rstrip())


def _unittest_id(name: str, owner: str) -> str:
    if owner.startswith("unittest.loader."):
        return name  # a module that could not be imported
    # Since 3.11 the owner ends with the test's name, before it did not.
    return owner if owner.endswith(f".{name}") else f"{owner}.{name}"


# --- go -----------------------------------------------------------------------------------------

_GO_TEST = re.compile(r"\s*--- FAIL: (\S+) \(\d+(?:\.\d+)?s\)\Z")


def go_failures(lines: Lines) -> Iterator[Failure]:
    """Read `--- FAIL` lines; the name of their package follows them."""
    waiting: list[str] = []
    for line in lines:
        match = _GO_TEST.match(line)
        if match is not None:
            waiting.append(match[1])
            continue
        package = _go_package(line)
        if package is None:
            continue
        if line.startswith("FAIL"):
            yield from (Failure(f"{package}.{name}") for name in waiting)
            if not waiting:
                yield Failure(package)
        waiting = []
    yield from map(Failure, waiting)


def _go_package(line: str) -> str | None:
    """`FAIL<tab>package<tab>0.01s`, `FAIL<tab>package [build failed]`, `ok  <tab>package …`."""
    words = line.split("\t")
    if len(words) < 2 or words[0].strip() not in {"FAIL", "ok"}:  # noqa: PLR2004 - a status and a name
        return None
    return words[1].strip()


# --- cargo --------------------------------------------------------------------------------------

_CARGO_TARGET = re.compile(
    r"\s+Running .*\((?:.*[/\\])?([\w-]+?)-[0-9a-f]{16}(?:\.exe)?\)\Z|\s+Doc-tests (\S+)\Z"
)
_CARGO_TEST = re.compile(r"test (\S.*?)(?: - should panic)? \.\.\. FAILED\Z")
_CARGO_LISTED = re.compile(r" {4}(\S.*)\Z")
_CARGO_BUILD = re.compile(r"error: could not compile `([^`]+)`(?: (\([^)]*\)))?")
_CARGO_LINE = re.compile(r" \(line \d+\)")


def cargo_failures(lines: Lines) -> Iterator[Failure]:
    """Read what libtest says, each name under the target that Cargo says it runs."""
    target = ""
    for line, kind in _cargo_lines(lines):
        running = _CARGO_TARGET.match(line)
        if running is not None:
            target = f"{running[1] or running[2]} "
        build = _CARGO_BUILD.match(line)
        if build is not None:
            yield Failure(f"{build[1]} {build[2] or ''} does not compile")
        test = (_CARGO_LISTED if kind == "list" else _CARGO_TEST).match(line)
        if test is not None:
            yield Failure(_CARGO_LINE.sub("", target + test[1]), place=test[1])


def _cargo_lines(lines: Lines) -> Iterator[tuple[str, str]]:
    """Leave out what failing tests printed, between `failures:` and the list of names."""
    kind = "course"
    for line in lines:
        if line == "failures:":
            kind = "list"
        elif line.startswith("test result: "):
            kind = "course"
        elif kind == "list" and not _CARGO_LISTED.match(line):
            kind = "printed"
        if kind != "printed":
            yield line, kind


# --- JavaScript: TAP, node's own runner, jest, vitest, mocha, jasmine, ava -----------------------

_TAP = re.compile(r"\s*not ok \d+(?: - | )(\S.*?)\s*\Z")
_TAP_EXCUSED = re.compile(r"\s#\s*(?:TODO|SKIP)\b", re.IGNORECASE)
_NODE_SPEC = re.compile(r"\s*✖ (\S.*? \([\d.]+m?s\))\Z")
_JEST_FILE = re.compile(r"\s*(FAIL|PASS)\s+(\S+\.[cm]?[jt]sx?)(?:\s+\([\d.]+ m?s\))?\s*\Z")
_JEST_TEST = re.compile(r"\s{2}● (\S.*?)\s*\Z")
_JEST_OTHER = re.compile(r"(?:Console|Validation Warning|Deprecation Warning|Cannot log after)\b")
_VITEST = re.compile(r"\s*FAIL\s+((?:\|[^|]+\|\s+)?\S+\.[cm]?[jt]sx?(?:(?: > .+)| \[ .* \])?)\s*\Z")


_AVA = re.compile(r"\s{2}✘ \[fail\]: (\S.*?)\s*\Z")
_MOCHA_COUNT = re.compile(r"\s+\d+ failing\s*\Z")
_MOCHA_TITLES = re.compile(r"^  \d+\) ((?:.+\n)*?.+?): *$", re.MULTILINE)
_JASMINE_START = re.compile(r"Failures:\s*\Z")
_JASMINE_TEST = re.compile(r"\d+\) (\S.*?)\s*\Z")


def node_failures(lines: Lines) -> Iterator[Failure]:
    """Read the output of the runners that `npm test` starts; each has its own form."""
    yield from _jest(lines)
    yield from _mocha(lines)
    yield from _jasmine(lines)
    for line in lines:
        ava = _AVA.match(line)
        if ava is not None:
            yield Failure(ava[1])
        tap = _TAP.match(line)
        if tap is not None and not _TAP_EXCUSED.search(line):
            yield Failure(tap[1])
        spec = _NODE_SPEC.match(line)
        if spec is not None:
            yield Failure(spec[1])
        vitest = _VITEST.match(line)
        if vitest is not None and (" > " in vitest[1] or vitest[1].endswith(" ]")):
            yield Failure(vitest[1])


def _jest(lines: Lines) -> Iterator[Failure]:
    """Jest names the file first; `● Test suite failed to run` then makes sense."""
    current: str | None = None
    for line in lines:
        file = _JEST_FILE.match(line)
        if file is not None:
            current = file[2] if file[1] == "FAIL" else None
        test = _JEST_TEST.match(line)
        if test is not None and current is not None and not _JEST_OTHER.match(test[1]):
            yield Failure(f"{current} {test[1]}")


def _mocha(lines: Lines) -> Iterator[Failure]:
    """Read the list after the counts: suites are above a test, and a colon ends its name."""
    start = next((n for n, line in enumerate(lines) if _MOCHA_COUNT.match(line)), len(lines))
    for titles in _MOCHA_TITLES.findall("\n".join(lines[start:])):
        yield Failure(" ".join(titles.split()))


def _jasmine(lines: Lines) -> Iterator[Failure]:
    """Read the list of failures; each is followed by the word `Message:`."""
    start = next((n for n, line in enumerate(lines) if _JASMINE_START.match(line)), len(lines))
    for line, following in pairwise(lines[start:]):
        test = _JASMINE_TEST.match(line)
        if test is not None and following.strip() == "Message:":
            yield Failure(test[1])


# --- gitleaks -----------------------------------------------------------------------------------

_GITLEAKS = re.compile(r"(\S.*?):(\d+):(\d+): ([^\s:]+): ")


def gitleaks_failures(lines: Lines) -> Iterator[Failure]:
    """Read the lines into which `activities.gates.gitleaks` turns a report."""
    for line in lines:
        leak = _GITLEAKS.match(line)
        if leak is not None:
            yield Failure(f"{leak[1]} {leak[4]}", place=f"{leak[2]}:{leak[3]}")


# --- linters ------------------------------------------------------------------------------------

_LINT = re.compile(r"(\S.*?):(\d+):(\d+): ([A-Z]+[0-9]+|invalid-syntax|SyntaxError)\b")
_LINT_RULE = re.compile(r"([A-Z]+[0-9]+|invalid-syntax)(?:: | \[\*\] | )\S")
_LINT_ARROW = re.compile(r"\s*--> (\S.*?):(\d+):(\d+)\Z")


def ruff_failures(lines: Lines) -> Iterator[Failure]:
    """Read the concise and the full form; a line number never becomes part of the name."""
    rule = ""
    for line in lines:
        concise = _LINT.match(line)
        if concise is not None:
            yield Failure(f"{concise[1]} {concise[4]}", place=f"{concise[2]}:{concise[3]}")
        heading = _LINT_RULE.match(line)
        if heading is not None:
            rule = heading[1]
        arrow = _LINT_ARROW.match(line)
        if arrow is not None and rule:
            yield Failure(f"{arrow[1]} {rule}", place=f"{arrow[2]}:{arrow[3]}")
            rule = ""
