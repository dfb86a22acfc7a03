"""The simulator's Responses dialect: strict parsing, faithful wording."""

import json
from collections.abc import Mapping

from activities.adapters.models.scripted.answer_choice import Place, ScriptedAnswer
from activities.adapters.models.scripted.playbook import ErrorKind, ScriptedCall, ScriptedError
from activities.adapters.models.simulator.dialect import (
    Failure,
    WireRequest,
    called,
    check_stamp,
    made_up_id,
    require,
    seconds,
    stamp,
    wanted_schema,
)
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

LONGEST_ID = 64
_FAILURES: Mapping[ErrorKind, tuple[int, str, str, str]] = {
    "rate_limited": (429, "rate_limit_exceeded", "requests", "Rate limit reached for requests"),
    "unavailable": (503, "server_error", "server_error", "The engine is currently overloaded"),
    "auth": (401, "invalid_api_key", "invalid_request_error", "Incorrect API key provided"),
    "credit": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "context_overflow": (
        400,
        "context_length_exceeded",
        "invalid_request_error",
        "Your input exceeds the context window of this model.",
    ),
    "invalid": (400, "invalid_value", "invalid_request_error", "Invalid value: 'input'."),
}


_LONGEST_CACHE_KEY = 64
_INSTRUCTING = {"developer", "system"}
_OUTPUTS = {"function_call_output", "custom_tool_call_output"}


class OpenAIDialect:
    """`POST /v1/responses`."""

    name = "openai"

    def key(self, headers: Mapping[str, str]) -> str:
        """See the protocol."""
        return headers.get("authorization", "").removeprefix("Bearer ")

    def read(self, body: Json) -> WireRequest:
        """See the protocol."""
        require(text(body.get("model")), "Missing required parameter: 'model'.")
        is_short = len(text(body.get("prompt_cache_key"))) <= _LONGEST_CACHE_KEY
        require(is_short, "Invalid 'prompt_cache_key': string too long.")
        reader = _Reader()
        for item in tables(body.get("input")):
            reader.take(item)
        reader.finish()
        form = table(table(body.get("text")).get("format"))
        return WireRequest(
            text(body["model"]),
            reader.messages,
            reader.stamps,
            wanted_schema(body, form, "schema"),
            *_tools([*tables(body.get("tools")), *reader.tools]),
        )

    def render(self, spoken: ScriptedAnswer, place: Place, request: WireRequest) -> Json:
        """See the protocol."""
        is_cut = spoken.stop == "truncated"
        output: list[Json] = [
            {
                "id": made_up_id("rs_", place, 0),
                "type": "reasoning",
                "summary": [],
                "encrypted_content": stamp(self.name, place, ""),
            }
        ]
        if spoken.text:
            output.append(_message(spoken, place))
        output += [_call(call, place, n, request) for n, call in enumerate(spoken.calls)]
        if is_cut:
            output[-1]["status"] = "incomplete"
        return {
            "id": made_up_id("resp_", place, 0),
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if is_cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "error": None,
            "model": request.model,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": _usage(spoken.usage),
        }

    def fail(self, error: ScriptedError, message: str) -> Failure:
        """See the protocol."""
        status, code, kind, words = _FAILURES[error.kind]
        said = {"message": message or words, "type": kind, "param": None, "code": code}
        headers = {} if error.retry_after is None else {"retry-after": seconds(error.retry_after)}
        return Failure(status, {"error": said}, headers)

    def limits(self, used: int) -> Mapping[str, str]:
        """See the protocol."""
        return {
            "x-ratelimit-limit-requests": "1000",
            "x-ratelimit-remaining-requests": str(max(1000 - used, 0)),
            "x-ratelimit-reset-requests": "6m0s",
        }


