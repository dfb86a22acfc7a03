"""Measures how easy it is to find your way in the code: a static count over the four packages.

The source is parsed, not run. Keys of the last line:
    max_modules_in_folder   .py files in one folder, without `__init__`, in the folder that has most
    import_circles          groups of modules that import each other, directly or through others
                            (strongly connected components of more than one); lazy imports and those
                            under TYPE_CHECKING included, a package's `__init__` only if it imports
    function_p50            median length of a function: lines from `def` to its end without
                            decorators, docstring, comments and blank lines (nearest rank)
    function_p90            length that nine in ten functions do not exceed, counted the same way
    files_over_400          files of more than 400 lines, blank ones and comments included
    any_count               uses of `Any`, without imports and quoted annotations
    cast_count              calls of `cast`
    unchecked_updates       calls of `model_copy(update=…)`, which checks nothing, outside a
                            function named `evolve`
    duplicate_module_names  names of files that occur more than once, without `__init__` and
                            `__main__`; each name counts once
    task_path_lines         one task from the command line to the merged commit: lines, as above, of
                            the functions that docs/walkthrough.md names; null without that file
    task_path_files         how many files these functions are in; null likewise
    code_lines              all lines, minus blank lines, lines that begin with `#`, and lines of
                            docstrings (also those below a field). A blank line in a docstring is
                            subtracted twice; the details have the count without that
    make_test_s             seconds that `make test` takes now, with `--make-test`; else null

`--details` lists on standard error what each figure counted, as `path:line` if possible.
"""

import argparse
import ast
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.circles import circles, import_graph
from benchmarks.source import (
    PACKAGES,
    Function,
    Module,
    functions_of,
    is_silent,
    named_functions,
    read_modules,
    span_of,
    string_statements,
)
from benchmarks.stage import report
from benchmarks.walkthrough import WALKTHROUGH, faults_of, functions_named, steps_of

ROOT: Final = Path(__file__).parents[1]
LONG_FILE: Final = 400
SHOWN: Final = 40
"""How many of the longest functions and fullest folders the details list."""


@dataclass(frozen=True)
class Figure:
    """A figure, and what was counted."""

    value: float | None
    details: Sequence[str] = ()


def fullest_folder(modules: Sequence[Module]) -> Figure:
    """Count the modules of each folder."""
    counted = Counter(module.folder for module in modules if module.stem != "__init__")
    lines = [f"{count:4} {folder}" for folder, count in counted.most_common(SHOWN)]
    return Figure(max(counted.values(), default=0), lines)


def import_circles(modules: Sequence[Module]) -> Figure:
    """Count the circles, and show the imports that each consists of."""
    graph = import_graph(modules)
    found = circles(graph)
    lines = [
        f"{name} imports {', '.join(sorted(graph[name] & set(circle)))}"
        for circle in found
        for name in circle
    ]
    return Figure(len(found), lines)


def function_length(modules: Sequence[Module], part: float) -> Figure:
    """Find the length that this share of the functions does not exceed.

    Args:
        modules: the modules to measure.
        part: the share, above 0, up to 1.
    """
    found = [function for module in modules for function in functions_of(module)]
    lengths = sorted(function.length for function in found)
    value = lengths[math.ceil(part * len(lengths)) - 1] if lengths else 0
    longest = sorted(found, key=lambda function: (-function.length, function.path, function.line))
    return Figure(value, [_told(function) for function in longest[:SHOWN]])


def long_files(modules: Sequence[Module]) -> Figure:
    """Count the files of more than 400 lines."""
    found = [module for module in modules if len(module.lines) > LONG_FILE]
    return Figure(len(found), [f"{len(module.lines):4} {module.path}" for module in found])


def any_places(modules: Sequence[Module]) -> Figure:
    """Count the uses of `Any`."""
    return _places(modules, _anys)


def casts(modules: Sequence[Module]) -> Figure:
    """Count the calls of `cast`."""
    return _places(modules, lambda tree: _calls(tree, "cast"))


def unchecked_updates(modules: Sequence[Module]) -> Figure:
    """Count the calls of `model_copy(update=…)`, which no validator checks."""
    return _places(modules, _unchecked)


