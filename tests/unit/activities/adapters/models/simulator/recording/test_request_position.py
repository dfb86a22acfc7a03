"""The place of a conversation, read from bodies as official clients and foreign ones write them."""

from typing import Any

import pytest

from activities.adapters.models.scripted.answer_choice import Place
from activities.adapters.models.simulator.recording.request_position import body_of, place_of
from activities.adapters.models.simulator.recording.upstreams import DialectName
from tests.unit.activities.adapters.models.wire import OPENING
from workflows.policy.agent.opening_messages import COMPACTION

SAID = OPENING.text
TURN_3 = Place("developer", "parse-dates", 1, 3)
CALLS: list[dict[str, Any]] = [
    {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]}
]
RESULT = {"functionResponse": {"name": "bash", "response": {"output": "Role: planner"}}}
REASONING = [{"type": "reasoning", "encrypted_content": "of-their-own"}]
FUNCTION = {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "x"}
BODIES: dict[str, tuple[DialectName, dict[str, Any]]] = {
    "messages": (
        "anthropic",
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": SAID}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "content": [{"type": "text", "text": "x"}]},
                        {"type": "text", "text": "And now?"},
                    ],
                },
                {"role": "assistant", "content": "Hm."},
                {"role": "user", "content": "Go on."},
            ]
        },
    ),
    "items": (
        "openai",
        {
            "input": [
                {"role": "developer", "content": "Be careful."},
                {"role": "user", "content": [{"type": "input_text", "text": SAID}]},
                *REASONING,
                {"type": "message", "role": "assistant", "content": []},
                FUNCTION,
                FUNCTION | {"call_id": "d"},
                OUTPUT,
                OUTPUT | {"call_id": "d"},
                *REASONING,
                FUNCTION,
                OUTPUT,
            ]
        },
    ),
    "completions": (
        "chat",
        {
            "messages": [
                {"role": "system", "content": "Be careful."},
                {"role": "user", "content": SAID},
                {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "tool", "content": "x"},
                {"role": "assistant", "content": "Hm."},
                {"role": "user", "content": "Go on."},
            ]
        },
    ),
    "contents": (
        "gemini",
        {
            "contents": [
                {"role": "user", "parts": [{"text": SAID}]},
                *CALLS,
                {"role": "user", "parts": [RESULT]},
                *CALLS,
                {"parts": [RESULT]},
            ]
        },
    ),
}


def unheard(_: Place) -> int:
    return 0


@pytest.mark.parametrize("name", BODIES)
def test_turns_are_counted(name: str) -> None:
    assert place_of(*BODIES[name], unheard) == TURN_3


SUMMARY: dict[str, tuple[str, dict[str, Any]]] = {
    "messages": ("messages", {"role": "user", "content": COMPACTION}),
    "items": ("input", {"role": "user", "content": COMPACTION}),
    "completions": ("messages", {"role": "user", "content": f"Go on.\n\n{COMPACTION}"}),
    "contents": ("contents", {"role": "user", "parts": [RESULT, {"text": COMPACTION}]}),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_call_for_a_summary_is_known(name: str) -> None:
    dialect, body = BODIES[name]
    key, asked = SUMMARY[name]
    place = place_of(dialect, body | {key: [*body[key], asked]}, unheard)
    assert place == TURN_3._replace(is_compaction=True)


USE = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
ONE_BY_ONE = [
    {"role": "assistant", "content": "I look.", "tool_calls": [USE]},
    {"role": "tool", "content": "x"},
    {"role": "assistant", "content": None, "tool_calls": [USE]},
    {"role": "tool", "content": "x"},
]


@pytest.mark.parametrize(("heard", "turn"), [({}, 8), ({5: 2, 6: 1, 7: 1}, 7), ({5: 1, 6: 2}, 7)])
def test_a_turn_whose_calls_stand_one_by_one_is_one(heard: dict[int, int], turn: int) -> None:
    opening = {"role": "user", "content": SAID.replace("Attempt: 1", "Attempt: 1\nTurn: 4")}
    last = {"role": "assistant", "content": "Hm.", "tool_calls": [USE]}
    result = {"role": "tool", "content": "x"}
    body = {"messages": [opening, *ONE_BY_ONE, last, result]}
    place = place_of("chat", body, lambda place: heard.get(place.turn, 0))
    assert place == Place("developer", "parse-dates", 1, turn)


def test_calls_that_stand_together_are_one_turn_anyway() -> None:
    together = {"role": "assistant", "content": None, "tool_calls": [USE, USE]}
    body = {"messages": [{"role": "user", "content": SAID}, together, *ONE_BY_ONE[:2]]}
    place = place_of("chat", body, lambda place: 2 if place.turn == 1 else 0)
    assert place == Place("developer", "parse-dates", 1, 3)


def test_a_compacted_conversation_says_where_it_is() -> None:
    said = SAID.replace("Attempt: 1", "Attempt: 2\nTurn: 7")
    body = {"messages": [{"role": "user", "content": said}]}
    assert place_of("anthropic", body, unheard) == Place("developer", "parse-dates", 2, 8)


@pytest.mark.parametrize("instructions", ["Be careful.", "Answer with Role: and Task: lines."])
def test_instructions_may_stand_before_the_header(instructions: str) -> None:
    body = {"messages": [{"role": "user", "content": f"{instructions}\n\n{SAID}"}]}
    assert place_of("chat", body, unheard) == Place("developer", "parse-dates", 1, 1)
    assert place_of("anthropic", body, unheard) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"messages": null}',
        b'{"messages": [{"role": "assistant", "content": "Role: developer"}]}',
        b'{"messages": [{"role": "user", "content": "Hello"}]}',
        b'{"messages": [{"role": "user", "content": "Role: wizard"}]}',
        b'{"messages": [{"role": "user", "content": "Role: developer\\nAttempt: 0"}]}',
        b'{"messages": [{"role": "user", "content": "Role: developer\\nAttempt: x"}]}',
        b"[" * 100_000,
    ],
)
def test_a_request_of_no_agent_has_no_place(raw: bytes) -> None:
    assert place_of("anthropic", body_of(raw), unheard) is None
