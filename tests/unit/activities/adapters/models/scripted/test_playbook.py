"""A playbook's file is read whole, or refused with the place of each mistake."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.models.scripted.playbook import (
    MAX_PLAYBOOK_BYTES,
    Playbook,
    ScriptedCall,
    ScriptedTurn,
    parse_playbook,
    read_playbook,
)
from activities.yaml_documents.model_reader import DocumentError
from tests.unit.broken_yaml import yaml_texts

pytestmark = pytest.mark.fuzz

PLANNER = "schema: 1\nname: p\nscenes: [{role: planner, turns: [{text: a}]}]"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("{bash: {command: ls}}", ScriptedCall(name="bash", arguments={"command": "ls"})),
        ("{submit: }", ScriptedCall(name="submit", arguments={})),
        ("{bash: 'not json'}", ScriptedCall(name="bash", arguments="not json")),
        ("{bash: [1, 2]}", ScriptedCall(name="bash", arguments=[1, 2])),
        (
            "{name: bash, arguments: {}, id: call_0}",
            ScriptedCall(name="bash", arguments={}, id="call_0"),
        ),
        ("{name: {a: 1}}", ScriptedCall(name="name", arguments={"a": 1})),
    ],
)
def test_a_call_is_written_short_or_long(call: str, expected: ScriptedCall) -> None:
    text = f"schema: 1\nname: c\nscenes: [{{role: planner, turns: [{{calls: [{call}]}}]}}]"
    assert parse_playbook(text, "c").scenes[0].turns[0].calls == (expected,)


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ("{}", "a turn needs `text`, `calls`, `stop` or an `error` without `times`"),
        ("{error: {kind: cut, times: 1}}", "a turn needs `text`"),
        ("{text: x, error: {kind: cut}}", "an error without `times` never lets"),
        ("{calls: [{a: {}, b: {}}]}", "p.yaml:5:25: scenes.0.turns.0.calls.0: a call names one"),
        ("{calls: [ls]}", "a call is written {tool: {argument: value}}"),
        ("{text: x, latency: 3}", "unknown key 'latency'; did you mean 'latency_s'?"),
        ("{error: {kind: cut, at: text}}", "an error `at: text` needs text in which it can come"),
        (
            "{text: x, error: {kind: cut, at: arguments}}",
            "an error `at: arguments` needs",
        ),
        ("{text: x, error: {kind: cut, at: middle}}", "scenes.0.turns.0.error.at: must be"),
        ("{error: {kind: boom}}", "p.yaml:5:25: scenes.0.turns.0.error.kind: must be"),
    ],
)
def test_a_wrong_turn_is_refused_with_its_line(turn: str, complaint: str) -> None:
    text = f"schema: 1\nname: p\nscenes:\n- role: planner\n  turns: [     {turn}]\n"
    with pytest.raises(DocumentError) as caught:
        parse_playbook(text, "p.yaml")
    assert complaint in str(caught.value)


def test_another_version_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"p\.yaml:1:1: schema: "):
        parse_playbook(PLANNER.replace("schema: 1", "schema: 2"), "p.yaml")


def test_bytes_that_are_no_text_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(b"schema: 1\nname: \xfc\n")
    with pytest.raises(DocumentError, match=r"p\.yaml:2:7: not UTF-8; save the file as UTF-8"):
        read_playbook(file)
    file.write_bytes(b"\xef\xbb\xbf" + PLANNER.encode())
    assert read_playbook(file) == parse_playbook(PLANNER, "p")


def test_a_file_that_no_play_needs_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    with file.open("wb") as opened:
        opened.truncate(MAX_PLAYBOOK_BYTES + 1)  # a hole: nothing is written
    with pytest.raises(DocumentError, match=r"p\.yaml:1:1: over 16,000,000 bytes; shorten it"):
        read_playbook(file)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x: " + "[" * 300 + "]" * 300, r"nested deeper than 200; write it flatter|too deep"),
        (
            r'scenes: [{role: planner, turns: [{calls: [{a: {}, "\ud800": {}}]}]}]',
            r"half of a character",
        ),
        ("prices: {input_usd: '1E+99999999'}", r"prices.input_usd: must be at most 1000000"),
    ],
)
def test_an_absurd_value_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(DocumentError, match=complaint):
        parse_playbook(text, "p.yaml")


@given(
    yaml_texts(
        "schema: 1", "schema", "name", "usage", "prices", "scenes", "role", "developer", "task",
        "attempt", "turn", "turns", "text", "calls", "bash", "command", "error", "kind", "times",
        "latency_s", "expect", "stop", "repeat", "input_tokens",
    )
)  # fmt: skip
def test_any_text_is_a_playbook_or_a_complaint(text: str) -> None:
    outcome: str | Playbook
    try:
        outcome = parse_playbook(text, "p.yaml")
    except DocumentError as error:
        outcome = str(error)
    assert isinstance(outcome, Playbook) or outcome.startswith("p.yaml:")


@given(
    st.dictionaries(
        st.sampled_from(list(ScriptedTurn.model_fields)),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["cut", "end"]),
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=5,
        ),
    )
)
def test_any_turn_is_one_or_a_complaint(turn: dict[str, object]) -> None:
    text = json.dumps(
        {"schema": 1, "name": "x", "scenes": [{"role": "developer", "turns": [turn]}]}
    )
    outcome: str | Playbook
    try:
        outcome = parse_playbook(text, "p.yaml")
    except DocumentError as error:
        outcome = str(error)
    assert isinstance(outcome, Playbook) or outcome.startswith("p.yaml:1:")
