"""`starter.sessions`: ids; what asks the server is in tests/e2e."""

import re

from hypothesis import given
from hypothesis import strategies as st

from starter.sessions import decider, make_id

TIMES = st.floats(0, 2**47 / 1000, allow_nan=False)
CHANCES = st.integers(0, 2**80 - 1)


@given(TIMES, CHANCES)
def test_an_id_is_safe_in_a_ref_and_in_a_workflow_id(now: float, chance: int) -> None:
    assert re.fullmatch(r"[0-9a-hjkmnp-tv-z]{26}", make_id(now, chance))


@given(TIMES, CHANCES, CHANCES)
def test_ids_are_sorted_by_time(now: float, first: int, second: int) -> None:
    assert make_id(now, first) < make_id(now + 0.002, second)


def test_ids_of_one_moment_differ() -> None:
    assert len({make_id(1.0) for _ in range(1_000)}) == 1_000


def test_who_decides_is_a_user_on_a_host() -> None:
    assert re.fullmatch(r"[^@]+@.+", decider())
    assert len(decider()) <= 200
