"""OpenAI's Responses dialect: neutral requests to its JSON, its answers back to neutral replies.

Pure translation of plain JSON; `openai.py` handles the SDK. The provider stores nothing: reasoning
items travel encrypted in `provider_raw`, exactly as they came.
"""

import hashlib
import json
import re
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
from activities.adapters.models.error_classes import Reported, decide
from activities.ports.model_provider import ModelReply, ModelRequest, OutcomeUnknownError, Stop
from activities.text.foreign_json import Json, table, tables, text
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

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})
_SILENT = frozenset({"response.created", "response.queued", "response.in_progress"})
_UNFINISHED = frozenset({"queued", "in_progress", "cancelled", None})
_EARLY: dict[str, Stop] = {"content_filter": "refusal", "max_output_tokens": "truncated"}
_CACHE_KEY_CHARS = 64
_NO_REASONING = re.compile(r"gpt-[34]|chatgpt")


def wire_request(request: ModelRequest) -> Json:
    """Translate a request to the arguments of `responses.create`."""
    body: Json = {
        "model": request.model.model,
        "instructions": clean(request.system),
        "input": [item for message in request.messages for item in _items(message)],
        "max_output_tokens": min(request.max_output_tokens, request.model.max_output_tokens),
        "parallel_tool_calls": True,
        "prompt_cache_key": _cache_key(request.cache_key),
        "store": False,
    }
    if not _NO_REASONING.match(request.model.model):
        body["include"] = ["reasoning.encrypted_content"]
        if request.effort is not None:
            body["reasoning"] = {"effort": request.effort}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
    return body


def _cache_key(key: str) -> str:
    """Shorten a key to the provider's limit; a longer one would refuse the whole request."""
    return key if len(key) <= _CACHE_KEY_CHARS else hashlib.sha256(key.encode()).hexdigest()


def read_reply(request: ModelRequest, body: Json) -> ModelReply:
    """Translate the JSON of a whole answer.

    Raises:
        ModelError: the answer reports a failure, or it is incomplete.
    """
    status = body.get("status")
    if status == "failed":
        raise decide(failure(table(body.get("error"))))
    items = _replayable(tables(body.get("output")))
    if status in _UNFINISHED or (status not in {"completed", "incomplete"} and not items):
        raise OutcomeUnknownError(f"the answer is not whole: its status is {status!r}")
    calls = _take_calls(items, request.messages)
    usage = _usage(table(body.get("usage")), wire_request(request), items)
    payload: list[JsonValue] = [clean_json(item) for item in items]
    return ModelReply(
        message=AssistantMessage(
            text=clean("\n".join(said for item in items for said in _texts(item))),
            tool_calls=calls,
            provider_raw=ProviderRaw(dialect="openai", payload=payload),
        ),
        stop=_stop(body, items, calls),
        refusal=_refusal(body, items),
        usage=usage,
        cost_usd=cost_usd(request.model.prices, usage),
        scripted=body.get("simulated") is True,
    )


