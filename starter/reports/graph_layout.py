"""The graph of tasks as boxes in columns, with their edges, for a picture. Pure.

A task's column is the length of its longest chain of dependencies. In a column, tasks stand near
those that they depend on.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from workflows.policy.plan.dependency_graph import dependency_order

BOX_WIDTH: Final = 190
BOX_HEIGHT: Final = 26
_COLUMN: Final = 240
_LINE: Final = 36
_MARGIN: Final = 8


class Box(NamedTuple):
    """One task."""

    task: str
    x: int
    y: int


class Edge(NamedTuple):
    """From a task to one that depends on it."""

    path: str
    """As in the attribute `d` of an SVG path."""
    title: str


class Graph(NamedTuple):
    """The whole picture, in pixels."""

    boxes: list[Box]
    edges: list[Edge]
    width: int
    height: int


def graph(tasks: Mapping[str, Sequence[str]]) -> Graph:
    """Return the picture of a graph.

    Args:
        tasks: each with those that it depends on; others than these are ignored.
    """
    known = {each: [name for name in below if name in tasks] for each, below in tasks.items()}
    columns: list[list[str]] = []
    depth: dict[str, int] = {}
    for each in dependency_order(known):
        depth[each] = max((depth[name] + 1 for name in known[each]), default=0)
        if depth[each] == len(columns):
            columns.append([])
        columns[depth[each]].append(each)
    places = _placed(columns, known)
    edges = [
        _edge(places[name], places[each], f"{each} after {name}")
        for each, below in known.items()
        for name in below
        if each in places and name in places
    ]
    tallest = max(map(len, columns), default=0)
    return Graph(
        boxes=list(places.values()),
        edges=edges,
        width=2 * _MARGIN + max(len(columns) - 1, 0) * _COLUMN + BOX_WIDTH,
        height=2 * _MARGIN + tallest * _LINE,
    )


def _placed(columns: Sequence[Sequence[str]], known: Mapping[str, Sequence[str]]) -> dict[str, Box]:
    places: dict[str, Box] = {}
    for number, column in enumerate(columns):
        middle = {
            each: sum(places[name].y for name in known[each]) / max(len(known[each]), 1)
            for each in column
        }
        for line, each in enumerate(sorted(column, key=lambda name: middle[name])):
            places[each] = Box(each, _MARGIN + number * _COLUMN, _MARGIN + line * _LINE)
    return places


def _edge(first: Box, then: Box, title: str) -> Edge:
    x, y = first.x + BOX_WIDTH, first.y + BOX_HEIGHT // 2
    to_x, to_y = then.x, then.y + BOX_HEIGHT // 2
    middle = (x + to_x) // 2
    return Edge(f"M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}", title)
