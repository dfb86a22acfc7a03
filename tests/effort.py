"""What a costly test does each time, and what it does in `make test-slow` only."""

from collections.abc import Sequence

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


def some(cases: Sequence[object], each: int) -> list[ParameterSet]:
    """Return all cases for `parametrize`: in an ordinary run the first of so many, and so on."""
    return [
        pytest.param(case, marks=pytest.mark.slow if number % each else ())
        for number, case in enumerate(cases)
    ]
