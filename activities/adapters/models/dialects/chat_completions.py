"""OpenAI's Chat Completions dialect, as compatible servers speak it: requests and answers.

Pure translation of plain JSON; `openai_chat.py` handles the SDK. A server's abilities are declared
(`Abilities`). Servers differ most in what they leave out, so answers are read leniently: only an
answer that reports a failure, or does not say how it ended, is rejected.
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
from activities.ports.endpoints import Abilities
from activities.ports.model_provider import (
    ModelReply,
    ModelRequest,
    ModelUnusableError,
    OutcomeUnknownError,
    Stop,
)
from activities.text.foreign_json import Json, count, table, tables, text
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
    "stop": "end",
    "end_turn": "end",
    "eos_token": "end",
    "stop_sequence": "end",
    "length": "truncated",
    "max_tokens": "truncated",
    "model_length": "truncated",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}
"""OpenAI's terms and the equivalents of other servers."""

_REFUSALS = range(400, 600)
"""Statuses that gateways report as the code of an error within an answer."""
_STRICT_ID = re.compile("[A-Za-z0-9]{9}")


def wire_request(request: ModelRequest, abilities: Abilities) -> Json:
    """Translate a request to the arguments of `chat.completions.create`.

    Raises:
        ModelUnusableError: it offers tools, but the server is declared not to support them.
    """
    if request.tools and not abilities.tool_calls:
        raise ModelUnusableError(
            f"provider {request.model.provider!r} is declared to know no tool calls, and agents do "
            "everything by tools; choose another model for this role"
        )
    body: Json = {
        "model": request.model.model,
        "messages": _messages(request, abilities),
        abilities.max_output_field: min(request.max_output_tokens, request.model.max_output_tokens),
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
        if abilities.parallel_tool_calls:
            body["parallel_tool_calls"] = True
    if effort := request.effort or abilities.reasoning_effort:
        body["reasoning_effort"] = effort
    if abilities.prompt_caching:
        body["prompt_cache_key"] = request.cache_key
    return body


def read_reply(request: ModelRequest, body: Json, abilities: Abilities) -> ModelReply:
    """Translate the JSON of a whole answer.

    Raises:
        ModelError: the answer reports a failure, or it is incomplete.
    """
    choice = next(iter(tables(body.get("choices"))), Json())
    provider = request.model.provider
    reported = _reported(provider, body) or _reported(provider, choice)
    if reported is not None:
        raise decide(reported)
    stop = _STOPS.get(text(choice.get("finish_reason")), "unknown")
    message = dict(table(choice.get("message")))
    reason = choice.get("finish_reason")
    if stop == "unknown" and not (_uses(message) or (reason and _said(message))):
        raise OutcomeUnknownError(f"the answer ends without a reason that is known: {reason!r}")
    calls = _take_calls(message, request.messages, is_cut=stop == "truncated")
    usage = _usage(body, message, sent=wire_request(request, abilities))
    return ModelReply(
        message=AssistantMessage(
            text=clean(_said(message)),
            tool_calls=calls,
            provider_raw=_raw(request, message) if abilities.reasoning_replay else None,
        ),
        stop=_stop(stop, message, calls),
        refusal=_refusal(choice, message),
        usage=usage,
        cost_usd=cost_usd(request.model.prices, usage),
        scripted=body.get("simulated") is True,
    )


# --- answers --------------------------------------------------------------------------------------


def _take_calls(
    message: Json, messages: Sequence[Message], *, is_cut: bool
) -> tuple[ToolCall, ...]:
    """Read the calls, and adapt their items so that they can be sent back."""
    items = _uses(message)
    message.pop("function_call", None)
    calls: list[ToolCall] = []
    ids = unique_ids((text(item.get("id")) for item in items), messages)
    for place, (call_id, item) in enumerate(zip(ids, items, strict=True)):
        function = dict(table(item.get("function")))
        arguments = function.get("arguments") or ""  # some leave out what is empty
        if is_cut and place == len(items) - 1:
            arguments = f"{CUT}{arguments}"
        call = tool_call(call_id, text(function.get("name")), arguments)
        function |= {"name": safe_name(call.name), "arguments": json.dumps(call.arguments)}
        item |= {"id": call.id, "type": "function", "function": function}
        calls.append(call)
    message["tool_calls"] = items
    return tuple(calls)


def _uses(message: Json) -> list[Json]:
    """The calls, or the one call in the older form of the interface."""
    older = table(message.get("function_call"))
    return tables(message.get("tool_calls")) or ([{"function": older}] if older else [])


def _stop(stop: Stop, message: Json, calls: tuple[ToolCall, ...]) -> Stop:
    """Judge by content: several servers say `stop` with calls, or report calls that are missing.

    | finish reason       | with           | stop          |
    |---------------------|----------------|---------------|
    | any                 | a refusal text | refusal       |
    | an end, calls, or   | calls          | tool calls    |
    | none that is known  |                |               |
    | calls               | no call        | malformed     |
    | any other           |                | as reported   |
    """
    if text(message.get("refusal")):
        return "refusal"
    if stop in {"end", "tool_calls", "unknown"} and calls:
        return "tool_calls"
    return "malformed" if stop == "tool_calls" else stop


def _refusal(choice: Json, message: Json) -> str:
    """Return the refusal's own words, or that a filter cut the answer."""
    reason = text(choice.get("finish_reason"))
    said = (reason if reason == "content_filter" else "", text(message.get("refusal")))
    return "; ".join(filter(None, said))


def _said(message: Json) -> str:
    """The content is a text, a list of parts, or null."""
    content = message.get("content")
    parts = [text(part.get("text")) or text(part.get("refusal")) for part in tables(content)]
    return text(content) or "\n".join(parts) or text(message.get("refusal"))


def _raw(request: ModelRequest, message: Json) -> ProviderRaw:
    kept = {key: value for key, value in message.items() if value is not None and value != []}
    payload: JsonValue = {"model": _name(request), "message": clean_json({"content": ""} | kept)}
    return ProviderRaw(dialect="chat", payload=payload)


def _name(request: ModelRequest) -> str:
    return f"{request.model.provider}/{request.model.model}"


def _reported(provider: str, holder: Json) -> Reported | None:
    """Read an error that came with status 200: an object, a text, or (vLLM) the body itself."""
    error = holder if holder.get("object") == "error" else holder.get("error")
    if not error:
        return None
    return failure(provider, table(error) or {"message": error})


def failure(provider: str, error: Json) -> Reported:
    """Read a failure within an answer or a stream; one without a code is the server's."""
    code, kind = error.get("code"), text(error.get("type"))
    status = code if isinstance(code, int) and code in _REFUSALS else 200
    codes = {each for each in (text(code), kind) if each}
    return Reported(
        provider=provider,
        status=status,
        codes=frozenset(codes if codes or status in _REFUSALS else {"server_error"}),
        message=text(error.get("message")),
    )


# --- requests -------------------------------------------------------------------------------------


def _messages(request: ModelRequest, abilities: Abilities) -> list[Json]:
    messages: list[Json] = []
    if request.system.strip():
        messages.append({"role": abilities.system_role, "content": clean(request.system)})
    for index, message in enumerate(request.messages):
        if isinstance(message, UserMessage):
            _add_user(messages, clean(message.text).strip() or NO_OUTPUT)
        elif isinstance(message, AssistantMessage):
            following = request.messages[index + 1]
            results = following.results if isinstance(following, ToolMessage) else ()
            messages += _turn(message, results, _name(request), abilities)
    return messages


def _add_user(messages: list[Json], said: str) -> None:
    """Adjacent messages are joined, because templates want the roles to alternate."""
    if messages and messages[-1]["role"] == "user":
        said = f"{messages.pop()['content']}\n\n{said}"
    messages.append({"role": "user", "content": said})


def _turn(
    message: AssistantMessage, results: Sequence[ToolResult], name: str, abilities: Abilities
) -> list[Json]:
    """An answer and the results of its calls; one call at a time without parallel calls."""
    if raw := _replayed(message, name, abilities):
        return [raw, *(_result(result, result.call_id) for result in results)]
    answers = [_result(result, _strict_id(result.call_id)) for result in results]
    said = clean(message.text).strip()
    uses = [_use(call) for call in message.tool_calls]
    if not uses:
        return [{"role": "assistant", "content": said or NO_ANSWER}]
    first: Json = {"role": "assistant", "content": said or None}
    if abilities.parallel_tool_calls:
        return [first | {"tool_calls": uses}, *answers]
    silent: Json = {"role": "assistant", "content": None}
    opened = [first, *(silent for _ in uses[1:])]
    pairs = zip(opened, uses, answers, strict=True)
    return [each for head, use, answer in pairs for each in (head | {"tool_calls": [use]}, answer)]


def _replayed(message: AssistantMessage, name: str, abilities: Abilities) -> Json | None:
    """The model's own turn unchanged; None: another model's, or it must not be sent back."""
    raw = message.provider_raw
    if raw is None or raw.dialect != "chat" or not abilities.reasoning_replay:
        return None
    payload = table(raw.payload)
    said = table(payload.get("message"))
    is_empty = not (_said(said).strip() or said.get("tool_calls"))
    return None if payload.get("model") != name or is_empty else {**said, "role": "assistant"}


def _use(call: ToolCall) -> Json:
    function = {"name": safe_name(call.name), "arguments": json.dumps(call.arguments)}
    return {"id": _strict_id(call.id), "type": "function", "function": function}


def _strict_id(call_id: str) -> str:
    """Put a call's id in the only form that Mistral takes: nine letters and digits."""
    if _STRICT_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]


