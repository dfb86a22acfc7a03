"""Reads the source of the four packages as syntax trees and lines, to be counted.

It does not import the code that it reads. Not a program: `structure` uses it.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PACKAGES: Final = ("workflows", "activities", "workers", "starter")


@dataclass(frozen=True)
class Module:
    """One source file."""

    path: str
    """From the root, with slashes."""
    lines: Sequence[str]
    tree: ast.Module

    @property
    def stem(self) -> str:
        """The file's name without `.py`."""
        return Path(self.path).stem

    @property
    def folder(self) -> str:
        """The folder that holds the file, from the root."""
        return Path(self.path).parent.as_posix()

    @property
    def name(self) -> str:
        """The name to import it by; a package's `__init__` has the package's name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@dataclass(frozen=True)
class Function:
    """One function or method, with its length."""

    path: str
    name: str
    """With the classes and functions around it: `Class.method`, `outer.inner`."""
    line: int
    length: int
    """Lines of code from `def` to the end: no decorator, docstring, comment or blank line."""


def read_module(root: Path, path: str) -> Module:
    """Parse one file.

    Args:
        root: the folder that the path is relative to.
        path: the file's path, with slashes.
    """
    text = (root / path).read_text("utf-8")
    return Module(path, text.splitlines(), ast.parse(text, path))


def read_modules(root: Path) -> tuple[Module, ...]:
    """Return every file of the four packages below a folder, in the order of their paths."""
    files = (file for package in PACKAGES for file in sorted((root / package).rglob("*.py")))
    return tuple(read_module(root, file.relative_to(root).as_posix()) for file in files)


def functions_of(module: Module) -> tuple[Function, ...]:
    """Return every function of a file; the lines of a nested one count for both."""
    silent = _silent_lines(module)
    return tuple(
        Function(module.path, name, node.lineno, len(set(span_of(node)) - silent))
        for name, node in named_functions(module.tree)
    )


def named_functions(
    tree: ast.AST, around: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every function below a node with its dotted name.

    Args:
        tree: where to look.
        around: the dotted name of the surrounding class or function, with a final dot.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield around + node.name, node
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from named_functions(node, f"{around}{node.name}." if inside else around)


def string_statements(tree: ast.AST) -> Iterator[ast.Expr]:
    """Yield the docstrings: all statements that are a string, also those below a field."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield node
            case _:
                pass


def span_of(node: ast.stmt) -> range:
    """Return the numbers of a statement's lines, without its decorators."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def is_silent(line: str) -> bool:
    """Say whether a line is blank or only a comment."""
    return not line.strip() or line.lstrip().startswith("#")


def _silent_lines(module: Module) -> set[int]:
    said = {line for node in string_statements(module.tree) for line in span_of(node)}
    return said | {number for number, line in enumerate(module.lines, 1) if is_silent(line)}