def duplicate_names(modules: Sequence[Module]) -> Figure:
    """Count the file names that occur more than once."""
    paths: dict[str, list[str]] = {}
    for module in modules:
        if module.stem not in {"__init__", "__main__"}:
            paths.setdefault(module.stem, []).append(module.path)
    found = [f"{name}: {', '.join(of)}" for name, of in sorted(paths.items()) if len(of) > 1]
    return Figure(len(found), found)


def code_lines(modules: Sequence[Module]) -> Figure:
    """Count the lines of code; the details have each package."""
    counted: dict[str, int] = dict.fromkeys(PACKAGES, 0)
    twice = 0
    for module in modules:
        said = list(string_statements(module.tree))
        loud = sum(not is_silent(line) for line in module.lines)
        counted[module.path.partition("/")[0]] += loud - sum(len(span_of(node)) for node in said)
        twice += sum(is_silent(module.lines[at - 1]) for node in said for at in span_of(node))
    total = sum(counted.values())
    lines = [f"{count:6} {package}" for package, count in counted.items()]
    return Figure(total, [*lines, f"{total + twice:6} with nothing taken off twice"])


def task_path(root: Path) -> tuple[Figure, Figure]:
    """Count the lines and files to read to follow a task; None without a walkthrough."""
    if not (root / WALKTHROUGH).is_file():
        return Figure(None), Figure(None)
    steps = steps_of((root / WALKTHROUGH).read_text("utf-8"))
    found = functions_named(root, steps)
    faults = [f"{WALKTHROUGH}, {fault}" for fault in faults_of(root, steps)]
    files = sorted({function.path for function in found})
    lines = sum(function.length for function in found)
    return Figure(lines, [*map(_told, found), *faults]), Figure(len(files), files)


def make_test_seconds(root: Path) -> float:
    """Run `make test`, with its output on standard error, and return the seconds that it took.

    Raises:
        RuntimeError: it failed, so its time has no meaning.
    """
    began = time.perf_counter()
    ran = subprocess.run(["make", "test"], cwd=root, stdout=sys.stderr, check=False)
    seconds = time.perf_counter() - began
    if ran.returncode != 0:
        raise RuntimeError(f"`make test` ended with {ran.returncode}: fix it, then measure again")
    return round(seconds, 1)


def measure(root: Path) -> dict[str, Figure]:
    """Return all figures but `make_test_s` of the tree below a folder, in their order."""
    modules = read_modules(root)
    lines, files = task_path(root)
    return {
        "max_modules_in_folder": fullest_folder(modules),
        "import_circles": import_circles(modules),
        "function_p50": Figure(function_length(modules, 0.5).value),
        "function_p90": function_length(modules, 0.9),
        "files_over_400": long_files(modules),
        "any_count": any_places(modules),
        "cast_count": casts(modules),
        "unchecked_updates": unchecked_updates(modules),
        "duplicate_module_names": duplicate_names(modules),
        "task_path_lines": lines,
        "task_path_files": files,
        "code_lines": code_lines(modules),
    }


def details(figures: Mapping[str, Figure]) -> Iterator[str]:
    """Yield each figure that has details, and these beneath it."""
    for key, figure in figures.items():
        if figure.details:
            yield f"{key}: {figure.value}"
            yield from (f"    {line}" for line in figure.details)


def main(*, make_test: bool, detailed: bool) -> None:
    """Measure and report."""
    figures = measure(ROOT)
    figures["make_test_s"] = Figure(make_test_seconds(ROOT) if make_test else None)
    values = {key: figure.value for key, figure in figures.items()}
    report(values, list(details(figures)) if detailed else [])


def _told(function: Function) -> str:
    return f"{function.length:4} {function.path}:{function.line} {function.name}"


def _places(modules: Sequence[Module], look: Callable[[ast.Module], Iterator[ast.expr]]) -> Figure:
    found = [(module.path, node.lineno) for module in modules for node in look(module.tree)]
    return Figure(len(found), [f"{path}:{line}" for path, line in sorted(found)])


def _last_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _anys(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and _last_name(node) == "Any":
            yield node


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) == name:
            yield node


def _unchecked(tree: ast.Module) -> Iterator[ast.Call]:
    checked = {
        call
        for name, function in named_functions(tree)
        if name.rpartition(".")[2] == "evolve"
        for call in _calls(function, "model_copy")
    }
    for call in _calls(tree, "model_copy"):
        if call not in checked and any(keyword.arg == "update" for keyword in call.keywords):
            yield call


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--make-test", action="store_true")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    main(make_test=options.make_test, detailed=options.details)
