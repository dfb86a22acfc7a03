"""Over the wire with the official SDKs: what a provider says becomes the documented reply."""

from decimal import Decimal

import pytest
from pydantic import SecretStr

from activities.adapters.blob_store import MemoryStore
from activities.adapters.models.keys import KeySource
from activities.adapters.models.providers import ProviderRegistry, ProviderSettings
from activities.message_chain import Conversations
from activities.ports.endpoints import ProviderEntry
from activities.ports.model_provider import (
    AuthenticationFailedError,
    InvalidRequestError,
    ModelError,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
    Stop,
)
from tests.unit.activities.adapters.models.wire import (
    ERRORS,
    KEY,
    OPENING,
    PROVIDERS,
    Wire,
    answered,
    registry,
)
from tests.unit.activities.adapters.models.wire import ask as request_of
from workflows.domain.agent.messages import AssistantMessage, Message, UserMessage
from workflows.domain.agent.model_values import Provider, Usage

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_text(wire: Wire, provider: Provider) -> None:
    wire.play("{text: Hello there.}")
    reply = await wire.call(provider)
    assert (reply.message.text, reply.message.tool_calls) == ("Hello there.", ())
    assert reply.stop == "end"
    assert reply.scripted


async def test_parallel_calls(wire: Wire, provider: Provider) -> None:
    calls = "[{bash: {command: ls}}, {bash: {command: pwd}}, {submit: {}}]"
    wire.play(f"{{text: I look., calls: {calls}}}")
    reply = await wire.call(provider)
    called = [(call.name, call.arguments, call.malformed) for call in reply.message.tool_calls]
    assert called == [
        ("bash", {"command": "ls"}, None),
        ("bash", {"command": "pwd"}, None),
        ("submit", {}, None),
    ]
    assert len({call.id for call in reply.message.tool_calls}) == 3
    assert (reply.message.text, reply.stop) == ("I look.", "tool_calls")


async def converse(wire: Wire, providers: list[Provider], texts: list[str]) -> list[Message]:
    """Let one provider after the other take a turn of a conversation that lies in the store."""
    store = MemoryStore()
    head = await Conversations(store).append(None, [OPENING])
    for provider in providers:
        messages = await Conversations(store).load(head)
        reply = await wire.call(provider, *messages)
        said, results = answered(reply, *texts[: len(reply.message.tool_calls)])
        following = [results] if results.results else [UserMessage(text="Go on.")]
        head = await Conversations(store).append(head, [said, *following])
    return list(await Conversations(store).load(head))


TWO_CALLS = "{text: I look., calls: [{bash: {command: a}}, {bash: {command: b}}]}"


async def test_signatures_come_back_byte_for_byte(wire: Wire, provider: Provider) -> None:
    wire.play(TWO_CALLS, "{text: Hm.}", TWO_CALLS, "{text: Done., expect: '[3]'}")
    messages = await converse(wire, [provider] * 4, ["[3]", ""])
    said = [message for message in messages if isinstance(message, AssistantMessage)]
    assert [message.text for message in said] == ["I look.", "Hm.", "I look.", "Done."]
    assert wire.logged("signatures") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "order",
    [
        ["anthropic", "openai", "google", "anthropic", "openai", "google"],
        ["google", "google", "anthropic", "anthropic", "google", "google"],
        ["openai", "anthropic", "anthropic", "openai", "google", "openai"],
        ["local", "openai", "local", "google", "anthropic", "local"],
    ],
)
async def test_a_conversation_moves_between_providers(wire: Wire, order: list[Provider]) -> None:
    wire.play(*[TWO_CALLS, "{text: Hm.}"] * 3)
    await converse(wire, order, ["1", ""])
    own = [order[:turn].count(name) for turn, name in enumerate(order)]
    assert wire.logged("signatures") == own
    assert wire.logged("turn") == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("arguments", "malformed"),
    [
        ("'{\"command\": '", '{"command": '),
        ("'null'", "null"),
        ("[1]", "[1]"),
        ("not json", "not json"),
    ],
)
@pytest.mark.parametrize("name", ["anthropic", "openai", "local"])
async def test_malformed_arguments(
    wire: Wire, name: Provider, arguments: str, malformed: str
) -> None:
    wire.play(f"{{calls: [{{bash: {arguments}}}]}}", "{text: Sorry.}")
    reply = await wire.call(name)
    (call,) = reply.message.tool_calls
    assert (call.arguments, call.malformed) == ({}, malformed)
    following = await wire.call(name, OPENING, *answered(reply, "That was no JSON object."))
    assert following.message.text == "Sorry."


