"""Fingerprints of workflow code: what a running session's history was made by.

A fingerprint is a hash over the syntax tree of one module, without docstrings: comments, layout and
prose may change freely. It is the same under every Python that we support, so `ast.dump` is not
used (its fields differ). Which workflows a module can change is told by following the imports.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

ROOT: Final = Path(__file__).parents[2]
_IGNORED_FIELDS: Final = frozenset({"ctx", "kind", "type_ignores", "type_params"})
"""Derived from the rest, or absent in some versions of Python."""


def module_files(root: Path = ROOT) -> dict[str, Path]:
    """Return the file of every module of `workflows`, by the module's name."""
    return {_name(path, root): path for path in sorted((root / "workflows").rglob("*.py"))}


def fingerprints(files: Mapping[str, Path]) -> dict[str, str]:
    """Return each module's fingerprint."""
    return {name: fingerprint(path.read_text(encoding="utf-8")) for name, path in files.items()}


def fingerprint(source: str) -> str:
    """Return the fingerprint of a module's text, 16 hexadecimal digits."""
    words = "\n".join(_words(ast.parse(source)))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def workflows_with(changed: Iterable[str], files: Mapping[str, Path]) -> list[str]:
    """Return the modules with a workflow whose imports lead to one of the changed modules."""
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in files.items()}
    imports = {name: _imports(tree) & set(files) for name, tree in trees.items()}
    wanted = set(changed)
    defining = [name for name, tree in trees.items() if _defines_workflow(tree)]
    return [name for name in defining if wanted & _closure(name, imports)]


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _words(value: object) -> Iterator[str]:
    if isinstance(value, ast.AST):
        yield f"({type(value).__name__}"
        for field, inner in ast.iter_fields(value):
            if field not in _IGNORED_FIELDS and inner not in (None, []):
                yield field
                yield from _words(inner)
        yield ")"
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            if not _is_text(each):
                yield from _words(each)
    else:
        yield repr(value)


def _is_text(node: object) -> bool:
    """Say whether a statement is only a text: a docstring, also below a field."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _imports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _defines_workflow(tree: ast.Module) -> bool:
    decorators = (
        d for node in tree.body if isinstance(node, ast.ClassDef) for d in node.decorator_list
    )
    return any("workflow.defn" in ast.unparse(each) for each in decorators)


def _closure(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting.extend(imports[at])
    return seen
