"""Chat Completions as servers really speak it: abilities, omissions, duplicates, oddities."""

import json
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from activities.ports.endpoints import Abilities
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    InvalidRequestError,
    ModelError,
    ModelReply,
    ModelUnusableError,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
    Stop,
)
from tests.unit.activities.adapters.models.wire import OPENING, Handmade
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

pytestmark = pytest.mark.asyncio(loop_scope="session")

TWO = AssistantMessage(
    text="I look.",
    tool_calls=(
        ToolCall(id="a", name="weird name!", arguments={"x": 1}),
        ToolCall(id="b", name="bash", arguments={}),
    ),
)
RESULTS = ToolMessage(
    results=(
        ToolResult(call_id="a", name="weird name!", text="no such tool", is_error=True),
        ToolResult(call_id="b", name="bash", text="ok"),
    )
)


@pytest.fixture(scope="module")
def handmade() -> Handmade:
    return Handmade()


def whole(message: Any, reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": reason}], **more}


async def ask(
    handmade: Handmade,
    answer: Any,
    *messages: Message,
    status: int = 200,
    abilities: Abilities | None = None,
) -> tuple[ModelReply, dict[str, Any]]:
    """The reply, and the body that was sent."""
    bodies: list[dict[str, Any]] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        headers = {"content-type": "application/json"}
        return httpx2.Response(status, content=json.dumps(answer), headers=headers)

    handmade.declare(abilities or Abilities())
    reply = await handmade.call("local", respond, *messages)
    return reply, bodies[0]


async def sent(handmade: Handmade, abilities: Abilities, *messages: Message) -> dict[str, Any]:
    return (await ask(handmade, whole({"content": "hi"}), *messages, abilities=abilities))[1]


# --- requests -------------------------------------------------------------------------------------


async def test_what_is_sent_where_nothing_is_declared(handmade: Handmade) -> None:
    body = await sent(handmade, Abilities())
    streamed = {"stream", "stream_options"}
    said = {"model", "messages", "max_tokens", "tools", "parallel_tool_calls"}
    assert set(body) == said | streamed
    assert set(await sent(handmade, Abilities(streaming=False))) == said
    assert (body["model"], body["max_tokens"]) == ("simulated-1", 4_000)
    assert body["parallel_tool_calls"] is True
    assert body["tools"][0]["function"]["parameters"]["required"] == ["command"]
    assert body["messages"] == [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": OPENING.text},
    ]


async def test_what_is_sent_where_all_is_declared(handmade: Handmade) -> None:
    abilities = Abilities(
        parallel_tool_calls=False,
        system_role="developer",
        reasoning_effort="high",
        max_output_field="max_completion_tokens",
        prompt_caching=True,
    )
    body = await sent(handmade, abilities)
    assert body["messages"][0]["role"] == "developer"
    assert (body["reasoning_effort"], body["prompt_cache_key"]) == ("high", "agent-1")
    assert body["max_completion_tokens"] == 4_000
    assert not {"max_tokens", "parallel_tool_calls"} & set(body)


async def test_instructions_open_the_first_message_where_there_is_no_role_for_them(
    handmade: Handmade,
) -> None:
    body = await sent(handmade, Abilities(system_role="user"), OPENING, UserMessage(text="Hurry."))
    said = f"You are careful.\n\n{OPENING.text}\n\nHurry."
    assert body["messages"] == [{"role": "user", "content": said}]


async def test_a_server_without_tools_is_not_asked(handmade: Handmade) -> None:
    with pytest.raises(ModelUnusableError, match="'local' is declared to know no tool calls"):
        await sent(handmade, Abilities(tool_calls=False))


STRICT_IDS = {"a": "ca978112c", "b": "3e23e8160"}
"""Nine letters and digits, which Mistral demands."""


async def test_calls_and_results(handmade: Handmade) -> None:
    first, second = [
        {
            "id": STRICT_IDS["a"],
            "type": "function",
            "function": {"name": "weird_name_", "arguments": '{"x": 1}'},
        },
        {
            "id": STRICT_IDS["b"],
            "type": "function",
            "function": {"name": "bash", "arguments": "{}"},
        },
    ]
    answers = [
        {"role": "tool", "tool_call_id": STRICT_IDS["a"], "content": "error: no such tool"},
        {"role": "tool", "tool_call_id": STRICT_IDS["b"], "content": "ok"},
    ]
    said = {"role": "assistant", "content": "I look."}
    at_once = (await sent(handmade, Abilities(), OPENING, TWO, RESULTS))["messages"][2:]
    assert at_once == [said | {"tool_calls": [first, second]}, *answers]
    one_by_one = await sent(handmade, Abilities(parallel_tool_calls=False), OPENING, TWO, RESULTS)
    assert one_by_one["messages"][2:] == [
        said | {"tool_calls": [first]},
        answers[0],
        {"role": "assistant", "content": None, "tool_calls": [second]},
        answers[1],
    ]


THOUGHTFUL = {
    "role": "assistant",
    "content": None,
    "refusal": None,
    "reasoning_content": "Hm.",
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}, "x": 1}
    ],
}