def _result(result: ToolResult, call_id: str) -> Json:
    """Results have no error flag, so the text reports errors."""
    output = clean(result.text) if result.text.strip() else NO_OUTPUT
    said = f"error: {output}" if result.is_error else output
    return {"role": "tool", "tool_call_id": call_id, "content": said}


def _usage(body: Json, message: Json, sent: Json) -> Usage:
    """Read the usage of one answer, which servers leave out, or fill in half.

    Args:
        body: the whole answer.
        message: the model's message, with its reasoning and calls.
        sent: the request's body.
    """
    usage = table(body.get("usage"))
    prompt, output = number(usage.get("prompt_tokens")), number(usage.get("completion_tokens"))
    # Some servers count reasoning only in the total.
    beyond = count(usage.get("total_tokens")) - prompt if prompt else 0
    details = table(usage.get("prompt_tokens_details"))
    said = {key: value for key, value in message.items() if value and key != "role"}
    counts = Counts(
        prompt=prompt,
        output=output if output is not None and output < 0 else max(output or 0, beyond),
        cached=_cached(usage, details),
        written=number(details.get("cache_write_tokens")) or 0,
    )
    return usage_of(counts, sent, said)


def _cached(usage: Json, details: Json) -> int:
    """OpenAI's field, or the older field of others (DeepSeek, Moonshot)."""
    found = (
        details.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    counts = [number(each) or 0 for each in found]
    return min(counts) if min(counts) < 0 else max(counts)
