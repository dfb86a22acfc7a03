"""Reads the steps that docs/walkthrough.md names: files, and functions in them.

A step is a path in backquotes, followed in the same line or table row by one or more functions in
backquotes: `` `workflows/session.py` `SessionWorkflow.run`, `SessionWorkflow._settle` ``. Spaces,
commas, `and`, `→`, `:`, `(` and a table's cell border may stand between them; any other word ends
the list of functions. A path that no function follows is a mention and not a step.

Not a program: `structure` uses it, and a test checks that every step exists.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.source import Function, functions_of, read_module

WALKTHROUGH: Final = Path("docs", "walkthrough.md")
"""From the root."""

_BETWEEN: Final = r"(?:[\s,|→:(]|and\b)*"
_NAME: Final = r"`([A-Za-z_][\w.]*)(?:\(\))?`"
_PATH: Final = re.compile(r"`([\w./-]+\.py)`")
_NEXT: Final = re.compile(_BETWEEN + _NAME)


@dataclass(frozen=True)
class Step:
    """A function that a reader is sent to."""

    path: str
    function: str
    line: int
    """The line of the text that names it."""


def steps_of(text: str) -> tuple[Step, ...]:
    """Return the steps that a text names, in its order.

    Args:
        text: Markdown.
    """
    return tuple(
        Step(path[1], function, number)
        for number, line in enumerate(text.splitlines(), 1)
        for path in _PATH.finditer(line)
        for function in _functions_from(line, path.end())
    )


def functions_named(root: Path, steps: Sequence[Step]) -> tuple[Function, ...]:
    """Return the existing functions that the steps name, each once."""
    wanted = {(step.path, step.function) for step in steps}
    paths = sorted({path for path, _ in wanted if (root / path).is_file()})
    return tuple(
        function
        for path in paths
        for function in functions_of(read_module(root, path))
        if (path, function.name) in wanted
    )


def faults_of(root: Path, steps: Sequence[Step]) -> list[str]:
    """Return a line for each step whose file or function does not exist."""
    there = {(function.path, function.name) for function in functions_named(root, steps)}
    return [
        f"line {step.line}: {_missing(root, step)}"
        for step in steps
        if (step.path, step.function) not in there
    ]


def _functions_from(line: str, position: int) -> Iterator[str]:
    while found := _NEXT.match(line, position):
        if found[1].endswith(".py"):
            return  # the path of the next step
        yield found[1]
        position = found.end()


def _missing(root: Path, step: Step) -> str:
    if (root / step.path).is_file():
        return f"{step.path} has no function {step.function!r}"
    return f"there is no file {step.path!r}"
