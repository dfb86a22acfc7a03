"""The scripted provider says what the playbook says, and says that it is scripted."""

from datetime import timedelta
from decimal import Decimal

import pytest

from activities.adapters.models.dialects.neutral_messages import tool_call
from activities.adapters.models.scripted.playbook import parse_playbook
from activities.adapters.models.scripted.scripted_provider import ScriptedProvider
from activities.ports.model_provider import (
    InvalidRequestError,
    ModelError,
    ModelRequest,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
)
from tests.unit.activities.adapters.models.wire import ERRORS
from workflows.domain.agent.messages import Message, ToolCall, UserMessage
from workflows.domain.agent.model_values import ModelFacts, Prices, Usage

FREE = Prices(
    input_usd=Decimal(0),
    cached_input_usd=Decimal(0),
    cache_write_usd=Decimal(0),
    output_usd=Decimal(0),
)


def request(*messages: Message, prices: Prices | None = FREE) -> ModelRequest:
    facts = ModelFacts(
        provider="scripted",
        model="demo",
        family="scripted",
        window_tokens=100_000,
        max_output_tokens=8_000,
        prices=prices,
    )
    return ModelRequest(
        model=facts,
        system="",
        tools=(),
        messages=messages or (UserMessage(text="Role: planner\n\nPlan."),),
        max_output_tokens=1000,
        cache_key="k",
        timeout=timedelta(seconds=5),
    )


def provider(turn: str) -> ScriptedProvider:
    text = f"schema: 1\nname: t\nscenes: [{{role: planner, turns: [{turn}]}}]"
    return ScriptedProvider(parse_playbook(text, "t.yaml"))


async def test_says_that_it_is_scripted_and_what_it_cost() -> None:
    calls = '[{bash: {x: "\\ud83d"}}, {submit: "no json"}]'
    turn = f'{{text: "ok \\ud83d", calls: {calls}, usage: {{input_tokens: 10}}}}'
    reply = await provider(turn).call(request())
    assert reply.scripted
    assert reply.message.text == "ok \ufffd"
    assert reply.message.tool_calls == (
        ToolCall(id="call_1", name="bash", arguments={"x": "\ufffd"}),
        tool_call("call_2", "submit", "no json"),
    )
    assert reply.message.provider_raw is None
    assert (reply.stop, reply.usage, reply.cost_usd) == ("tool_calls", Usage(input_tokens=10), 0)


async def test_an_unknown_price_is_an_unknown_cost() -> None:
    assert (await provider("{text: a}").call(request(prices=None))).cost_usd is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [*ERRORS, ("disconnect", OutcomeUnknownError), ("corrupt", OutcomeUnknownError)],
)
async def test_each_error_is_its_own(kind: str, expected: type[ModelError]) -> None:
    with pytest.raises(expected, match="scripted model"):
        await provider(f"{{error: {{kind: {kind}}}}}").call(request())


@pytest.mark.parametrize(
    ("retry_after", "wait"),
    [("2", timedelta(seconds=2)), ("0", None), ("'1m'", timedelta(minutes=1)), ("soon", None)],
)
async def test_a_rate_limit_names_its_wait(retry_after: str, wait: timedelta | None) -> None:
    turn = f"{{error: {{kind: rate_limited, retry_after: {retry_after}}}}}"
    with pytest.raises(RateLimitedError) as caught:
        await provider(turn).call(request())
    assert caught.value.retry_after == wait


async def test_an_error_with_times_ends() -> None:
    scripted = provider("{text: at last, error: {kind: unavailable, times: 2}}")
    for _ in range(2):
        with pytest.raises(ProviderUnavailableError):
            await scripted.call(request())
    assert (await scripted.call(request())).message.text == "at last"


async def test_a_stall_lasts_as_long_as_the_call_may() -> None:
    asked = request().model_copy(update={"timeout": timedelta(milliseconds=10)})
    with pytest.raises(OutcomeUnknownError, match=r"no answer within 0\.01 s"):
        await provider("{error: {kind: stall}}").call(asked)


async def test_a_latency_beyond_the_timeout_leaves_the_outcome_unknown() -> None:
    asked = request().model_copy(update={"timeout": timedelta(milliseconds=1)})
    with pytest.raises(OutcomeUnknownError):
        await provider("{text: late, latency_s: 3600}").call(asked)


@pytest.mark.parametrize("text", ["no header", "Role: reviewer"])
async def test_a_gap_is_an_invalid_request_that_says_so(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="scripted model: "):
        await provider("{text: a}").call(request(UserMessage(text=text)))
