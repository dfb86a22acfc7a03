"""Anthropic's Messages dialect: neutral requests to its JSON, its answers back to neutral replies.

Pure translation of plain JSON; `anthropic.py` handles the SDK. Thinking blocks with their
signatures travel in `provider_raw` exactly as they came.
"""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from activities.adapters.models.dialects.neutral_messages import (
    CUT,
    NO_ANSWER,
    NO_OUTPUT,
    safe_name,
    tool_call,
    unique_ids,
)
from activities.adapters.models.dialects.token_counts import Counts, number, usage_of
from activities.ports.model_provider import ModelReply, ModelRequest, OutcomeUnknownError, Stop
from activities.text.foreign_json import Json, is_table, table, tables, text
from activities.text.surrogates import clean, clean_json
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ProviderRaw,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Usage
from workflows.policy.money.call_cost import cost_usd

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "truncated",
    # It was billed, and the next call will overflow: that call is refused unbilled, and compacts.
    "model_context_window_exceeded": "truncated",
    "refusal": "refusal",
    "pause_turn": "pause",
}


def wire_request(request: ModelRequest) -> Json:
    """Translate a request to the arguments of `messages.create`.

    The system block's own cache breakpoint lives an hour, because the next agent of the role
    shares it; the top-level one follows the end of the conversation and lives five minutes.
    """
    body: Json = {
        "model": request.model.model,
        "max_tokens": min(request.max_output_tokens, request.model.max_output_tokens),
        "messages": _messages(request.messages),
        "cache_control": {"type": "ephemeral"},
    }
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    if request.system.strip():
        hour = {"type": "ephemeral", "ttl": "1h"}
        body["system"] = [{"type": "text", "text": clean(request.system), "cache_control": hour}]
    if request.tools:
        body["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            }
            for tool in request.tools
        ]
    return body


def read_reply(request: ModelRequest, body: Json) -> ModelReply:
    """Translate the JSON of a whole answer.

    Raises:
        OutcomeUnknownError: it has neither content nor a known stop reason, so it is incomplete.
    """
    stop = _STOPS.get(text(body.get("stop_reason")), "unknown")
    blocks = [block for block in tables(body.get("content")) if not _is_empty(block)]
    has_calls = any(block.get("type") == "tool_use" for block in blocks)
    if stop == "unknown" and not (has_calls or (body.get("stop_reason") and blocks)):
        raise OutcomeUnknownError(f"the answer ends without a reason: {body.get('stop_reason')!r}")
    if stop == "truncated" and blocks and blocks[-1].get("type") == "tool_use":
        # The limit cut this call's arguments, so it must not run.
        blocks[-1]["input"] = CUT + _written(blocks[-1].get("input"))
    calls = _take_calls(blocks, request.messages)
    usage = _usage(table(body.get("usage")), wire_request(request), blocks)
    payload: list[JsonValue] = [clean_json(block) for block in blocks]
    texts = [text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return ModelReply(
        message=AssistantMessage(
            text=clean("\n".join(texts)),
            tool_calls=calls,
            provider_raw=ProviderRaw(dialect="anthropic", payload=payload),
        ),
        stop="tool_calls" if calls and stop in {"end", "unknown"} else stop,
        refusal=_refusal(body, texts) if stop == "refusal" else "",
        usage=usage,
        cost_usd=cost_usd(request.model.prices, usage),
        scripted=body.get("simulated") is True,
    )


def _written(arguments: object) -> str:
    """A stream leaves cut arguments as the text that arrived."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _take_calls(blocks: list[Json], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Read the calls, and adapt their blocks so that they can be sent back."""
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    calls: list[ToolCall] = []
    ids = unique_ids((text(block.get("id")) for block in uses), messages)
    for call_id, block in zip(ids, uses, strict=True):
        call = tool_call(call_id, text(block.get("name")), block.get("input"))
        block |= {"id": call.id, "name": safe_name(call.name)}
        if not is_table(block.get("input")) or call.malformed is not None:
            block["input"] = call.arguments
        calls.append(call)
    return tuple(calls)


def _messages(messages: tuple[Message, ...]) -> list[Json]:
    """Join adjacent messages of a role: results must open the user message after their calls."""
    joined: list[tuple[str, list[Json]]] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        if not joined or joined[-1][0] != role:
            joined.append((role, []))
        joined[-1][1].extend(_content(message))
    return [{"role": role, "content": content} for role, content in joined]


def _content(message: Message) -> list[Json]:
    if isinstance(message, UserMessage):
        return [{"type": "text", "text": clean(message.text).strip() or NO_OUTPUT}]
    if isinstance(message, ToolMessage):
        return [_result(result) for result in message.results]
    return _assistant(message)


def _result(result: ToolResult) -> Json:
    output = clean(result.text)
    block: Json = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": [{"type": "text", "text": output if output.strip() else NO_OUTPUT}],
    }
    return block | {"is_error": True} if result.is_error else block


def _assistant(message: AssistantMessage) -> list[Json]:
    raw = message.provider_raw
    if raw is not None and raw.dialect == "anthropic" and raw.payload:
        return tables(raw.payload)
    blocks: list[Json] = []
    if message.text.strip() or not message.tool_calls:
        blocks.append({"type": "text", "text": clean(message.text).strip() or NO_ANSWER})
    for call in message.tool_calls:
        name = safe_name(call.name)
        blocks.append({"type": "tool_use", "id": call.id, "name": name, "input": call.arguments})
    return blocks


def _is_empty(block: Json) -> bool:
    return block.get("type") == "text" and not text(block.get("text")).strip()


def _usage(usage: Json, sent: Json, said: list[Json]) -> Usage:
    """Anthropic's input tokens exclude cache reads and writes; `Usage` includes them."""
    fresh = number(usage.get("input_tokens"))
    cached = number(usage.get("cache_read_input_tokens")) or 0
    written = number(usage.get("cache_creation_input_tokens")) or 0
    kinds = table(usage.get("cache_creation"))
    counts = Counts(
        prompt=None if fresh is None or fresh < 0 else fresh + cached + written,
        output=number(usage.get("output_tokens")),
        cached=cached,
        written=written,
        written_5m=number(kinds.get("ephemeral_5m_input_tokens")) or 0,
    )
    return usage_of(counts, sent, said)


def _refusal(body: Json, texts: list[str]) -> str:
    """Return the category, the explanation and what the model still said."""
    details = table(body.get("stop_details"))
    said = (text(details.get("category")), text(details.get("explanation")), *texts)
    return ": ".join(filter(None, said))
