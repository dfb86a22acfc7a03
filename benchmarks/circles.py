"""Finds modules of the four packages that import each other in a circle.

Every import counts, also inside a function or under TYPE_CHECKING. The implicit import of `a` by
`import a.b` does not count. Relative imports, which ruff forbids, are not followed. Not a program:
`structure` uses it.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.source import Module


def import_graph(modules: Sequence[Module]) -> dict[str, set[str]]:
    """Return the name of each module with the modules that it imports.

    A package's `__init__` is included only if it imports something itself.
    """
    names = {module.name for module in modules if _counts(module)}
    return {
        module.name: {name for name in _imported(module, names) if name != module.name}
        for module in modules
        if module.name in names
    }


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module, each sorted."""
    reached = {name: _reachable(graph, name) for name in graph}
    found = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    }
    return sorted(sorted(circle) for circle in found)


def _counts(module: Module) -> bool:
    return module.stem != "__init__" or any(_imports(module))


def _imports(module: Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _imported(module: Module, names: set[str]) -> Iterator[str]:
    for node in _imports(module):
        for alias in node.names:
            if isinstance(node, ast.Import):
                wanted = (alias.name,)
            else:
                # `from a.b import c`: c may be a module, or something in a.b.
                wanted = (f"{node.module}.{alias.name}", node.module or "")
            yield from [name for name in wanted if name in names][:1]


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached
