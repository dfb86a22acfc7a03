"""A playbook that was written is read back as the same playbook, whatever its texts hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from activities.adapters.models.dialects.neutral_messages import tool_call
from activities.adapters.models.scripted.playbook import (
    Playbook,
    Scene,
    ScriptedCall,
    ScriptedTurn,
    parse_playbook,
)
from activities.adapters.models.scripted.playbook_text import playbook_text
from workflows.domain.agent.model_values import Role

BEGINNINGS = ["", " ", "\t", "  x", "- a", "# b", "...", "---"]
WORDS = ["null", "~", "<<", "=", "012", "1e3", "2024-01-01", "yes", "a: b", "a #b", "\x85\ufeff"]
LINE = st.one_of(st.text(max_size=20), st.sampled_from(BEGINNINGS))
TEXTS = st.one_of(st.lists(LINE, max_size=5).map("\n".join), st.sampled_from(WORDS))
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
KEYS = st.one_of(TEXTS, st.text(min_size=150, max_size=300))
ARGUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
CALLS = st.builds(
    ScriptedCall,
    name=st.one_of(TEXTS, st.sampled_from(["bash", "name", "null"])),
    arguments=st.dictionaries(KEYS, ARGUMENTS, max_size=3),
    id=st.one_of(st.none(), TEXTS),
)


def book(*turns: ScriptedTurn) -> Playbook:
    scene = Scene(role=Role.DEVELOPER, task="parse-dates", attempt=1, turns=turns)
    return Playbook(schema=1, name="written", scenes=(scene,))


def as_called(playbook: Playbook) -> list[object]:
    """What an agent would be told of each call."""
    return [
        (call.id, tool_call("c", call.name, call.arguments))
        for turn in playbook.scenes[0].turns
        for call in turn.calls
    ]


@given(said=TEXTS, calls=st.lists(CALLS, max_size=3))
def test_what_was_written_is_read_back(said: str, calls: list[ScriptedCall]) -> None:
    written = book(ScriptedTurn(text=said, calls=tuple(calls), stop="end"))
    read = parse_playbook(playbook_text(written), "written.yaml")
    assert read.scenes[0].turns[0].text == said
    assert as_called(read) == as_called(written)


def test_a_person_can_read_it() -> None:
    arguments: JsonValue = {"path": "a/b.py", "content": "x = 1\n\ny = 2\n"}
    call = ScriptedCall(name="write", arguments=arguments)
    text = playbook_text(book(ScriptedTurn(text="I write: it.", calls=(call,))))
    assert text == (
        "schema: 1\nname: written\nscenes:\n  - role: developer\n    task: parse-dates\n"
        '    attempt: 1\n    turns:\n      - text: "I write: it."\n        calls:\n'
        "          - write:\n              path: a/b.py\n              content: |\n"
        "                x = 1\n\n                y = 2\n"
    )


def nested(depth: int) -> JsonValue:
    return "x" if depth == 0 else [nested(depth - 1)]


@pytest.mark.parametrize("arguments", [{"": 1}, {"k" * 5_000: 1}, {"deep": nested(190)}])
def test_arguments_that_yaml_does_not_take_are_kept_as_their_text(arguments: JsonValue) -> None:
    written = book(ScriptedTurn(calls=(ScriptedCall(name="bash", arguments=arguments),)))
    assert as_called(parse_playbook(playbook_text(written), "w.yaml")) == as_called(written)
