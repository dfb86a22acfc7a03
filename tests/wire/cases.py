"""How each case of docs/models.md looks on a provider's wire: a playbook's turn or a raw answer."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from activities.adapters.models.simulator.simulator_app import RawAnswer
from tests.unit.activities.adapters.models.wire import PROVIDERS, streamed
from workflows.domain.agent.model_values import Provider


class Case(NamedTuple):
    """One thing that one provider may do."""

    name: str
    """As in docs/models.md."""
    provider: Provider
    turn: str = "{text: unused}"
    """What the simulator plays."""
    raw: RawAnswer | None = None
    """What the simulator says instead."""
    place: str = ""
    """Where in the stream."""
    special: str = ""
    """`nobody`: no server. `impatient`: a call of a short limit. `idle`: a short silence."""

    def __str__(self) -> str:
        """Name the case for pytest."""
        return "-".join(part for part in (self.provider, self.name, self.place) if part)


def _anthropic(status: int, kind: str, message: str = "no", **more: Any) -> RawAnswer:
    said = {"type": kind, "message": message} | more
    return RawAnswer(status, {"type": "error", "error": said})


def _openai(status: int, code: str | None, message: str = "no") -> RawAnswer:
    return RawAnswer(status, {"error": {"message": message, "type": "x", "code": code}})


def _google(status: int, kind: str, message: str = "no", *details: Any) -> RawAnswer:
    said = {"code": status, "status": kind, "message": message, "details": list(details)}
    return RawAnswer(status, {"error": said})


def _message(reason: Any) -> RawAnswer:
    body: Any = {"content": [{"type": "text", "text": "hi"}], "stop_reason": reason, "usage": {}}
    return RawAnswer(200, streamed("anthropic", body))


def _response(**body: Any) -> RawAnswer:
    return RawAnswer(200, streamed("openai", body | {"output": []}))


def _candidate(reason: str) -> RawAnswer:
    body = {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": reason}]}
    return RawAnswer(200, streamed("google", body))


_SUM = "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000"
_LIMIT = "You have reached your specified API usage limits."
_CLOSED = "This organization has been disabled."
_REGION = "User location is not supported for the API use."
_SCHEMA = "tools.12.custom.input_schema: JSON schema is invalid."
_REPLAY = "The `reasoning_content` in the thinking mode must be passed back to the API."
_SPENT = {"error_code": "contract_spend_limit_reached"}
_DAILY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
_TOO_LOW = "Your credit balance is too low to access the API."
_PAGE = "<html>It works!</html>"

RAW: Mapping[str, list[tuple[Provider, RawAnswer]]] = {
    "quota used up": [
        ("anthropic", _anthropic(429, "rate_limit_error", details=_SPENT)),
        ("openai", _openai(429, "billing_hard_limit_reached")),
        ("google", _google(429, "RESOURCE_EXHAUSTED", "see your plan and billing", _DAILY)),
    ],
    "not paid": [
        ("anthropic", _anthropic(400, "invalid_request_error", _TOO_LOW)),
        ("anthropic", _anthropic(402, "billing_error")),
        ("openai", _openai(429, "billing_not_active")),
        ("google", _google(400, "FAILED_PRECONDITION", "Please enable billing.")),
    ],
    "too much output": [
        ("anthropic", _anthropic(400, "invalid_request_error", _SUM)),
        ("local", _openai(400, None, "This model supports at most 4096 completion tokens")),
    ],
    "limit of the account": [("anthropic", _anthropic(400, "invalid_request_error", _LIMIT))],
    "account closed": [
        ("anthropic", _anthropic(400, "invalid_request_error", _CLOSED)),
        ("google", _google(400, "FAILED_PRECONDITION", _REGION)),
    ],
    "blocked request": [
        ("openai", _openai(400, "invalid_prompt")),
        ("local", _openai(400, "content_filter")),
    ],
    "model without access": [
        ("openai", _openai(403, "model_not_found")),
        ("openai", _openai(400, None, "Your organization must be verified to stream this model.")),
    ],
    "tools refused": [
        ("anthropic", _anthropic(400, "invalid_request_error", _SCHEMA)),
        ("openai", _openai(400, "invalid_function_parameters")),
        ("local", _openai(400, None, "gemma does not support tools")),
    ],
    "reasoning wanted back": [("local", _openai(400, "invalid_request_error", _REPLAY))],
    "server error": [
        ("anthropic", _anthropic(500, "api_error")),
        ("anthropic", RawAnswer(502, _PAGE)),
        ("openai", _openai(500, "server_error")),
        ("openai", RawAnswer(502, _PAGE)),
        ("google", _google(500, "INTERNAL")),
        ("google", RawAnswer(502, _PAGE)),
    ],
    "conflict": [
        ("anthropic", _anthropic(409, "conflict_error")),
        ("openai", _openai(409, None)),
        ("google", _google(409, "ABORTED")),
    ],
    "gateway time-out": [
        ("anthropic", _anthropic(504, "timeout_error")),
        ("openai", _openai(504, None)),
        ("google", _google(504, "DEADLINE_EXCEEDED")),
    ],
    "forbidden": [
        ("anthropic", _anthropic(403, "permission_error")),
        ("openai", _openai(403, "unsupported_country_region_territory")),
        ("google", _google(403, "PERMISSION_DENIED")),
    ],
    "request too large": [
        ("anthropic", _anthropic(413, "request_too_large")),
        ("openai", _openai(429, "rate_limit_exceeded", "Request too large for gpt on TPM")),
        ("google", _google(413, "INVALID_ARGUMENT")),
    ],
    "unknown model": [
        ("anthropic", _anthropic(404, "not_found_error", "model: nope")),
        ("openai", _openai(404, "model_not_found")),
        ("google", _google(404, "NOT_FOUND")),
    ],
    "redirect": [
        (name, RawAnswer(302, "", {"location": "https://example.invalid/"})) for name in PROVIDERS
    ],
    "no stream": [
        *[(name, RawAnswer(200, _PAGE)) for name in PROVIDERS],
        *[(name, RawAnswer(200, {"choices": [{"text": "rm -rf"}]})) for name in PROVIDERS],
    ],
    "window full": [("anthropic", _message("model_context_window_exceeded"))],
    "content filter": [
        (
            "openai",
            _response(status="incomplete", incomplete_details={"reason": "content_filter"}),
        )
    ],
    "blocked prompt": [
        ("google", RawAnswer(200, streamed("google", {"promptFeedback": {"blockReason": "x"}})))
    ],
    "missing signature": [("google", _candidate("MISSING_THOUGHT_SIGNATURE"))],
    "unknown stop": [
        ("anthropic", _message("brand_new")),
        ("google", _candidate("BRAND_NEW")),
    ],
    "no stop": [
        ("anthropic", _message(None)),
        ("openai", _response(status="cancelled")),
    ],
}

_CALLS = "calls: [{bash: {command: rm -rf /tmp/x}}]"
_SAID = f"text: I would now., {_CALLS}"

PLAYED: Mapping[str, tuple[str, tuple[Provider, ...]]] = {
    "rate limit": ("{error: {kind: rate_limited, retry_after: 7}}", PROVIDERS),
    "quota used up": ("{error: {kind: credit}}", PROVIDERS),
    "overload": ("{error: {kind: unavailable}}", PROVIDERS),
    "wrong key": ("{error: {kind: auth}}", PROVIDERS),
    "prompt too long": ("{error: {kind: context_overflow}}", PROVIDERS),
    "bad request": ("{error: {kind: invalid}}", PROVIDERS),
    "text": ("{text: Hello.}", PROVIDERS),
    "calls": (f"{{{_SAID}}}", PROVIDERS),
    "output limit": ("{text: so far, stop: truncated}", PROVIDERS),
    "refusal": ("{text: I will not, stop: refusal}", PROVIDERS),
    "pause": ("{text: wait, stop: pause}", ("anthropic",)),
    "malformed call": ("{calls: [{bash: 'no'}]}", ("google",)),
    "delay": ("{text: Hello there., chunk_latency_s: 0.002}", PROVIDERS),
}

_PLACES = ("start", "text", "arguments", "end")
EVENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "overload event, early": ("unavailable", ("start",)),
    "overload event, late": ("unavailable", ("text", "arguments", "end")),
    "rate limit event, early": ("rate_limited", ("start",)),
    "rate limit event, late": ("rate_limited", ("text",)),
    "key event": ("auth", ("start", "text")),
    "quota event": ("credit", ("start", "text")),
    "too long event": ("context_overflow", ("start",)),
    "cut": ("cut", _PLACES),
    "disconnect": ("disconnect", _PLACES),
    "corrupt": ("corrupt", _PLACES),
    "stall": ("stall", _PLACES),
}


def all_cases() -> list[Case]:
    """Every case, for every provider that has it."""
    cases = [
        Case(name, provider, raw=raw, place=str(number))
        for name, answers in RAW.items()
        for number, (provider, raw) in enumerate(answers)
    ]
    for name, (turn, providers) in PLAYED.items():
        cases += [Case(name, provider, turn) for provider in providers]
    for name, (kind, places) in EVENTS.items():
        for place in places:
            turn = f"{{{_SAID}, error: {{kind: {kind}, at: {place}}}}}"
            special = "idle" if kind == "stall" else ""
            cases += [Case(name, each, turn, None, place, special) for each in PROVIDERS]
    late = "{text: late, latency_s: 30}"
    cases += [Case("slow answer", each, late, special="impatient") for each in PROVIDERS]
    cases += [Case("no connection", each, special="nobody") for each in PROVIDERS]
    return cases
