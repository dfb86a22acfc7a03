"""The index finds exactly what comparing every pair finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.examples import a_task
from workflows.policy.plan.claims import overlap
from workflows.policy.plan.held_claims import HeldClaims

pytestmark = pytest.mark.fuzz

some_claims = st.lists(
    st.sampled_from(
        ["a", "a/b", "a/b.py", "a/*", "a/**", "A/b", "ab", "ab/*.py", "**", "**/b", "b/?", "[ab]/c"]
    ),
    min_size=1,
    max_size=3,
)


@given(held=st.lists(some_claims, max_size=6), asked=some_claims)
def test_it_finds_every_holder_and_no_other(held: list[list[str]], asked: list[str]):
    index = HeldClaims(a_task(f"t{n}", claims) for n, claims in enumerate(held))
    found = set(index.colliding(a_task("new", asked)))
    assert found == {f"t{n}" for n, claims in enumerate(held) if overlap(claims, asked)}
