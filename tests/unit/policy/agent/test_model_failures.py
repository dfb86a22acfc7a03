"""The table of failed calls, row by row, and what holds in every row."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.policy.agent.model_failures import (
    FailedCall,
    FailedKind,
    Step,
    after_failure,
    back_off,
)

ROWS: list[tuple[FailedCall, Step]] = [
    (FailedCall(kind="unknown", unknown_in_a_row=1), "again"),
    (FailedCall(kind="unknown", unknown_in_a_row=2, has_next_model=True), "again"),
    (FailedCall(kind="unknown", unknown_in_a_row=3, has_next_model=True), "end"),
    (FailedCall(kind="overflow"), "compact"),
    (FailedCall(kind="overflow", has_next_model=True), "compact"),
    (FailedCall(kind="overflow", is_compacted=True, has_next_model=True), "again"),
    (FailedCall(kind="overflow", is_fresh=True), "end"),
    (FailedCall(kind="overflow", is_fresh=True, is_compacted=True), "end"),
    (FailedCall(kind="overflow", is_fresh=True, has_next_model=True), "next_model"),
    (FailedCall(kind="key"), "hold"),
    (FailedCall(kind="key", has_next_model=True), "next_model"),
    (FailedCall(kind="refused"), "end"),
    (FailedCall(kind="refused", has_next_model=True), "next_model"),
]


@pytest.mark.parametrize(("failed", "step"), ROWS)
def test_rows(failed: FailedCall, step: Step) -> None:
    assert after_failure(failed) == step


@pytest.mark.parametrize(("in_a_row", "seconds"), [(1, 2), (2, 8), (3, 32), (4, 60), (9, 60)])
def test_the_wait_grows_up_to_a_minute(in_a_row: int, seconds: int) -> None:
    assert back_off(timedelta(seconds=2), in_a_row) == timedelta(seconds=seconds)


KINDS: list[FailedKind] = ["unknown", "overflow", "key", "refused"]


@given(
    st.builds(
        FailedCall,
        kind=st.sampled_from(KINDS),
        unknown_in_a_row=st.integers(0, 5),
        is_fresh=st.booleans(),
        is_compacted=st.booleans(),
        has_next_model=st.booleans(),
    )
)
def test_only_a_key_waits_for_a_person_and_only_an_overflow_compacts(failed: FailedCall) -> None:
    step = after_failure(failed)
    assert (step != "hold") or (failed.kind == "key" and not failed.has_next_model)
    assert (step != "compact") or (failed.kind == "overflow" and not failed.is_compacted)
    assert (step != "next_model") or failed.has_next_model
