"""The simulator's Chat Completions dialect: strict parsing, faithful wording.

Keys, failures and rate-limit headers are those of the Responses dialect.
"""

import json
from collections.abc import Mapping

from activities.adapters.models.scripted.answer_choice import Place, ScriptedAnswer
from activities.adapters.models.scripted.playbook import ScriptedCall
from activities.adapters.models.simulator.dialect import (
    WireRequest,
    called,
    check_stamp,
    made_up_id,
    require,
    stamp,
    wanted_schema,
)
from activities.adapters.models.simulator.responses_dialect import LONGEST_ID, OpenAIDialect
from activities.ports.model_provider import Stop
from activities.text.foreign_json import Json, table, tables, text
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Usage

_REASONS: Mapping[Stop, str] = {"truncated": "length", "tool_calls": "tool_calls"}
_SYSTEM = {"system", "developer"}


class ChatDialect(OpenAIDialect):
    """`POST /v1/chat/completions`."""

    name = "chat"

    def read(self, body: Json) -> WireRequest:
        """See the protocol."""
        require(text(body.get("model")), "you must provide a model parameter")
        has_tools = bool(body.get("tools"))
        said = "'parallel_tool_calls' is only allowed when 'tools' are specified."
        require(has_tools or "parallel_tool_calls" not in body, said)
        both = {"max_tokens", "max_completion_tokens"} <= body.keys()
        require(not both, "'max_tokens' and 'max_completion_tokens' cannot both be set.")
        reader = _Reader()
        for item in tables(body.get("messages")):
            reader.take(item)
        reader.finish()
        form = table(table(body.get("response_format")).get("json_schema"))
        schema = wanted_schema(body, form, "schema")
        return WireRequest(text(body["model"]), reader.messages, reader.stamps, schema)

    def render(self, spoken: ScriptedAnswer, place: Place, request: WireRequest) -> Json:
        """See the protocol."""
        choice = {
            "index": 0,
            "message": _message(spoken, place),
            "logprobs": None,
            "finish_reason": _REASONS.get(spoken.stop, "stop"),
        }
        return {
            "id": made_up_id("chatcmpl-", place, 0),
            "object": "chat.completion",
            "created": 0,
            "model": request.model,
            "choices": [choice],
            "usage": _usage(spoken.usage),
        }


class _Reader:
    """Reads messages in order and refuses what the real server refuses."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.stamps: list[tuple[int, str]] = []
        self._due: dict[str, str] = {}
        self._seen: set[str] = set()
        self._results: list[ToolResult] = []
        self._turns = 0

    def take(self, item: Json) -> None:
        role = text(item.get("role"))
        if role == "tool":
            self._take_result(item)
            return
        self._end_results()
        if role == "user":
            self.messages.append(UserMessage(text=_content(item)))
        elif role == "assistant":
            self._take_answer(item)
        else:
            require(role in _SYSTEM, f"Invalid value: {role!r}. Supported values are …")
            require(not self.messages, "a system message must come first")
            _content(item)

    def finish(self) -> None:
        self._end_results()
        require(self.messages, "Invalid 'messages': empty array.")

    def _take_answer(self, item: Json) -> None:
        calls = tuple(self._call(each) for each in tables(item.get("tool_calls")))
        said = text(item.get("content")) if calls else _content(item)
        for detail in tables(item.get("reasoning_details")):
            self.stamps.append((self._turns, check_stamp("chat", detail.get("data"), "")))
        self.messages.append(AssistantMessage(text=said, tool_calls=calls))
        self._turns += 1

    def _call(self, item: Json) -> ToolCall:
        call_id, function = text(item.get("id")), table(item.get("function"))
        require(0 < len(call_id) <= LONGEST_ID, "Invalid 'tool_calls.id': empty or too long.")
        require(call_id not in self._seen, f"Duplicate tool call id {call_id!r}.")
        require(item.get("type") == "function", "Missing required parameter: 'tool_calls.type'.")
        self._seen.add(call_id)
        self._due[call_id] = text(function.get("name"))
        arguments = _parsed(function.get("arguments"))
        return called(call_id, self._due[call_id], arguments)

    def _take_result(self, item: Json) -> None:
        call_id = text(item.get("tool_call_id"))
        said = (
            "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
        )
        require(call_id in self._due, f"{said}: {call_id!r}")
        name = self._due.pop(call_id)
        self._results.append(ToolResult(call_id=call_id, name=name, text=_content(item)))

    def _end_results(self) -> None:
        said = "An assistant message with 'tool_calls' must be followed by tool messages for"
        require(not self._due, f"{said} {', '.join(self._due)}.")
        if self._results:
            self.messages.append(ToolMessage(results=tuple(self._results)))
        self._results = []


def _content(item: Json) -> str:
    content = item.get("content")
    said = text(content) or "\n".join(text(part.get("text")) for part in tables(content))
    require(said.strip(), "Invalid 'content': empty.")
    return said


def _parsed(arguments: object) -> Json:
    try:
        return table(json.loads(text(arguments)))
    except ValueError:
        require(condition=False, message="Invalid 'arguments': no JSON.")
        return {}


def _message(spoken: ScriptedAnswer, place: Place) -> Json:
    is_refused = spoken.stop == "refusal"
    thought = {"type": "reasoning.encrypted", "data": stamp(ChatDialect.name, place, "")}
    message: Json = {
        "role": "assistant",
        "content": None if is_refused else spoken.text or None,
        "refusal": spoken.text if is_refused else None,
        "reasoning_details": [thought],
    }
    calls = [_tool_call(call, place, n) for n, call in enumerate(spoken.calls)]
    return message | {"tool_calls": calls} if calls else message


def _tool_call(call: ScriptedCall, place: Place, index: int) -> Json:
    raw = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    return {
        "id": made_up_id("call_", place, index) if call.id is None else call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": raw},
    }


def _usage(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "completion_tokens": usage.output_tokens,
        "completion_tokens_details": {"reasoning_tokens": usage.output_tokens // 2},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
