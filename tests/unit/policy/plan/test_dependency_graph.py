"""Order and cycles: deterministic, and right on any graph."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workflows.policy.plan.dependency_graph import dependency_order, find_cycles

names = st.sampled_from("abcdefgh")
graphs = st.dictionaries(names, st.lists(names, max_size=3), max_size=8)


def test_ties_keep_the_order_given():
    assert dependency_order({"c": (), "b": ("a",), "a": (), "d": ()}) == ("c", "a", "b", "d")


def test_unknown_names_are_passed_over():
    assert dependency_order({"a": ("zz",)}) == ("a",)
    assert find_cycles({"a": ("zz",)}, 5) == ()


def test_a_cycle_is_named_from_its_first_node():
    assert find_cycles({"x": (), "a": ("b",), "b": ("a",)}, 5) == (("a", "b", "a"),)
    assert find_cycles({"a": ("a",)}, 5) == (("a", "a"),)


def test_a_node_before_a_cycle_is_not_part_of_it():
    assert find_cycles({"in": ("a",), "a": ("b",), "b": ("a",)}, 5) == (("a", "b", "a"),)


def test_no_more_cycles_than_asked_for():
    graph = {name: (name,) for name in "abcd"}
    assert find_cycles(graph, 2) == (("a", "a"), ("b", "b"))


@given(graphs)
def test_every_node_comes_after_its_dependencies(graph: dict[str, list[str]]):
    order = dependency_order(graph)
    for node in order:
        known = [d for d in graph[node] if d in graph]
        assert all(order.index(d) < order.index(node) for d in known)


@given(graphs)
def test_the_order_is_complete_if_and_only_if_there_is_no_cycle(graph: dict[str, list[str]]):
    cycles = find_cycles(graph, 20)
    assert (len(dependency_order(graph)) == len(graph)) is (not cycles)
    for cycle in cycles:
        assert cycle[0] == cycle[-1]
        assert all(b in graph[a] for a, b in pairwise(cycle))
