"""Answers that no simulator gives: each ends in the documented decision, none in a crash."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest

from activities.adapters.models.dialects.openai_responses import wire_request
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    InvalidRequestError,
    ModelError,
    ModelUnusableError,
    OutcomeUnknownError,
    PromptBlockedError,
    ProviderUnavailableError,
    RateLimitedError,
)
from tests.unit.activities.adapters.models.wire import KEY, OPENING, Handmade, ask, streamed
from workflows.domain.agent.agent_settings import Effort
from workflows.domain.agent.messages import (
    AssistantMessage,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Provider

Answer = tuple[int, Any]


def anthropic(status: int, kind: str, message: str = "m", **more: Any) -> Answer:
    return status, {"type": "error", "error": {"type": kind, "message": message} | more}


def openai(status: int, code: str | None, message: str = "m", kind: str = "x") -> Answer:
    said = {"message": message, "type": kind, "code": code, "param": None}
    return status, {"error": said}


def google(status: int, kind: str, message: str = "m", *details: Any) -> Answer:
    said = {"code": status, "status": kind, "message": message, "details": list(details)}
    return status, {"error": said}


def said(reason: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "hi"}], "stop_reason": reason, "usage": {}}


def stopped(reason: Any) -> Answer:
    return 200, streamed("anthropic", said(reason))


def responded(**body: Any) -> Answer:
    return 200, streamed("openai", body)


def candidate(reason: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": reason}]}


def finished(reason: Any) -> Answer:
    return 200, streamed("google", candidate(reason))


def failed(code: str) -> Answer:
    return responded(status="failed", error={"code": code, "message": "m"}, output=[])


DAILY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
SPENT = "Your credit balance is too low to access the API."

CASES: list[tuple[Provider, Answer, type[ModelError]]] = [
    ("anthropic", anthropic(400, "invalid_request_error", SPENT), CreditExhaustedError),
    ("anthropic", anthropic(402, "billing_error"), CreditExhaustedError),
    (
        "anthropic",
        anthropic(429, "rate_limit_error", details={"error_code": "contract_spend_limit_reached"}),
        CreditExhaustedError,
    ),
    ("anthropic", anthropic(403, "permission_error"), AuthenticationFailedError),
    ("anthropic", anthropic(404, "not_found_error", "model: nope"), ModelUnusableError),
    ("anthropic", anthropic(413, "request_too_large"), ContextOverflowError),
    ("anthropic", anthropic(500, "api_error"), ProviderUnavailableError),
    ("anthropic", anthropic(504, "timeout_error"), OutcomeUnknownError),
    ("anthropic", anthropic(409, "conflict_error"), ProviderUnavailableError),
    ("anthropic", (502, "<html>Bad gateway, billing</html>"), ProviderUnavailableError),
    ("anthropic", (200, "<html>Welcome</html>"), OutcomeUnknownError),
    ("anthropic", (200, '{"content": [{"type": "te'), OutcomeUnknownError),
    ("anthropic", (200, []), OutcomeUnknownError),
    ("anthropic", (200, {}), OutcomeUnknownError),
    ("anthropic", stopped(None), OutcomeUnknownError),
    ("anthropic", (302, ""), ModelUnusableError),
    ("openai", openai(429, "billing_hard_limit_reached"), CreditExhaustedError),
    ("openai", openai(429, None, kind="insufficient_quota"), CreditExhaustedError),
    ("openai", openai(429, "rate_limit_exceeded", "Request too large"), ContextOverflowError),
    ("openai", openai(403, "unsupported_country_region_territory"), AuthenticationFailedError),
    ("openai", openai(404, "model_not_found"), ModelUnusableError),
    ("openai", openai(422, None), InvalidRequestError),
    ("openai", openai(500, "server_error"), ProviderUnavailableError),
    ("openai", openai(504, None), OutcomeUnknownError),
    ("openai", (503, "no upstream"), ProviderUnavailableError),
    ("openai", (200, "{"), OutcomeUnknownError),
    ("openai", (200, {"status": "completed", "output": []}), OutcomeUnknownError),
    ("openai", responded(status="in_progress", output=[]), OutcomeUnknownError),
    ("openai", responded(status="cancelled", output=[]), OutcomeUnknownError),
    ("openai", responded(output=[]), OutcomeUnknownError),
    ("openai", failed("server_error"), ProviderUnavailableError),
    ("openai", failed("rate_limit_exceeded"), RateLimitedError),
    ("openai", failed("invalid_prompt"), PromptBlockedError),
    ("openai", responded(status="failed", output=None), ProviderUnavailableError),
    ("google", google(403, "PERMISSION_DENIED"), AuthenticationFailedError),
    ("google", google(401, "UNAUTHENTICATED"), AuthenticationFailedError),
    ("google", google(404, "NOT_FOUND"), ModelUnusableError),
    ("google", google(429, "RESOURCE_EXHAUSTED", "billing", DAILY), CreditExhaustedError),
    ("google", google(429, "RESOURCE_EXHAUSTED", "plan and billing"), RateLimitedError),
    ("google", google(400, "FAILED_PRECONDITION", "enable billing"), CreditExhaustedError),
    ("google", google(500, "INTERNAL"), ProviderUnavailableError),
    ("google", google(504, "DEADLINE_EXCEEDED"), OutcomeUnknownError),
    ("google", (200, [google(503, "UNAVAILABLE")[1]]), OutcomeUnknownError),
    ("google", (503, [google(503, "UNAVAILABLE")[1]]), ProviderUnavailableError),
    ("google", (502, "<html>"), ProviderUnavailableError),
    ("google", (200, "<html>"), OutcomeUnknownError),
    ("google", (200, {}), OutcomeUnknownError),
    ("google", finished(None), OutcomeUnknownError),
    ("google", finished("MISSING_THOUGHT_SIGNATURE"), InvalidRequestError),
]


pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="session")
def handmade() -> Handmade:
    return Handmade()


def answer(status: int, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, str) else json.dumps(body)
    return httpx2.Response(status, content=content, headers=headers)


def whole(name: Provider, body: Any) -> httpx2.Response:
    return answer(200, streamed(name, body))


@pytest.mark.parametrize(("name", "given", "expected"), CASES)
async def test_each_answer_has_its_decision(
    handmade: Handmade, name: Provider, given: Answer, expected: type[ModelError]
) -> None:
    asked: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return answer(*given)

    with pytest.raises(ModelError) as caught:
        await handmade.call(name, respond)
    assert type(caught.value) is expected
    assert len(asked) == 1, "the SDK must not retry"


@pytest.mark.parametrize("name", ["anthropic", "openai", "local"])
@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after-ms": "250"}, 0.25, 0.25),
        (
            {"retry-after": format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)},
            3600,  # computed when the tests are collected, perhaps long before
            7200,
        ),
        ({"retry-after": "30", "retry-after-ms": "nonsense"}, 30, 30),
    ],
)
async def test_more_ways_to_ask_for_a_wait(
    handmade: Handmade, name: Provider, headers: dict[str, str], low: float, high: float
) -> None:
    """Field report R13."""

    def respond(_: httpx2.Request) -> httpx2.Response:
        return answer(429, {"error": {"type": "rate_limit_error"}}, **headers)

    with pytest.raises(RateLimitedError) as caught:
        await handmade.call(name, respond)
    assert caught.value.retry_after is not None
    assert low <= caught.value.retry_after.total_seconds() <= high


FAULTS = [
    (httpx2.ConnectError, ProviderUnavailableError),
    (httpx2.ConnectTimeout, ProviderUnavailableError),
    (httpx2.PoolTimeout, ProviderUnavailableError),
    (httpx2.ProxyError, ProviderUnavailableError),
    (httpx2.UnsupportedProtocol, ModelUnusableError),
    (httpx2.LocalProtocolError, ModelUnusableError),
    (httpx2.ReadError, OutcomeUnknownError),
    (httpx2.ReadTimeout, OutcomeUnknownError),
    (httpx2.WriteError, OutcomeUnknownError),
    (httpx2.WriteTimeout, OutcomeUnknownError),
    (httpx2.RemoteProtocolError, OutcomeUnknownError),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS)
async def test_a_fault_of_the_transport(
    handmade: Handmade, provider: Provider, fault: type[Exception], expected: type[ModelError]
) -> None:
    def respond(_: httpx2.Request) -> httpx2.Response:
        raise fault(f"with {KEY} in it")

    with pytest.raises(ModelError) as caught:
        await handmade.call(provider, respond)
    assert type(caught.value) is expected
    assert KEY not in str(caught.value)
    assert fault.__name__ in str(caught.value)


async def test_a_provider_that_repeats_the_key_is_not_repeated(
    handmade: Handmade, provider: Provider
) -> None:
    words = f"Incorrect API key provided: {KEY}, or sk-ant-api03-abcdefgh, or AIzaSyABCDEFGHIJ"

    def respond(_: httpx2.Request) -> httpx2.Response:
        said = {"type": "authentication_error", "message": words, "code": 401}
        return answer(401, {"type": "error", "error": said})

    with pytest.raises(AuthenticationFailedError) as caught:
        await handmade.call(provider, respond)
    shown = str(caught.value)
    assert shown.count("[key]") == 3
    assert all(part not in shown for part in (KEY, "abcdefgh", "ABCDEFGHIJ"))


WHOLE: dict[Provider, Any] = {
    "anthropic": said("end_turn"),
    "openai": {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}],
    },
    "google": candidate("STOP"),
    "local": {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]},
}


async def sent(
    handmade: Handmade, name: Provider, *messages: Any, effort: Effort | None = None
) -> dict[str, Any]:
    """What the SDK writes on the wire for a conversation."""
    bodies: list[dict[str, Any]] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return whole(name, WHOLE[name])

    reply = await handmade.call(name, respond, *messages, effort=effort)
    assert reply.message.text == "hi"
    assert not reply.scripted
    return bodies[0]


async def test_what_anthropic_is_sent(handmade: Handmade) -> None:
    body = await sent(handmade, "anthropic")
    assert body["model"] == "simulated-1"
    assert body["max_tokens"] == 4_000
    assert body["cache_control"] == {"type": "ephemeral"}
    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert body["tools"][0]["input_schema"]["required"] == ["command"]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": OPENING.text}]}
    ]


async def test_what_openai_is_sent(handmade: Handmade) -> None:
    body = await sent(handmade, "openai")
    assert (body["store"], body["prompt_cache_key"]) == (False, "agent-1")
    assert body["include"] == ["reasoning.encrypted_content"]
    assert (body["instructions"], body["max_output_tokens"]) == ("You are careful.", 4_000)
    assert body["tools"][0]["name"] == "bash"
    assert body["input"] == [{"role": "user", "content": OPENING.text}]


@pytest.mark.parametrize(
    ("name", "place", "said"),
    [
        ("anthropic", "output_config", {"effort": "xhigh"}),
        ("openai", "reasoning", {"effort": "xhigh"}),
        (
            "google",
            "generationConfig",
            {"maxOutputTokens": 4_000, "thinkingConfig": {"thinkingLevel": "XHIGH"}},
        ),
        ("local", "reasoning_effort", "xhigh"),
    ],
)
async def test_every_provider_is_sent_the_effort(
    handmade: Handmade, name: Provider, place: str, said: object
) -> None:
    assert (await sent(handmade, name, effort="xhigh"))[place] == said


async def test_a_long_name_of_an_agent_makes_a_key_that_openai_takes() -> None:
    longest = f"01JDXA0000000000000000000A/review.{'t' * 63}.999.999"
    keys = [
        wire_request(ask("openai").model_copy(update={"cache_key": key}))["prompt_cache_key"]
        for key in (longest, longest, longest + "9")
    ]
    assert [len(str(key)) for key in keys] == [64] * 3
    assert (keys[0] == keys[1], keys[0] == keys[2]) == (True, False)


async def test_what_google_is_sent(handmade: Handmade) -> None:
    body = await sent(handmade, "google")
    assert body["generationConfig"] == {"maxOutputTokens": 4_000}
    assert body["systemInstruction"]["parts"] == [{"text": "You are careful."}]
    declared = body["tools"][0]["functionDeclarations"][0]
    assert declared["parametersJsonSchema"]["required"] == ["command"]
    assert body["contents"] == [{"role": "user", "parts": [{"text": OPENING.text}]}]


async def test_results_open_the_message_after_their_calls(handmade: Handmade) -> None:
    calls = (
        ToolCall(id="a", name="weird name!", arguments={"old_string": 1, "oldString": 2}),
        ToolCall(id="b", name="bash", arguments={}),
    )
    results = (
        ToolResult(call_id="a", name="weird name!", text="no such tool", is_error=True),
        ToolResult(call_id="b", name="bash", text="ok"),
    )
    conversation = (
        OPENING,
        AssistantMessage(text="I try.", tool_calls=calls),
        ToolMessage(results=results),
        UserMessage(text="Hurry."),
    )
    blocks = (await sent(handmade, "anthropic", *conversation))["messages"][2]["content"]
    assert [block["type"] for block in blocks] == ["tool_result", "tool_result", "text"]
    assert blocks[0]["is_error"] is True
    items = (await sent(handmade, "openai", *conversation))["input"]
    assert items[4] == {
        "type": "function_call_output",
        "call_id": "a",
        "output": "error: no such tool",
    }
    contents = (await sent(handmade, "google", *conversation))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    use = contents[1]["parts"][1]["functionCall"]
    assert use == {"name": "weird_name_", "args": {"old_string": 1, "oldString": 2}}
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"error": "no such tool"}


@pytest.mark.parametrize(
    "payload",
    [
        {"content": "text", "stop_reason": "end_turn"},
        {"content": [None, 1, {"type": 3}], "stop_reason": "end_turn", "usage": [1]},
        {"content": None, "stop_reason": "end_turn", "usage": {"input_tokens": "5"}},
    ],
)
async def test_an_answer_of_odd_shape_is_an_empty_one(
    handmade: Handmade, payload: dict[str, Any]
) -> None:
    def respond(_: httpx2.Request) -> httpx2.Response:
        return whole("anthropic", payload)

    reply = await handmade.call("anthropic", respond)
    assert reply.message.text == ""
    assert reply.usage.is_estimated, "it must not count as nothing"


async def test_reasoning_that_could_not_be_sent_back_is_dropped(handmade: Handmade) -> None:
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "hm"}]},
        {"type": "reasoning", "id": "rs_2", "encrypted_content": "x", "summary": []},
    ]

    def respond(_: httpx2.Request) -> httpx2.Response:
        return whole("openai", {"status": "completed", "output": output})

    reply = await handmade.call("openai", respond)
    assert reply.message.provider_raw is not None
    assert reply.message.provider_raw.payload == [output[1]]


async def test_a_blocked_prompt_is_a_refusal(handmade: Handmade) -> None:
    def respond(_: httpx2.Request) -> httpx2.Response:
        return whole("google", {"promptFeedback": {"blockReason": "SAFETY"}})

    assert (await handmade.call("google", respond)).stop == "refusal"
