"""The simulator's generateContent dialect: strict parsing, faithful wording."""

import base64
import binascii
from collections.abc import Mapping

from activities.adapters.models.dialects.gemini_content import FOREIGN_SIGNATURE
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
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Usage

_STOPS = {
    "end": "STOP",
    "tool_calls": "STOP",
    "truncated": "MAX_TOKENS",
    "refusal": "SAFETY",
    "pause": "STOP",
    "malformed": "MALFORMED_FUNCTION_CALL",
    "unknown": "FINISH_REASON_UNSPECIFIED",
}
_FAILURES: Mapping[ErrorKind, tuple[int, str, str]] = {
    "rate_limited": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota (billing)."),
    "unavailable": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "auth": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "credit": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota (billing)."),
    "context_overflow": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "invalid": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
}


class GeminiDialect:
    """`POST /v1/models/{model}:generateContent`; the model's id comes with the path."""

    name = "gemini"

    def key(self, headers: Mapping[str, str]) -> str:
        """See the protocol."""
        return headers.get("x-goog-api-key", "")

    def read(self, body: Json) -> WireRequest:
        """See the protocol."""
        reader = _Reader()
        for content in tables(body.get("contents")):
            reader.take(text(content.get("role")), tables(content.get("parts")))
        reader.finish()
        form = table(body.get("generationConfig"))
        schema = wanted_schema(body, form, "responseJsonSchema")
        schema = schema or wanted_schema(body, form, "responseSchema")
        return WireRequest("", reader.messages, reader.stamps, schema)

    def render(self, spoken: ScriptedAnswer, place: Place, request: WireRequest) -> Json:
        """See the protocol."""
        is_malformed = spoken.stop == "malformed" or any(
            not isinstance(call.arguments, dict) for call in spoken.calls
        )
        reason = "MALFORMED_FUNCTION_CALL" if is_malformed else _STOPS[spoken.stop]
        content: Json = {"role": "model"}
        candidate: Json = {"index": 0, "finishReason": reason, "content": content}
        if is_malformed:
            candidate["finishMessage"] = "Malformed function call"
        else:
            content["parts"] = _answer(spoken, place)
        return {
            "candidates": [candidate],
            "usageMetadata": _usage(spoken.usage),
            "modelVersion": request.model,
            "responseId": made_up_id("", place, 0),
        }

    def fail(self, error: ScriptedError, message: str) -> Failure:
        """See the protocol."""
        status, kind, words = _FAILURES[error.kind]
        details: list[Json] = []
        if error.retry_after is not None:
            wait = seconds(error.retry_after)
            delay = wait if isinstance(error.retry_after, str) else f"{wait}s"
            details.append({"@type": _TYPE + "RetryInfo", "retryDelay": delay})
        if error.kind in {"rate_limited", "credit"}:
            per = "PerDay" if error.kind == "credit" else "PerMinute"
            quota = {"quotaId": f"GenerateRequests{per}PerProjectPerModel"}
            details.append({"@type": _TYPE + "QuotaFailure", "violations": [quota]})
        if error.kind == "auth":
            details.append({"@type": _TYPE + "ErrorInfo", "reason": "API_KEY_INVALID"})
        said = {"code": status, "message": message or words, "status": kind, "details": details}
        return Failure(status, {"error": said})

    def limits(self, used: int) -> Mapping[str, str]:
        """See the protocol: Gemini sends none, whatever was used."""
        del used
        return {}


_TYPE = "type.googleapis.com/google.rpc."