async def test_gemini_names_a_malformed_call_by_its_stop(wire: Wire) -> None:
    wire.play("{calls: [{bash: 'no'}]}", "{text: Sorry.}")
    reply = await wire.call("google")
    assert (reply.message.tool_calls, reply.stop) == ((), "malformed")
    again = await wire.call("google", OPENING, reply.message, UserMessage(text="Call it again."))
    assert again.message.text == "Sorry."


async def test_a_lone_surrogate_is_replaced_and_the_call_goes_on(
    wire: Wire, provider: Provider
) -> None:
    """Field report R09."""
    write = r'{text: "a \ud83d", calls: [{bash: {command: "ok \ud83d end"}}]}'
    wire.play(write, '{text: fine, expect: "seen \ufffd"}')
    reply = await wire.call(provider)
    assert reply.message.text == "a \ufffd"
    assert reply.message.tool_calls[0].arguments == {"command": "ok \ufffd end"}
    said, results = answered(reply, "seen \ud83d")
    assert (await wire.call(provider, OPENING, said, results)).message.text == "fine"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ids", [("call_0", "call_0"), ("", ""), ("a b", "x")])
async def test_odd_ids_become_unique_and_still_pair_up(
    wire: Wire, provider: Provider, ids: tuple[str, str]
) -> None:
    """Field report R37."""
    named = [f"{{name: bash, arguments: {{command: x}}, id: '{call_id}'}}" for call_id in ids]
    turn = f"{{calls: [{', '.join(named)}]}}"
    wire.play(turn, turn, "{text: Done.}")
    messages = await converse(wire, [provider] * 3, ["one", "two"])
    called = [
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]
    assert len(set(called)) == 4


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stop", ["truncated", "refusal"])
async def test_other_stops(wire: Wire, provider: Provider, stop: Stop) -> None:
    wire.play(f"{{text: I would, stop: {stop}}}")
    reply = await wire.call(provider)
    assert (reply.stop, reply.message.text) == (stop, "I would")


async def test_anthropic_pauses(wire: Wire) -> None:
    wire.play("{text: wait, stop: pause}")
    assert (await wire.call("anthropic")).stop == "pause"


@pytest.mark.parametrize("name", ["anthropic", "openai", "local"])
async def test_a_call_that_the_limit_cut_is_malformed(wire: Wire, name: Provider) -> None:
    calls = "[{bash: {command: whole}}, {bash: {command: rm -rf /tmp/x}}]"
    wire.play(f"{{calls: {calls}, stop: truncated}}", "{text: ok}")
    reply = await wire.call(name)
    first, last = reply.message.tool_calls
    assert reply.stop == "truncated"
    assert (first.arguments, first.malformed) == ({"command": "whole"}, None)
    assert last.arguments == {}
    assert (last.malformed or "").startswith("cut by the output limit: ")
    following = await wire.call(name, OPENING, *answered(reply, "x", "cut"))
    assert following.message.text == "ok"


async def test_empty_results_and_texts_are_never_sent(wire: Wire, provider: Provider) -> None:
    """Field report R37."""
    quiet = "{calls: [{bash: {command: 'true'}}]}"
    wire.play(quiet, "{text: ok, expect: (no output)}", "{text: bye}")
    reply = await wire.call(provider)
    messages = [OPENING, *answered(reply, " \n")]
    assert (await wire.call(provider, *messages)).message.text == "ok"
    nothing = [AssistantMessage(), UserMessage(text="")]
    assert (await wire.call(provider, *messages, *nothing)).message.text == "bye"


CACHED = (
    "{input_tokens: 10000, cached_input_tokens: 6000, cache_write_tokens: 1000, "
    "cache_write_5m_tokens: 400, output_tokens: 301}"
)


