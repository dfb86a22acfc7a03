"""Answers as no document describes them, in every dialect: what they hold is not lost."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from activities.adapters.models.dialects import (
    anthropic_messages,
    chat_completions,
    gemini_content,
    openai_responses,
)
from activities.ports.endpoints import Abilities
from activities.ports.model_provider import ModelReply, ModelRequest
from activities.text.foreign_json import Json
from tests.unit.activities.adapters.models.wire import ask

ARGUMENTS = {"command": "ls"}


def anthropic(stop: str, name: str, arguments: Any) -> ModelReply:
    use = {"type": "tool_use", "id": "t.1", "name": name, "input": arguments}
    body: Json = {"content": [use], "stop_reason": stop}
    return anthropic_messages.read_reply(ask("anthropic"), body)


def openai(stop: str, name: str, arguments: Any) -> ModelReply:
    use = {"type": "function_call", "call_id": "t.1", "name": name, "arguments": arguments}
    body: Json = {"output": [use], "status": "incomplete", "incomplete_details": {"reason": stop}}
    return openai_responses.read_reply(ask("openai"), body)


def chat(stop: str, name: str, arguments: Any) -> ModelReply:
    use = {"id": "t.1", "function": {"name": name, "arguments": arguments}}
    body: Json = {"choices": [{"message": {"tool_calls": [use]}, "finish_reason": stop}]}
    return chat_completions.read_reply(ask("local"), body, ABLE)


def google(stop: str, name: str, arguments: Any) -> ModelReply:
    parts = [{"functionCall": {"name": name, "args": arguments}}]
    body: Json = {"candidates": [{"content": {"parts": parts}, "finishReason": stop}]}
    return gemini_content.read_reply(ask("google"), body)


ABLE = Abilities(reasoning_replay=True)
DIALECTS = [anthropic, openai, chat, google]
Dialect = Callable[[str, str, Any], ModelReply]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stop", ["a_new_reason", "OTHER"])
def test_a_complete_call_counts_whatever_the_stop_reason_says(dialect: Dialect, stop: str):
    """Field report G07."""
    reply = dialect(stop, "bash", json.dumps(ARGUMENTS))
    assert [call.arguments for call in reply.message.tool_calls] == [ARGUMENTS]
    assert reply.stop == "tool_calls"


def sent_back(reply: ModelReply) -> str:
    """Return what the next request holds of the answer."""
    raw = reply.message.provider_raw
    assert raw is not None
    return json.dumps(raw.payload)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["functions.bash", "bash tool", "", "9bash", "b" * 99])
def test_names_and_ids_go_back_as_every_provider_accepts_them(dialect: Dialect, name: str):
    """Field report G06."""
    reply = dialect("stop", name, json.dumps(ARGUMENTS))
    said = sent_back(reply)
    assert f'"name": "{name}"' not in said
    assert '"t.1"' not in said


@pytest.mark.parametrize("dialect", DIALECTS)
def test_raw_control_characters_are_read_and_go_back_as_json(dialect: Dialect):
    """Field report G06."""
    reply = dialect("stop", "bash", '{"command": "a\n\tb"}')
    assert reply.message.tool_calls[0].arguments == {"command": "a\n\tb"}
    assert json.dumps('{"command": "a\n\tb"}') not in sent_back(reply)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_arguments_that_cannot_be_read_go_back_as_an_empty_object(dialect: Dialect):
    reply = dialect("stop", "bash", '{"command": "ls"}}')
    assert reply.message.tool_calls[0].fault.startswith("Extra data at line 1, column 18")
    assert "command" not in sent_back(reply)


def test_the_one_call_of_the_older_chat_interface_counts():
    older = {"function_call": {"name": "bash", "arguments": json.dumps(ARGUMENTS)}}
    body: Any = {"choices": [{"message": older, "finish_reason": "function_call"}]}
    request: ModelRequest = ask("local")
    reply = chat_completions.read_reply(request, body, ABLE)
    assert [call.arguments for call in reply.message.tool_calls] == [ARGUMENTS]
    assert "function_call" not in json.loads(sent_back(reply))["message"]