@pytest.mark.parametrize("is_kept", [True, False])
async def test_reasoning_goes_back_only_where_it_is_wanted(
    handmade: Handmade, is_kept: bool
) -> None:
    abilities = Abilities(reasoning_replay=is_kept)
    reply, _ = await ask(handmade, whole(THOUGHTFUL, "tool_calls"), abilities=abilities)
    done = ToolMessage(results=(ToolResult(call_id="a", name="bash", text="ok"),))
    back = (await sent(handmade, abilities, OPENING, reply.message, done))["messages"][2]
    assert back.pop("content") in {None, ""}
    kept = {key: value for key, value in THOUGHTFUL.items() if value is not None}
    use = {
        "id": STRICT_IDS["a"],
        "type": "function",
        "function": {"name": "bash", "arguments": "{}"},
    }
    assert back == (kept if is_kept else {"role": "assistant", "tool_calls": [use]})


async def test_the_turn_of_another_model_is_put_in_our_own_words(handmade: Handmade) -> None:
    message = {"content": "Theirs.", "reasoning_content": "Hm."}
    for name in ("local/other", "elsewhere/simulated-1"):
        raw = ProviderRaw(dialect="chat", payload={"model": name, "message": {**message}})
        said = AssistantMessage(text="Theirs.", provider_raw=raw)
        abilities = Abilities(reasoning_replay=True)
        body = await sent(handmade, abilities, OPENING, said, UserMessage(text="Go on."))
        assert body["messages"][2] == {"role": "assistant", "content": "Theirs."}


# --- answers --------------------------------------------------------------------------------------

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("message", "reason", "stop", "text"),
    [
        ({"content": "hi"}, "stop", "end", "hi"),
        ({"content": "hi"}, "eos_token", "end", "hi"),
        ({"content": None}, "stop", "end", ""),
        (None, "stop", "end", ""),
        ({"content": [{"type": "text", "text": "a"}, {"text": "b"}]}, "stop", "end", "a\nb"),
        ({"content": "hi"}, "length", "truncated", "hi"),
        ({"content": ""}, "content_filter", "refusal", ""),
        ({"content": None, "refusal": "No."}, "stop", "refusal", "No."),
        ({"content": None, "tool_calls": [CALL]}, "tool_calls", "tool_calls", ""),
        ({"content": "", "tool_calls": [CALL]}, "stop", "tool_calls", ""),
        ({"content": "<tool>", "tool_calls": []}, "tool_calls", "malformed", "<tool>"),
        ({"content": "<tool>", "tool_calls": None}, "tool_calls", "malformed", "<tool>"),
    ],
)
async def test_what_an_answer_says(
    handmade: Handmade, message: Any, reason: str, stop: Stop, text: str
) -> None:
    reply, _ = await ask(handmade, whole(message, reason))
    assert (reply.stop, reply.message.text) == (stop, text)
    assert len(reply.message.tool_calls) == (stop == "tool_calls")


@pytest.mark.parametrize(
    ("function", "arguments", "malformed"),
    [
        ({"name": "bash", "arguments": '{"command": "ls"}'}, {"command": "ls"}, None),
        ({"name": "bash", "arguments": {"command": "ls"}}, {"command": "ls"}, None),
        ({"name": "bash", "arguments": ""}, {}, None),
        ({"name": "bash"}, {}, None),
        ({"name": "bash", "arguments": None}, {}, None),
        ({"name": "bash", "arguments": "null"}, {}, "null"),
        ({"name": "bash", "arguments": '{"command": '}, {}, '{"command": '),
    ],
)
async def test_arguments_of_any_form(
    handmade: Handmade, function: Any, arguments: Any, malformed: str | None
) -> None:
    item = {"id": "c1", "function": function}
    reply, _ = await ask(handmade, whole({"tool_calls": [item]}, "tool_calls"))
    (call,) = reply.message.tool_calls
    assert (call.arguments, call.malformed) == (arguments, malformed)


@pytest.mark.parametrize("ids", [("a", "a"), ("", ""), (None, None), ("x", "y")])
async def test_ids_are_unique_in_the_whole_conversation(
    handmade: Handmade, ids: tuple[str | None, str | None]
) -> None:
    items = [CALL | {"id": call_id} for call_id in ids]
    reply, _ = await ask(
        handmade, whole({"tool_calls": items}, "tool_calls"), OPENING, TWO, RESULTS
    )
    found = {call.id for call in (*TWO.tool_calls, *reply.message.tool_calls)}
    assert len(found) == 4