def _take_calls(items: list[Json], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Read the calls, and adapt their items so that they can be sent back."""
    uses = [item for item in items if item.get("type") == "function_call"]
    calls: list[ToolCall] = []
    ids = unique_ids((text(item.get("call_id")) for item in uses), messages)
    for call_id, item in zip(ids, uses, strict=True):
        call = tool_call(call_id, text(item.get("name")), _arguments(item))
        item |= {"call_id": call.id, "name": safe_name(call.name)}
        if not _is_json(text(item.get("arguments"))) or call.malformed is not None:
            item["arguments"] = json.dumps(call.arguments)
        calls.append(call)
    return tuple(calls)


def _is_json(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _stop(body: Json, items: list[Json], calls: Sequence[ToolCall]) -> Stop:
    """Say why the answer ended; an early end for an unknown reason takes nothing from its calls."""
    if any(part.get("type") == "refusal" for item in items for part in _parts(item)):
        return "refusal"
    stop: Stop = "end" if body.get("status") == "completed" else "unknown"
    if body.get("status") == "incomplete":
        stop = _EARLY.get(text(table(body.get("incomplete_details")).get("reason")), "unknown")
    return "tool_calls" if calls and stop in {"end", "unknown"} else stop


def _refusal(body: Json, items: list[Json]) -> str:
    """Return the refusal's own words, or the reason by which a filter cut the answer."""
    parts = [part for item in items for part in _parts(item)]
    said = [text(part.get("refusal")) for part in parts if part.get("type") == "refusal"]
    reason = text(table(body.get("incomplete_details")).get("reason"))
    return "; ".join(filter(None, [reason if reason == "content_filter" else "", *said]))


def _arguments(item: Json) -> str:
    """Mark a call that the limit cut: it must not run, even if its text happens to be JSON."""
    arguments = text(item.get("arguments"))
    is_cut = item.get("status") == "incomplete"
    return f"{CUT}{arguments}" if is_cut else arguments


def _replayable(items: list[Json]) -> list[Json]:
    """Drop items that the provider would refuse in the next request.

    These are reasoning with nothing after it, reasoning without its encrypted content (the
    provider does not store it), and messages without text.
    """
    kept: list[Json] = []
    for item in reversed(items):
        kind = item.get("type")
        if kind == "reasoning" and (not kept or not item.get("encrypted_content")):
            continue
        if kind == "message" and not any(said.strip() for said in _texts(item)):
            continue
        kept.append(item)
    return kept[::-1]


def _parts(item: Json) -> list[Json]:
    return tables(item.get("content")) if item.get("type") == "message" else []


def _texts(item: Json) -> list[str]:
    return [text(part.get("text")) or text(part.get("refusal")) for part in _parts(item)]


def _items(message: Message) -> list[Json]:
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": clean(message.text).strip() or NO_OUTPUT}]
    if isinstance(message, ToolMessage):
        return [
            {
                "type": "function_call_output",
                "call_id": result.call_id,
                "output": _output(result),
            }
            for result in message.results
        ]
    return _assistant(message)


def _output(result: ToolResult) -> str:
    """Results have no error flag, so the text reports errors."""
    output = clean(result.text) if result.text.strip() else NO_OUTPUT
    return f"error: {output}" if result.is_error else output


def _assistant(message: AssistantMessage) -> list[Json]:
    raw = message.provider_raw
    if raw is not None and raw.dialect == "openai" and raw.payload:
        return tables(raw.payload)
    items: list[Json] = []
    if message.text.strip() or not message.tool_calls:
        said = clean(message.text).strip() or NO_ANSWER
        items.append({"role": "assistant", "content": said})
    for call in message.tool_calls:
        name, arguments = safe_name(call.name), json.dumps(call.arguments)
        items.append(
            {"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments}
        )
    return items


def failure(error: Json) -> Reported:
    """Read a failure within an answer or a stream; one without a code is the server's."""
    code = text(error.get("code")) or "server_error"
    return Reported(
        provider="openai",
        status=200,
        codes=frozenset({code}),
        message=text(error.get("message")) or code,
    )


def _usage(usage: Json, sent: Json, said: list[Json]) -> Usage:
    details = table(usage.get("input_tokens_details"))
    counts = Counts(
        prompt=number(usage.get("input_tokens")),
        output=number(usage.get("output_tokens")),
        cached=number(details.get("cached_tokens")) or 0,
        written=number(details.get("cache_write_tokens")) or 0,
    )
    return usage_of(counts, sent, said)


class ResponseAssembly:
    """One streamed response; implements `activities.adapters.models.streams.Assembly`.

    The last event holds the whole answer; the others only show progress.
    """

    def __init__(self) -> None:
        self.is_whole = False
        self.has_begun = False
        self._response: Json = {}

    def take(self, event: Json) -> None:
        """See the protocol; an event of type `error` has the error's fields next to its type."""
        kind = text(event.get("type"))
        if kind == "error":
            raise decide(failure(event))
        if kind == "response.failed" and self.has_begun:
            raise decide(failure(table(table(event.get("response")).get("error"))))
        if kind in _LAST:
            self._response = table(event.get("response"))
            self.is_whole = True
        elif kind.startswith("response.") and kind not in _SILENT:
            self.has_begun = True

    def body(self) -> Json:
        """See the protocol."""
        return self._response
