"""What a provider sends becomes sendable, unique and well-formed once, at the boundary."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.models.dialects.neutral_messages import (
    CUT,
    check_conversation,
    safe_name,
    tool_call,
    unique_ids,
)
from activities.ports.model_provider import InvalidRequestError
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)

DEEP = "[" * 60 + "]" * 60


@pytest.mark.parametrize(
    ("arguments", "parsed", "malformed"),
    [
        ('{"a": 1}', {"a": 1}, None),
        ({"a": "\ud83d"}, {"a": "\ufffd"}, None),
        ("{}", {}, None),
        ("", {}, None),
        (f'{{"deep": {DEEP}}}', {"deep": json.loads(DEEP)}, None),
        ('{"a": ', {}, '{"a": '),
        ("null", {}, "null"),
        (None, {}, "null"),
        ([1], {}, "[1]"),
        ('"{}"', {}, '"{}"'),
        ('{"a": NaN}', {}, '{"a": NaN}'),
        ('{"a": 1e309}', {}, '{"a": 1e309}'),
        ({"a": float("inf")}, {}, '{"a": Infinity}'),
        ("x" * 5000, {}, "x" * 2000),
        ("[" * 100_000, {}, "[" * 2000),
    ],
)
def test_tool_call(arguments: Any, parsed: dict[str, Any], malformed: str | None) -> None:
    call = tool_call("c1", "bash", arguments)
    assert (call.arguments, call.malformed) == (parsed, malformed)
    assert bool(call.fault) == (malformed is not None)


@pytest.mark.parametrize(
    ("arguments", "parsed", "fault"),
    [
        ('{"command": "a\n\tb"}', {"command": "a\n\tb"}, ""),
        ('{"a": 1}}', {}, "Extra data at line 1, column 9, between '{\"a\": 1}' and '}'"),
        ('{"a": 1}{"b": 2}', {}, "a second object begins at line 1, column 9: send each call by"),
        ('{"a": "x"y"}', {}, "Expecting ',' delimiter at line 1, column 10, between"),
        ("[1]", {}, "they are a list"),
        (f'{CUT}{{"a": 1}}', {}, "your answer hit the output limit within them"),
    ],
)
def test_what_is_wrong_with_arguments_is_told_with_its_place(
    arguments: str, parsed: dict[str, Any], fault: str
) -> None:
    """Field reports G05 and G06."""
    call = tool_call("c1", "bash", arguments)
    assert call.arguments == parsed
    assert fault in call.fault
    assert bool(fault) == bool(call.fault)


@pytest.mark.parametrize(
    ("name", "safe"),
    [("bash", "bash"), ("a.b c", "a_b_c"), ("9x", "_9x"), ("-", "_-"), ("x" * 65, "x" * 64)],
)
def test_a_name_that_every_provider_accepts(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_call_without_a_name_gets_one() -> None:
    assert tool_call("c1", "", "{}").name == "unnamed"


def assistant(*ids: str) -> AssistantMessage:
    calls = tuple(ToolCall(id=call_id, name="bash", arguments={}) for call_id in ids)
    return AssistantMessage(tool_calls=calls)


def results(*ids: str) -> ToolMessage:
    return ToolMessage(results=tuple(ToolResult(call_id=i, name="bash", text="") for i in ids))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["toolu_1", "toolu_2"], ["toolu_1", "toolu_2"]),
        (["call_0", "call_0"], ["call_0", "call_3"]),
        (["", None, "old"], ["call_2", "call_3", "call_4"]),
        (["a b", "x" * 41], ["call_2", "call_3"]),
        (["call_3", ""], ["call_3", "call_4"]),
    ],
)
def test_unique_ids(wanted: list[str | None], expected: list[str]) -> None:
    assert (
        unique_ids(wanted, [UserMessage(text="hi"), assistant("old"), results("old")]) == expected
    )


@given(st.lists(st.one_of(st.none(), st.text(max_size=8), st.sampled_from(["call_1", "call_2"]))))
def test_ids_never_repeat(wanted: list[str | None]) -> None:
    given_ids = unique_ids(wanted, [assistant("call_1")])
    assert len({*given_ids, "call_1"}) == len(wanted) + 1


USER = UserMessage(text="hi")


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, USER],
        [USER, assistant(), USER],
        [USER, assistant("a", "b"), results("a", "b")],
        [USER, assistant("a"), results("a"), USER],
    ],
)
def test_a_whole_conversation_passes(messages: list[Message]) -> None:
    check_conversation(messages)
    assert messages[0] is USER


@pytest.mark.parametrize(
    "messages",
    [
        [USER, assistant("a"), USER],
        [USER, assistant("a", "b"), results("a")],
        [USER, assistant("a", "b"), results("b", "a")],
        [USER, results("a")],
        [USER, assistant("a"), results("a"), results("a")],
        [USER, assistant("a")],
        [USER, assistant()],
        [USER, assistant("a"), results("a", "a")],
    ],
)
def test_a_broken_conversation_is_refused(messages: list[Message]) -> None:
    with pytest.raises(InvalidRequestError, match=r"message \d|must end"):
        check_conversation(messages)
