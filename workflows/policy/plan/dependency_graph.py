"""Order and cycles of a small directed graph, given as `node → what it depends on`.

Names that are not nodes are ignored; callers that must refuse them do so first. Ties keep the
order of the nodes, so the same graph always gives the same answer.
"""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeVar

Node = TypeVar("Node", bound=str)


def dependency_order(edges: Mapping[Node, Sequence[Node]]) -> tuple[Node, ...]:
    """Put every node after all that it depends on, otherwise in the given order.

    Args:
        edges: each node with its dependencies.

    Returns:
        The nodes in order, without those on a cycle or after one.
    """
    nodes = tuple(edges)
    place = {node: number for number, node in enumerate(nodes)}
    waits_for = {node: {d for d in edges[node] if d in place} for node in nodes}
    dependants: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node, dependencies in waits_for.items():
        for dependency in dependencies:
            dependants[dependency].append(node)
    free = [place[node] for node in nodes if not waits_for[node]]
    heapify(free)
    order: list[Node] = []
    while free:
        node = nodes[heappop(free)]
        order.append(node)
        for dependant in dependants[node]:
            waits_for[dependant].discard(node)
            if not waits_for[dependant]:
                heappush(free, place[dependant])
    return tuple(order)


def find_cycles(edges: Mapping[Node, Sequence[Node]], most: int) -> tuple[tuple[Node, ...], ...]:
    """Return cycles that share no node, each as `(a, b, a)`: a depends on b, b on a.

    Args:
        edges: each node with its dependencies.
        most: how many cycles to name at most.

    Returns:
        The cycles, each beginning and ending with the same node; empty if there are none.
    """
    found: list[tuple[Node, ...]] = []
    left = dict(edges)
    while len(found) < most:
        ordered = frozenset(dependency_order(left))
        left = {node: wants for node, wants in left.items() if node not in ordered}
        if not left:
            break
        cycle = _walk_into_cycle(left)
        found.append(cycle)
        left = {node: wants for node, wants in left.items() if node not in cycle}
    return tuple(found)


def _walk_into_cycle(stuck: Mapping[Node, Sequence[Node]]) -> tuple[Node, ...]:
    """Follow dependencies until a node repeats: every node here depends on one inside `stuck`."""
    path = [next(iter(stuck))]
    while (node := next(d for d in stuck[path[-1]] if d in stuck)) not in path:
        path.append(node)
    return (*path[path.index(node) :], node)
