"""The simulator's Messages dialect: strict parsing, faithful wording."""

from collections.abc import Mapping

from activities.adapters.models.scripted.answer_choice import Place, ScriptedAnswer
from activities.adapters.models.scripted.playbook import ErrorKind, ScriptedError
from activities.adapters.models.simulator.dialect import (
    Failure,
    RefusedError,
    WireRequest,
    called,
    check_stamp,
    made_up_id,
    require,
    seconds,
    stamp,
    thought_of,
    wanted_schema,
)
from activities.text.foreign_json import Json, table, tables, text
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Usage

_STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "truncated": "max_tokens",
    "refusal": "refusal",
    "pause": "pause_turn",
    "malformed": "tool_use",
    "unknown": "unspecified",
}
_FAILURES: Mapping[ErrorKind, tuple[int, str, str]] = {
    "rate_limited": (429, "rate_limit_error", "This request would exceed your rate limit."),
    "unavailable": (529, "overloaded_error", "Overloaded"),
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "credit": (429, "rate_limit_error", "You have reached your usage threshold."),
    "context_overflow": (
        400,
        "invalid_request_error",
        "prompt is too long: 1000001 tokens > 1000000 maximum",
    ),
    "invalid": (400, "invalid_request_error", "messages: invalid"),
}


class AnthropicDialect:
    """`POST /v1/messages`."""

    name = "anthropic"

    def key(self, headers: Mapping[str, str]) -> str:
        """See the protocol; today's SDK sends a bearer token, plain clients the older header."""
        return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")

    def read(self, body: Json) -> WireRequest:
        """See the protocol."""
        require(isinstance(body.get("max_tokens"), int), "max_tokens: field required")
        require(text(body.get("model")), "model: field required")
        reader = _Reader()
        for message in tables(body.get("messages")):
            reader.take(text(message.get("role")), _blocks(message.get("content")))
        reader.finish()
        form = table(table(body.get("output_config")).get("format"))
        schema = wanted_schema(body, form, "schema")
        return WireRequest(text(body["model"]), reader.messages, reader.stamps, schema)

    def render(self, spoken: ScriptedAnswer, place: Place, request: WireRequest) -> Json:
        """See the protocol."""
        thought = thought_of(place)
        signature = stamp(self.name, place, thought)
        content: list[Json] = [{"type": "thinking", "thinking": thought, "signature": signature}]
        if spoken.text:
            content.append({"type": "text", "text": spoken.text})
        for index, call in enumerate(spoken.calls):
            call_id = made_up_id("toolu_", place, index) if call.id is None else call.id
            content.append(
                {"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments}
            )
        return {
            "id": made_up_id("msg_", place, 0),
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": content,
            "stop_reason": _STOPS[spoken.stop],
            "stop_sequence": None,
            "usage": _usage(spoken.usage),
        }

    def fail(self, error: ScriptedError, message: str) -> Failure:
        """See the protocol."""
        status, kind, words = _FAILURES[error.kind]
        said: Json = {"type": kind, "message": message or words}
        if error.kind == "credit":
            said["details"] = {"error_code": "enforced_spend_limit_reached"}
        headers = {} if error.retry_after is None else {"retry-after": seconds(error.retry_after)}
        return Failure(status, {"type": "error", "error": said}, headers)

    def limits(self, used: int) -> Mapping[str, str]:
        """See the protocol."""
        return {
            "anthropic-ratelimit-requests-limit": "1000",
            "anthropic-ratelimit-requests-remaining": str(max(1000 - used, 0)),
            "anthropic-ratelimit-requests-reset": "2030-01-01T00:00:00Z",
        }


class _Reader:
    """Reads messages in order and refuses what the real server refuses."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.stamps: list[tuple[int, str]] = []
        self._due: dict[str, str] = {}
        self._seen: set[str] = set()
        self._turns = 0
        self._last = ""

    def take(self, role: str, blocks: list[Json]) -> None:
        require(blocks, "messages: content must not be empty")
        for block in blocks:
            is_empty = block.get("type") == "text" and not text(block.get("text")).strip()
            require(not is_empty, "messages: text content blocks must be non-empty")
        after, self._last = self._last, role
        if role == "assistant":
            self._take_assistant(blocks)
        elif role == "system":
            require(
                after == "user", "messages: unexpected role 'system': it must follow a user turn"
            )
        else:
            require(
                after != "system", "messages: role 'system' must end the list or precede assistant"
            )
            require(role == "user", f"messages: unexpected role {role!r}")
            self._take_user(blocks)

    def finish(self) -> None:
        require(self.messages, "messages: at least one message is required")
        require(not self._due, _ORPHAN_USE.format(", ".join(self._due)))
        is_prefill = isinstance(self.messages[-1], AssistantMessage)
        require(not is_prefill, "This model does not support assistant message prefill.")

    def _take_user(self, blocks: list[Json]) -> None:
        results = [block for block in blocks if block.get("type") == "tool_result"]
        require(blocks[: len(results)] == results, "tool_result blocks must come first")
        due, self._due = self._due, {}
        for result in results:
            answered = text(result.get("tool_use_id"))
            require(answered in due, f"unexpected `tool_use_id` in `tool_result`: {answered!r}")
        given = [text(result.get("tool_use_id")) for result in results]
        require(len(set(given)) == len(given), "each tool_use must have a single result")
        require(set(given) == set(due), _ORPHAN_USE.format(", ".join(set(due) - set(given))))
        if results:
            self.messages.append(ToolMessage(results=tuple(_result(r, due) for r in results)))
        for block in blocks[len(results) :]:
            require(block.get("type") == "text", f"unexpected block {block.get('type')!r}")
            self.messages.append(UserMessage(text=text(block.get("text"))))

    def _take_assistant(self, blocks: list[Json]) -> None:
        require(not self._due, _ORPHAN_USE.format(", ".join(self._due)))
        require(self.messages, "messages: first message must use the user role")
        for block in blocks:
            if block.get("type") == "thinking":
                says = check_stamp("anthropic", block.get("signature"), text(block.get("thinking")))
                self.stamps.append((self._turns, says))
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        for use in uses:
            self._take_use(use)
        said = [text(block.get("text")) for block in blocks if block.get("type") == "text"]
        calls = tuple(called(text(use["id"]), text(use.get("name")), use["input"]) for use in uses)
        self.messages.append(AssistantMessage(text="\n".join(said), tool_calls=calls))
        self._turns += 1

    def _take_use(self, use: Json) -> None:
        call_id = text(use.get("id"))
        require(call_id and call_id not in self._seen, "messages: `tool_use` ids must be unique")
        require(isinstance(use.get("input"), dict), "tool_use.input: Input should be an object")
        self._seen.add(call_id)
        self._due[call_id] = text(use.get("name"))


_ORPHAN_USE = "`tool_use` ids were found without `tool_result` blocks immediately after: {}"


def _blocks(content: object) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else tables(content)


def _result(block: Json, names: Mapping[str, str]) -> ToolResult:
    call_id = text(block.get("tool_use_id"))
    parts = _blocks(block.get("content"))
    if not all(text(part.get("text")).strip() for part in parts):
        raise RefusedError("tool_result: text content blocks must be non-empty")
    return ToolResult(
        call_id=call_id,
        name=names[call_id],
        text="\n".join(text(part.get("text")) for part in parts),
        is_error=block.get("is_error") is True,
    )


def _usage(usage: Usage) -> Json:
    """Anthropic's input tokens exclude cache reads and writes."""
    special = usage.cached_input_tokens + usage.cache_write_tokens
    brief = min(usage.cache_write_5m_tokens, usage.cache_write_tokens)
    return {
        "input_tokens": max(usage.input_tokens - special, 0),
        "cache_read_input_tokens": usage.cached_input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": brief,
            "ephemeral_1h_input_tokens": usage.cache_write_tokens - brief,
        },
        "output_tokens": usage.output_tokens,
        "service_tier": "standard",
    }