COUNTED = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (COUNTED, Usage(input_tokens=100, output_tokens=20)),
        (
            COUNTED | {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10}},
            Usage(
                input_tokens=100, cached_input_tokens=60, cache_write_tokens=10, output_tokens=20
            ),
        ),
        (
            COUNTED | {"prompt_tokens_details": None, "prompt_cache_hit_tokens": 40},
            Usage(input_tokens=100, cached_input_tokens=40, output_tokens=20),
        ),
        # reasoning counted in the total alone
        (COUNTED | {"total_tokens": 170}, Usage(input_tokens=100, output_tokens=70)),
    ],
)
async def test_usage_that_is_reported(
    handmade: Handmade, usage: dict[str, Any], expected: Usage
) -> None:
    reply, _ = await ask(handmade, whole({"content": "hi"}, usage=usage))
    assert reply.usage == expected


@pytest.mark.parametrize(
    "more", [{}, {"usage": None}, {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}]
)
async def test_usage_that_is_not_reported_is_estimated_and_said_so(
    handmade: Handmade, more: dict[str, Any]
) -> None:
    reply, body = await ask(handmade, whole({"content": "x" * 3_000}, **more))
    assert reply.usage.is_estimated
    assert reply.usage.output_tokens > 1_000
    assert reply.usage.input_tokens > len(json.dumps(body["messages"])) // 4
    assert reply.cost_usd is not None
    assert reply.cost_usd > Decimal("0.02")


async def test_half_a_count_is_completed(handmade: Handmade) -> None:
    reply, _ = await ask(handmade, whole({"content": "hello"}, usage={"prompt_tokens": 50}))
    assert reply.usage.input_tokens == 50
    assert reply.usage.output_tokens > 0
    assert reply.usage.is_estimated


# --- failures -------------------------------------------------------------------------------------


def failed(code: Any, message: str = "m", kind: str | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "type": kind}}


CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"
SLOTS = "the request exceeds the available context size, try increasing it"
CASES: list[tuple[int, Any, type[ModelError]]] = [
    # inside an answer
    (200, failed(429), RateLimitedError),
    (200, failed(402), CreditExhaustedError),
    (200, failed("insufficient_quota"), CreditExhaustedError),
    (200, failed(401), AuthenticationFailedError),
    (200, failed(400, CONTEXT), ContextOverflowError),
    (200, failed(502), ProviderUnavailableError),
    (200, failed(504), OutcomeUnknownError),
    (200, failed(None), ProviderUnavailableError),
    (200, failed(400), InvalidRequestError),
    (200, failed(None, kind="invalid_request_error"), InvalidRequestError),
    (200, {"error": "no such thing"}, ProviderUnavailableError),
    (200, {"object": "error", "message": CONTEXT, "code": 400}, ContextOverflowError),
    (200, {"choices": [failed(503) | {"finish_reason": "error"}]}, ProviderUnavailableError),
    (
        200,
        {"choices": [{"message": {"content": "hi"}, "finish_reason": None}]},
        OutcomeUnknownError,
    ),
    (200, whole({"content": None}, "new_reason"), OutcomeUnknownError),
    (200, {"choices": []}, OutcomeUnknownError),
    (200, {"choices": None}, OutcomeUnknownError),
    (200, {}, OutcomeUnknownError),
    (200, [], OutcomeUnknownError),
    # by status, in the wordings of vLLM, llama.cpp, Ollama and gateways
    (400, {"object": "error", "message": CONTEXT, "code": 400}, ContextOverflowError),
    (400, failed(400, SLOTS, "exceed_context_size_error"), ContextOverflowError),
    (401, failed(401, "Invalid API Key", "authentication_error"), AuthenticationFailedError),
    (404, failed(None, "model 'x' not found", "not_found_error"), ModelUnusableError),
    (404, {"detail": "Not Found"}, ModelUnusableError),
    (429, {"detail": "slow down"}, RateLimitedError),
    (500, failed(500, "could not parse", "server_error"), ProviderUnavailableError),
    (503, failed(503, "Loading model", "unavailable_error"), ProviderUnavailableError),
    (504, "upstream timed out", OutcomeUnknownError),
]


@pytest.mark.parametrize(("status", "answer", "expected"), CASES)
async def test_each_failure_has_its_decision(
    handmade: Handmade, status: int, answer: Any, expected: type[ModelError]
) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(handmade, answer, status=status)
    assert type(caught.value) is expected


async def test_a_failure_names_the_server(handmade: Handmade) -> None:
    with pytest.raises(ContextOverflowError, match=r"^local answered 400: This model's maximum"):
        await ask(handmade, failed(400, CONTEXT))