@pytest.mark.parametrize(
    ("name", "usage", "cost"),
    [
        # 3000 fresh, 6000 cached, 400 written for 5 minutes, 600 for an hour, 301 out
        (
            "anthropic",
            Usage(
                input_tokens=10_000,
                cached_input_tokens=6_000,
                cache_write_tokens=1_000,
                cache_write_5m_tokens=400,
                output_tokens=301,
            ),
            Decimal("0.02722"),
        ),
        # 3000 fresh, 6000 cached, 1000 written, 301 out
        (
            "openai",
            Usage(
                input_tokens=10_000,
                cached_input_tokens=6_000,
                cache_write_tokens=1_000,
                output_tokens=301,
            ),
            Decimal("0.02842"),
        ),
        # 4000 fresh, 6000 cached, 301 out; writes are not reported
        (
            "google",
            Usage(input_tokens=10_000, cached_input_tokens=6_000, output_tokens=301),
            Decimal("0.02442"),
        ),
        (
            "local",
            Usage(input_tokens=10_000, cached_input_tokens=6_000, output_tokens=301),
            Decimal("0.02442"),
        ),
    ],
)
async def test_usage_and_cost_to_the_last_digit(
    wire: Wire, name: Provider, usage: Usage, cost: Decimal
) -> None:
    wire.play("{text: x}", usage=CACHED)
    reply = await wire.call(name)
    assert reply.usage == usage
    assert reply.cost_usd == cost


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("kind", "expected"), ERRORS)
async def test_each_failure_has_its_decision(
    wire: Wire, provider: Provider, kind: str, expected: type[ModelError]
) -> None:
    wire.play(f"{{text: at last, error: {{kind: {kind}, times: 1}}}}")
    with pytest.raises(ModelError) as caught:
        await wire.call(provider)
    assert type(caught.value) is expected
    assert (await wire.call(provider)).message.text == "at last"
    assert len(wire.simulator.log.entries) == 2


WAITS = [("7", 7.0), ("0", None), ("-1", None), ("18000", 18_000.0), ("1.5", 1.5)]
DATES = [("Wed, 21 Oct 2015 07:28:00 GMT", None), ("soon", None), ("6m0s", 360.0)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("value", "seconds"), [*WAITS, *DATES])
@pytest.mark.parametrize("kind", ["rate_limited", "unavailable"])
async def test_the_wait_that_a_provider_asks_for(
    wire: Wire, provider: Provider, kind: str, value: str, seconds: float | None
) -> None:
    """Field report R13."""
    plain = value in dict(WAITS)
    quoted = value if plain else f"'{value}'"
    wire.play(f"{{error: {{kind: {kind}, retry_after: {quoted}}}}}")
    with pytest.raises((RateLimitedError, ProviderUnavailableError)) as caught:
        await wire.call(provider)
    wait = caught.value.retry_after
    assert (None if wait is None else wait.total_seconds()) == seconds


async def test_a_server_that_is_slower_than_the_limit(wire: Wire, provider: Provider) -> None:
    wire.play("{text: late, latency_s: 30}")
    with pytest.raises(OutcomeUnknownError):
        await wire.call(provider, timeout_s=0.3)


async def test_an_unreachable_server_is_unavailable(provider: Provider) -> None:
    providers = registry(dict.fromkeys(PROVIDERS, "http://127.0.0.1:9"))
    with pytest.raises(ProviderUnavailableError, match="cannot be reached"):
        await providers.call(request_of(provider))
    await providers.aclose()


async def test_a_wrong_key_is_named_but_not_shown(wire: Wire, provider: Provider) -> None:
    secret = "wrong-key-" + "x" * 20
    wire.play("{text: x}")
    providers = registry(wire.simulator.base_urls, secret)
    with pytest.raises(AuthenticationFailedError) as caught:
        await providers.call(request_of(provider))
    await providers.aclose()
    assert secret not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_a_refused_key_is_read_again_at_once(wire: Wire, provider: Provider) -> None:
    wire.play("{text: hello}")
    given = iter(["wrong-key-0123456789", KEY])

    async def read() -> SecretStr:
        return SecretStr(next(given))

    keys: dict[Provider, KeySource] = {provider: read}
    urls = wire.simulator.base_urls
    local = ProviderEntry(base_url=urls["openai"], key="LOCAL_KEY")
    settings = ProviderSettings(
        keys=keys, base_urls=urls, entries={"local": local}, trust_env=False
    )
    providers = ProviderRegistry(settings)
    assert (await providers.call(request_of(provider))).message.text == "hello"
    await providers.aclose()


async def test_a_known_key_is_neither_sent_nor_returned(wire: Wire, provider: Provider) -> None:
    wire.play(f"{{text: 'it is {KEY}', expect: 'the key is [key]'}}")
    found = UserMessage(text=f"the key is {KEY}")
    reply = await wire.call(provider, OPENING, found)
    assert reply.message.text == "it is [key]"
    assert KEY not in reply.model_dump_json()


async def test_a_gap_in_the_playbook_is_told(wire: Wire, provider: Provider) -> None:
    wire.play("{text: only one}")
    reply = await wire.call(provider)
    with pytest.raises(InvalidRequestError, match="has no answer for role 'developer'"):
        await wire.call(provider, OPENING, reply.message, UserMessage(text="And now?"))