class _Reader:
    """Reads contents in order and refuses what the real server refuses."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.stamps: list[tuple[int, str]] = []
        self._due: list[ToolCall] = []
        self._turns = 0

    def take(self, role: str, parts: list[Json]) -> None:
        require(parts, "contents.parts must not be empty.")
        for part in parts:
            is_empty = "text" in part and not text(part.get("text")).strip()
            require(
                not is_empty, "Unable to submit request because it has an empty text parameter."
            )
        if role == "model":
            self._take_model(parts)
        else:
            require(role == "user", f"Please use a valid role: user, model; not {role!r}.")
            self._take_user(parts)

    def finish(self) -> None:
        require(self.messages, "contents are required.")
        require(not self._due, _UNEQUAL)
        ends_with_model = isinstance(self.messages[-1], AssistantMessage)
        require(not ends_with_model, "Please ensure that the last turn is of the user role.")

    def _take_user(self, parts: list[Json]) -> None:
        answers = [table(p["functionResponse"]) for p in parts if "functionResponse" in p]
        due, self._due = self._due, []
        require(len(answers) == len(due), _UNEQUAL)
        for call, response in zip(due, answers, strict=True):
            require(
                text(response.get("name")) == call.name, "A function response has a wrong name."
            )
            is_same = text(response.get("id")) == ("" if call.id.startswith(_UNNAMED) else call.id)
            require(is_same, "A function response has a wrong id.")
        if answers:
            pairs = zip(due, answers, strict=True)
            self.messages.append(ToolMessage(results=tuple(_result(c, a) for c, a in pairs)))
        self.messages += [UserMessage(text=text(p["text"])) for p in parts if "text" in p]

    def _take_model(self, parts: list[Json]) -> None:
        require(not self._due, _UNEQUAL)
        uses = [part for part in parts if "functionCall" in part]
        if uses:
            name = text(table(uses[0]["functionCall"]).get("name"))
            message = f"Function call `{name}` is missing a `thought_signature`."
            require(uses[0].get("thoughtSignature"), message)
        for part in parts:
            self._take_signature(part)
        calls = [_call(table(part["functionCall"]), n) for n, part in enumerate(uses)]
        named = [call.id for call in calls if not call.id.startswith(_UNNAMED)]
        require(len(set(named)) == len(named), "Function call ids must be unique.")
        said = [text(p.get("text")) for p in parts if "text" in p and not p.get("thought")]
        self.messages.append(AssistantMessage(text="".join(said), tool_calls=tuple(calls)))
        self._due = calls
        self._turns += 1

    def _take_signature(self, part: Json) -> None:
        signature = text(part.get("thoughtSignature"))
        if signature and _bytes(signature) != _bytes(FOREIGN_SIGNATURE):
            canonical = base64.b64encode(_bytes(signature)).decode()
            content = text(table(part.get("functionCall")).get("name")) or text(part.get("text"))
            self.stamps.append((self._turns, check_stamp("gemini", canonical, content)))


_UNNAMED = "#"
_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)


def _bytes(signature: str) -> bytes:
    """The field is bytes in Google's types, so either alphabet of base64 works."""
    try:
        standard = signature.replace("-", "+").replace("_", "/")
        return base64.b64decode(standard, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError("Thought signature is not valid.") from None


def _call(use: Json, index: int) -> ToolCall:
    call_id = text(use.get("id")) or f"{_UNNAMED}{index}"
    return called(call_id, text(use.get("name")), use.get("args"))


def _result(call: ToolCall, answer: Json) -> ToolResult:
    response = table(answer.get("response"))
    said = text(response.get("output")) or text(response.get("error"))
    require(said.strip(), "A function response is empty.")
    is_error = "error" in response
    return ToolResult(call_id=call.id, name=call.name, text=said, is_error=is_error)


def _answer(spoken: ScriptedAnswer, place: Place) -> list[Json]:
    """The signature is on the first call or, without calls, on the last text."""
    parts: list[Json] = [{"text": thought_of(place), "thought": True}]
    if spoken.text:
        parts.append({"text": spoken.text})
    for call in spoken.calls:
        use: Json = {"name": call.name, "args": call.arguments}
        parts.append({"functionCall": use if call.id is None else {"id": call.id} | use})
    signed = next((part for part in parts if "functionCall" in part), parts[-1])
    content = text(table(signed.get("functionCall")).get("name")) or text(signed.get("text"))
    signed["thoughtSignature"] = stamp("gemini", place, content)
    return parts


def _usage(usage: Usage) -> Json:
    """Gemini counts thoughts separately from output."""
    thoughts = usage.output_tokens // 2
    return {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cached_input_tokens,
        "candidatesTokenCount": usage.output_tokens - thoughts,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }
