"""What a costly test does each time, and what it does in `make test-slow` only."""

from collections.abc import Sequence
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet  # what `pytest.param` returns has no public name
from hypothesis import HealthCheck, settings

_OTHERS = 100


def examples(count: int) -> settings:
    """Give a property examples in proportion to the others.

    Its fixtures may be those of one function: they are shared by all examples.

    Args:
        count: where other properties have 100; an ordinary run gives them fewer.
    """
    scaled = count * settings().max_examples // _OTHERS
    return settings(
        max_examples=max(1, scaled),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def pairs(first: Sequence[object], second: Sequence[object]) -> list[ParameterSet]:
    """Pair each with each, for `parametrize`.

    In an ordinary run each of the longer sequence has one partner, in turn, so that all of both
    are there; the other pairs are slow tests.
    """
    return [
        pytest.param(
            one, other, marks=() if _meet(row, column, first, second) else pytest.mark.slow
        )
        for row, one in enumerate(first)
        for column, other in enumerate(second)
    ]


def _meet(row: int, column: int, first: Sequence[object], second: Sequence[object]) -> bool:
    shorter = min(len(first), len(second))
    return row % shorter == column % shorter


def mark_unsampled(items: Sequence[pytest.Item]) -> None:
    """Mark as slow what an ordinary run leaves out of the tests with the mark `sampled(each)`.

    Of the cases of one test function, every `each`-th is run, and always at least one. With which
    the count begins depends on the function's name, so that functions with the same cases share
    them.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, those in cases.items():
        mark = those[0].get_closest_marker("sampled")
        assert mark is not None, "only such tests were taken"
        (each,) = mark.args
        first = crc32(name.encode()) % min(each, len(those))
        for number, item in enumerate(those):
            if number % each != first:
                item.add_marker(pytest.mark.slow)
