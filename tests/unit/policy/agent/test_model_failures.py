"""The table of failed calls, row by row, and what holds in every row."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.world import model, tool
from workflows.domain.agent.messages import AssistantMessage, ToolMessage, ToolResult, UserMessage
from workflows.domain.budget import FaultKind, ProviderFault
from workflows.domain.ids import AgentId
from workflows.policy.agent.model_failures import (
    FailedCall,
    FailedKind,
    Step,
    after_failure,
    back_off,
    first_usable,
    is_known,
    largest_part,
    remembered,
    skipped,
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
    (FailedCall(kind="model"), "hold"),
    (FailedCall(kind="model", has_next_model=True), "next_model"),
    (FailedCall(kind="output"), "less_output"),
    (FailedCall(kind="output", output_tokens=2_000, is_fresh=True), "less_output"),
    (FailedCall(kind="output", output_tokens=1_999), "compact"),
    (FailedCall(kind="output", output_tokens=1_999, is_compacted=True), "again"),
    (FailedCall(kind="output", output_tokens=1_999, is_fresh=True), "end"),
    (FailedCall(kind="blocked"), "end"),
    (FailedCall(kind="blocked", has_next_model=True), "next_model"),
    (FailedCall(kind="refused"), "end"),
    (FailedCall(kind="refused", has_next_model=True), "next_model"),
]


@pytest.mark.parametrize(("failed", "step"), ROWS)
def test_rows(failed: FailedCall, step: Step) -> None:
    assert after_failure(failed) == step


@pytest.mark.parametrize(("in_a_row", "seconds"), [(1, 2), (2, 8), (3, 32), (4, 60), (9, 60)])
def test_the_wait_grows_up_to_a_minute(in_a_row: int, seconds: int) -> None:
    assert back_off(timedelta(seconds=2), in_a_row) == timedelta(seconds=seconds)


KINDS: list[FailedKind] = [*get_args(FailedKind)]


@given(
    st.builds(
        FailedCall,
        kind=st.sampled_from(KINDS),
        unknown_in_a_row=st.integers(0, 5),
        output_tokens=st.integers(1, 64_000),
        is_fresh=st.booleans(),
        is_compacted=st.booleans(),
        has_next_model=st.booleans(),
    )
)
def test_only_a_key_or_model_waits_for_a_person_and_only_a_length_compacts(
    failed: FailedCall,
) -> None:
    step = after_failure(failed)
    is_shared = failed.kind in {"key", "model"}
    assert (step == "hold") == (is_shared and not failed.has_next_model)
    is_long = failed.kind in {"overflow", "output"}
    assert (step != "compact") or (is_long and not failed.is_compacted)
    assert (step != "next_model") or failed.has_next_model


NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def fault(kind: FaultKind, model: str, *, holds: bool = False, minutes: int = 0) -> ProviderFault:
    at = NOON + timedelta(minutes=minutes)
    return ProviderFault(
        agent=AgentId("dev.a.1"), kind=kind, model=model, text="no", at=at, holds=holds
    )


def test_a_model_is_skipped_for_the_session_and_a_key_for_a_while() -> None:
    known = (fault("model", "p/one"), fault("key", "q/two"), fault("usage", "r/three"))
    assert skipped(known, NOON + timedelta(minutes=14)) == ("p/one", "q/*")
    assert skipped(known, NOON + timedelta(minutes=15)) == ("p/one",)


def test_a_fault_is_told_once_and_each_agent_that_holds_is_told() -> None:
    known = (fault("model", "p/one"), fault("key", "q/two"))
    assert is_known(known, fault("model", "p/one", minutes=3))
    assert is_known(known, fault("key", "q/other")), "it is the same key"
    assert not is_known(known, fault("model", "p/other"))
    assert not is_known(known, fault("usage", "p/one"))
    assert not is_known(known, fault("key", "q/two", holds=True))


def test_a_fault_that_comes_again_replaces_the_older_one() -> None:
    again = fault("key", "q/other", minutes=20)
    assert remembered((fault("key", "q/two"), fault("model", "p/one")), again) == (
        fault("model", "p/one"),
        again,
    )


@pytest.mark.parametrize(
    ("index", "unusable", "used"),
    [
        (0, (), 0),
        (0, ("p/one",), 1),
        (0, ("p/*",), 2),
        (1, ("p/one",), 1),
        (0, ("p/*", "q/three"), 0),
    ],
)
def test_the_first_model_that_need_not_be_skipped_is_asked(
    index: int, unusable: tuple[str, ...], used: int
) -> None:
    names = (("p", "one"), ("p", "two"), ("q", "three"))
    route = [model("scripted/x", provider=provider, model=name) for provider, name in names]
    assert first_usable(route, index, unusable) == used


def test_the_longest_part_of_what_was_sent_is_named() -> None:
    call = tool("bash", command="ls")
    opening = UserMessage(text="Do it.")
    result = ToolResult(call_id=call.id, name="bash", text="x" * 140_000)
    answer = AssistantMessage(text="", tool_calls=(call,))
    sent = (opening, answer, ToolMessage(results=(result,)))
    assert largest_part(sent) == "the longest part is the result of 'bash', 140000 characters"
    assert "the message to the agent, 6 characters" in largest_part((opening,))
