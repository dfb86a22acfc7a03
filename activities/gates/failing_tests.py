"""Finds the names of failed tests in a gate's output.

Pure. Names are compared between the base and the work, so they must be stable: what differs from
run to run (addresses, timestamps, durations, line numbers) is removed. Failures that become equal
are numbered, so that an additional one is still noticed. The exit code alone decides whether the
gate passed.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import PurePosixPath

from activities.gates.output_excerpt import plain_lines
from activities.gates.output_parsers import (
    Failure,
    cargo_failures,
    gitleaks_failures,
    go_failures,
    node_failures,
    pytest_failures,
    ruff_failures,
    unittest_failures,
)
from workflows.domain.gate import GateSpec

MAX_FAILURES = 200
MAX_NAME_CHARS = 300

_Parser = Callable[[list[str]], Iterable[Failure]]
_ALL: tuple[_Parser, ...] = (
    pytest_failures,
    unittest_failures,
    go_failures,
    cargo_failures,
    node_failures,
    ruff_failures,
)
_BY_PROGRAM: dict[str, tuple[_Parser, ...]] = {
    "pytest": (pytest_failures,),
    "py.test": (pytest_failures,),
    "unittest": (unittest_failures,),
    "go": (go_failures,),
    "cargo": (cargo_failures,),
    "npm": _ALL,  # anything may stand behind a script or a target
    "pnpm": _ALL,
    "yarn": _ALL,
    "make": _ALL,
    "node": (node_failures,),
    "gitleaks": (gitleaks_failures,),
    "ruff": (ruff_failures,),
    "flake8": (ruff_failures,),
}
_UNSTABLE = (
    (re.compile(r"\b0x[0-9a-fA-F]{4,}\b"), "0x…"),
    (
        re.compile(
            r"\b\d{4}-\d\d-\d\d[T _]\d\d[:h-]?\d\d(?:[:m-]?\d\d(?:[.,]\d{1,9})?)?"
            r"(?:Z|[+-]\d\d:?\d\d)?(?!\d)"
        ),
        "<time>",
    ),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"(?<![\w.])1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9}|\.\d+)?(?![\w.])"), "<time>"),
    (re.compile(r"/(?:pytest-of-\w+/pytest-\d+|tmp[a-z0-9_]{8})\b"), "/<temporary>"),
    (re.compile(r"\s*\(\d+(?:\.\d+)?\s?m?s\)\Z"), ""),
)


def failing_tests(gate: GateSpec, output: str) -> tuple[str, ...]:
    """Name the tests that failed, as far as the output tells them.

    Args:
        gate: its command tells the form of the output; with `make` and the like, any form.
        output: the whole output as text.

    Returns:
        Stable names, sorted, unique, at most 200; empty if the form is unknown.
    """
    lines = plain_lines(output)
    found = {failure for parse in _parsers(gate.argv) for failure in parse(lines)}
    return tuple(sorted(_stable_names(found))[:MAX_FAILURES])


def _parsers(argv: tuple[str, ...]) -> tuple[_Parser, ...]:
    """Return the parsers for the first known program in the command; all if there is none."""
    for word in argv:
        known = _BY_PROGRAM.get(PurePosixPath(word).name)
        if known is not None:
            return known
    return _ALL


def _stable_names(found: Iterable[Failure]) -> Iterator[str]:
    """Number failures that become equal when unstable parts are removed."""
    seen: dict[str, int] = {}
    for failure in found:
        name = _cut(_stable(failure.name))
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} #{seen[name]}"


def _stable(name: str) -> str:
    for pattern, stand_in in _UNSTABLE:
        name = pattern.sub(stand_in, name)
    return " ".join(name.split())


def _cut(name: str) -> str:
    """Shorten a very long name, and keep it unique."""
    if len(name) <= MAX_NAME_CHARS:
        return name
    return f"{name[: MAX_NAME_CHARS - 14]}… {sha256(name.encode()).hexdigest()[:12]}"
