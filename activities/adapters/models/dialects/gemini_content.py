"""Gemini's generateContent dialect: neutral requests to its JSON, its answers back to replies.

Pure translation of plain JSON; `gemini.py` handles the SDK. Parts with their thought signatures
travel in `provider_raw` exactly as they came. Calls here often have no id: results then match
calls by their order, and the neutral id is never sent.
"""

import base64
from collections.abc import Sequence

from pydantic import JsonValue

from activities.adapters.models.dialects.neutral_messages import (
    NO_ANSWER,
    NO_OUTPUT,
    safe_name,
    tool_call,
    unique_ids,
)
from activities.adapters.models.dialects.token_counts import Counts, number, usage_of
from activities.ports.model_provider import (
    InvalidRequestError,
    ModelReply,
    ModelRequest,
    OutcomeUnknownError,
    Stop,
)
from activities.text.foreign_json import Json, is_table, table, tables, text
from activities.text.surrogates import clean, clean_json
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ProviderRaw,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from workflows.domain.agent.model_values import Usage
from workflows.policy.money.call_cost import cost_usd

FOREIGN_SIGNATURE = base64.b64encode(b"skip_thought_signature_validator").decode()
"""Put on calls that another provider's model made (Google's documented value); without one the
request is refused."""

_STOPS: dict[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "truncated",
    "CONTINUATION": "truncated",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "MALFORMED_RESPONSE": "malformed",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "TOO_MANY_TOOL_CALLS": "malformed",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "ESCALATION": "refusal",
    "PUP_LIMITED_DISABLED": "refusal",
    "OTHER": "refusal",
}


def wire_request(request: ModelRequest) -> Json:
    """Translate a request to the JSON body of `generateContent`."""
    longest = min(request.max_output_tokens, request.model.max_output_tokens)
    settings: Json = {"maxOutputTokens": longest}
    if request.effort is not None:
        settings["thinkingConfig"] = {"thinkingLevel": request.effort.upper()}
    body: Json = {"contents": _contents(request.messages), "generationConfig": settings}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": clean(request.system)}]}
    if request.tools:
        declarations = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool.parameters,
            }
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declarations}]
    return body


def read_reply(request: ModelRequest, body: Json) -> ModelReply:
    """Translate the JSON of a whole answer.

    Raises:
        InvalidRequestError: the request lacked a thought signature.
        OutcomeUnknownError: it has neither parts nor a known finish reason: it is incomplete.
    """
    candidate = next(iter(tables(body.get("candidates"))), Json())
    content = table(candidate.get("content"))
    parts = [part for part in tables(content.get("parts")) if not _is_empty(part)]
    stop = _stop_of(body, candidate, parts)
    calls = _take_calls(parts, request.messages)
    usage = _usage(table(body.get("usageMetadata")), wire_request(request), parts)
    payload: list[JsonValue] = [clean_json(part) for part in parts]
    said = [text(part.get("text")) for part in parts if not part.get("thought")]
    return ModelReply(
        message=AssistantMessage(
            text=clean("".join(said)),
            tool_calls=calls,
            provider_raw=ProviderRaw(dialect="gemini", payload=payload),
        ),
        stop="tool_calls" if calls and stop in {"end", "unknown"} else stop,
        refusal=_refusal(body, candidate) if stop == "refusal" else "",
        usage=usage,
        cost_usd=cost_usd(request.model.prices, usage),
        scripted=body.get("simulated") is True,
    )