class _Reader:
    """Reads items in order and refuses what the real server refuses."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.stamps: list[tuple[int, str]] = []
        self.tools: list[Json] = []
        self._said: list[str] = []
        self._calls: list[ToolCall] = []
        self._results: list[ToolResult] = []
        self._due: dict[str, str] = {}
        self._seen: set[str] = set()
        self._reasoning: str | None = None
        self._turns = 0

    def take(self, item: Json) -> None:
        kind = text(item.get("type")) or "message"
        if kind == "message" and item.get("role") == "user":
            self._take_user(item)
        elif kind == "message" and item.get("role") in _INSTRUCTING:
            self._end_turn()
            _content(item)
        elif kind == "additional_tools":
            self._take_tools(item)
        elif kind == "message":
            self._end_results()
            self._said.append(_content(item))
            self._reasoning = None
        elif kind == "reasoning":
            self._end_results()
            says = check_stamp("openai", item.get("encrypted_content"), "")
            self.stamps.append((self._turns, says))
            self._reasoning = text(item.get("id"))
        elif kind in {"function_call", "custom_tool_call"}:
            self._end_results()
            self._take_call(item, kind)
        else:
            require(kind in _OUTPUTS, f"Invalid value: {kind!r}.")
            self._take_result(item)

    def finish(self) -> None:
        self._end_turn()
        self._end_results()
        require(self.messages, "Missing required parameter: 'input'.")
        require(not self._due, f"No tool output found for function call {', '.join(self._due)}.")

    def _take_user(self, item: Json) -> None:
        self._end_turn()
        self._end_results()
        require(not self._due, f"No tool output found for function call {', '.join(self._due)}.")
        self.messages.append(UserMessage(text=_content(item)))

    def _take_tools(self, item: Json) -> None:
        require(item.get("role") == "developer", "Invalid 'role': only 'developer' is supported.")
        require(isinstance(item.get("tools"), list), "Missing required parameter: 'tools'.")
        self.tools += tables(item.get("tools"))

    def _take_call(self, item: Json, kind: str) -> None:
        call_id = text(item.get("call_id"))
        require(0 < len(call_id) <= LONGEST_ID, "Invalid 'call_id': empty or too long.")
        require(call_id not in self._seen, f"Duplicate call_id {call_id!r}.")
        self._seen.add(call_id)
        self._reasoning = None
        self._due[call_id] = text(item.get("name"))
        is_custom = kind == "custom_tool_call"
        arguments = {"input": item.get("input")} if is_custom else _parsed(item.get("arguments"))
        self._calls.append(called(call_id, self._due[call_id], arguments))

    def _take_result(self, item: Json) -> None:
        self._end_turn()
        call_id, output = text(item.get("call_id")), _joined(item.get("output"))
        require(call_id in self._due, f"No tool call found for function call output {call_id!r}.")
        require(output.strip(), "Invalid 'output': empty.")
        name = self._due.pop(call_id)
        self._results.append(ToolResult(call_id=call_id, name=name, text=output))

    def _end_turn(self) -> None:
        message = f"Item {self._reasoning!r} of type 'reasoning' was provided without what follows."
        require(self._reasoning is None, message)
        if self._said or self._calls:
            said = AssistantMessage(text="\n".join(self._said), tool_calls=tuple(self._calls))
            self.messages.append(said)
            self._turns += 1
        self._said, self._calls = [], []

    def _end_results(self) -> None:
        if self._results:
            self.messages.append(ToolMessage(results=tuple(self._results)))
        self._results = []


def _content(item: Json) -> str:
    said = _joined(item.get("content"))
    require(said.strip(), "Invalid 'content': empty.")
    return said


def _joined(content: object) -> str:
    parts = [content] if isinstance(content, str) else [_said(part) for part in tables(content)]
    return "\n".join(parts)


def _said(part: Json) -> str:
    return text(part.get("text")) or text(part.get("refusal"))


def _tools(tools: list[Json]) -> tuple[frozenset[str], Mapping[str, str]]:
    """Return the names of custom tools, and the namespace of each tool that is in one."""
    spaced = [(text(t.get("name")), each) for t in tools for each in tables(t.get("tools"))]
    every = [*tools, *(each for _, each in spaced)]
    custom = frozenset(text(each.get("name")) for each in every if each.get("type") == "custom")
    return custom, {text(each.get("name")): space for space, each in spaced}


def _parsed(arguments: object) -> object:
    try:
        return json.loads(text(arguments))
    except ValueError:
        require(condition=False, message="Invalid 'arguments': no JSON.")


def _message(spoken: ScriptedAnswer, place: Place) -> Json:
    part: Json = {"type": "output_text", "text": spoken.text, "annotations": []}
    if spoken.stop == "refusal":
        part = {"type": "refusal", "refusal": spoken.text}
    return {
        "id": made_up_id("msg_", place, 0),
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _call(call: ScriptedCall, place: Place, index: int, request: WireRequest) -> Json:
    space = request.namespaces.get(call.name)
    where: Json = {} if space is None else {"namespace": space}
    if call.name in request.custom_tools:
        return _custom_call(call, place, index) | where
    return _function_call(call, place, index) | where


def _custom_call(call: ScriptedCall, place: Place, index: int) -> Json:
    given = call.arguments
    return {
        "id": made_up_id("ctc_", place, index),
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": made_up_id("call_", place, index) if call.id is None else call.id,
        "name": call.name,
        "input": given if isinstance(given, str) else text(table(given).get("input")),
    }


def _function_call(call: ScriptedCall, place: Place, index: int) -> Json:
    raw = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    return {
        "id": made_up_id("fc_", place, index),
        "type": "function_call",
        "status": "completed",
        "call_id": made_up_id("call_", place, index) if call.id is None else call.id,
        "name": call.name,
        "arguments": raw,
    }


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.output_tokens // 2},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