def _take_calls(parts: list[Json], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Read the calls; an id that was sent is also made unique there, but none is added."""
    holders = [part for part in parts if "functionCall" in part]
    uses = [dict(table(part["functionCall"])) for part in holders]
    ids = unique_ids((text(use.get("id")) for use in uses), messages)
    calls: list[ToolCall] = []
    for call_id, part, use in zip(ids, holders, uses, strict=True):
        arguments = use.get("args")
        call = tool_call(call_id, text(use.get("name")), {} if arguments is None else arguments)
        calls.append(call)
        if use.get("name") != safe_name(call.name):
            use["name"] = safe_name(call.name)
            # The signature was for the name that Google would refuse.
            part["thoughtSignature"] = FOREIGN_SIGNATURE
        if arguments is not None and not is_table(arguments):
            use["args"] = call.arguments
        if use.get("id"):
            use["id"] = call_id
        part["functionCall"] = use
    return tuple(calls)


def _stop_of(body: Json, candidate: Json, parts: list[Json]) -> Stop:
    reason = candidate.get("finishReason")
    if reason is None and table(body.get("promptFeedback")).get("blockReason"):
        return "refusal"
    if reason == "MISSING_THOUGHT_SIGNATURE":
        raise InvalidRequestError("google: a thought signature is missing in the conversation")
    has_calls = any("functionCall" in part for part in parts)
    stop = _STOPS.get(str(reason), "unknown")
    if stop == "unknown" and not (has_calls or (reason and parts)):
        raise OutcomeUnknownError(f"the answer ends without a known reason: {reason!r}")
    return "unknown" if reason == "OTHER" and has_calls else stop


def _contents(messages: tuple[Message, ...]) -> list[Json]:
    contents: list[tuple[str, list[Json]]] = []
    before: AssistantMessage | None = None
    for message in messages:
        role = "model" if isinstance(message, AssistantMessage) else "user"
        parts = _parts(message, before)
        if isinstance(message, AssistantMessage):
            before = message
        if not contents or contents[-1][0] != role:
            contents.append((role, []))
        contents[-1][1].extend(parts)
    return [{"role": role, "parts": parts} for role, parts in contents]


def _parts(message: Message, before: AssistantMessage | None) -> list[Json]:
    if isinstance(message, UserMessage):
        return [{"text": clean(message.text).strip() or NO_OUTPUT}]
    if isinstance(message, ToolMessage):
        return _results(message, before)
    return _own_parts(message) or _rebuilt(message)


def _own_parts(message: AssistantMessage) -> list[Json]:
    raw = message.provider_raw
    return tables(raw.payload) if raw is not None and raw.dialect == "gemini" else []


def _rebuilt(message: AssistantMessage) -> list[Json]:
    parts: list[Json] = []
    if message.text.strip() or not message.tool_calls:
        parts.append({"text": clean(message.text).strip() or NO_ANSWER})
    for index, call in enumerate(message.tool_calls):
        part: Json = {"functionCall": {"name": safe_name(call.name), "args": call.arguments}}
        parts.append(part | {"thoughtSignature": FOREIGN_SIGNATURE} if index == 0 else part)
    return parts


def _results(message: ToolMessage, before: AssistantMessage | None) -> list[Json]:
    """Give each result the name, and the id if any, that its call had in the provider's form."""
    own = _own_parts(before) if before is not None else []
    uses = [table(part["functionCall"]) for part in own if "functionCall" in part]
    parts: list[Json] = []
    for index, result in enumerate(message.results):
        output = clean(result.text) if result.text.strip() else NO_OUTPUT
        answer: Json = {"name": safe_name(result.name)}
        if index < len(uses):
            answer = {key: uses[index][key] for key in ("id", "name") if uses[index].get(key)}
        answer["response"] = {"error" if result.is_error else "output": output}
        parts.append({"functionResponse": answer})
    return parts


def _usage(usage: Json, sent: Json, said: list[Json]) -> Usage:
    """Gemini's output excludes thoughts, its prompt tool content; `Usage` includes both."""
    counts = Counts(
        prompt=_sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        output=_sum(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        cached=number(usage.get("cachedContentTokenCount")) or 0,
    )
    return usage_of(counts, sent, said)


def _sum(usage: Json, *names: str) -> int | None:
    """Add counts up; None if one is negative. What is zero is left out in Google's JSON."""
    counts = [number(usage.get(name)) or 0 for name in names]
    return None if min(counts) < 0 or not usage else sum(counts)


def _refusal(body: Json, candidate: Json) -> str:
    """Return why the prompt was blocked or the answer stopped, and the words for it."""
    prompt = table(body.get("promptFeedback"))
    reasons = (prompt.get("blockReason"), candidate.get("finishReason"))
    words = (prompt.get("blockReasonMessage"), candidate.get("finishMessage"))
    return ": ".join(filter(None, map(text, (*reasons, *words))))


def _is_empty(part: Json) -> bool:
    """Say whether Google would refuse a part: a blank text, even with a signature."""
    is_text = set(part) <= {"text", "thought", "thoughtSignature"}
    return is_text and not text(part.get("text")).strip()


class ContentAssembly:
    """One streamed answer; implements `activities.adapters.models.streams.Assembly`.

    Each chunk is a small answer. Adjacent texts are joined, except one that carries a signature,
    which must be sent back on the same part. The chunk with a finish reason, or with the reason
    why the prompt was blocked, is the last.
    """

    def __init__(self) -> None:
        self.is_whole = False
        self.has_begun = False
        self._body: Json = {}
        self._candidate: Json = {}
        self._parts: list[Json] = []

    def take(self, event: Json) -> None:
        """See the protocol."""
        candidate = next(iter(tables(event.get("candidates"))), Json())
        for part in tables(table(candidate.get("content")).get("parts")):
            self._add(part)
        self.has_begun = bool(self._parts)
        self._body |= event
        self._candidate |= candidate
        is_blocked = table(event.get("promptFeedback")).get("blockReason")
        self.is_whole = bool(candidate.get("finishReason") or is_blocked)

    def body(self) -> Json:
        """See the protocol."""
        content = {"role": "model", "parts": self._parts}
        candidates = [self._candidate | {"content": content}] if self._candidate else []
        return self._body | {"candidates": candidates}

    def _add(self, part: Json) -> None:
        if _is_plain(part) and not part["text"]:
            return  # the last chunk has one with its reason
        last = self._parts[-1] if self._parts else Json()
        if _is_plain(part) and _is_plain(last) and part.get("thought") == last.get("thought"):
            last["text"] = text(last["text"]) + text(part["text"])
        else:
            self._parts.append(part)


def _is_plain(part: Json) -> bool:
    return "text" in part and set(part) <= {"text", "thought"}
