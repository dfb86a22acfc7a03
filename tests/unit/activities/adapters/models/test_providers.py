"""The registry makes what is asked for, once; keys are fresh and stay inside."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import SecretStr

from activities.adapters.models.catalogue import Catalogue, resolve
from activities.adapters.models.keys import FRESH_S, KeyRing
from activities.adapters.models.providers import ProviderRegistry, ProviderSettings
from activities.adapters.models.simulator.simulator_server import Simulator
from activities.ports.endpoints import ProviderEntry
from activities.ports.model_provider import (
    AuthenticationFailedError,
    InvalidRequestError,
    ModelUnusableError,
    OutcomeUnknownError,
)
from tests.unit.activities.adapters.models.wire import OPENING, ask, facts, play
from workflows.domain.agent.messages import UserMessage
from workflows.domain.agent.model_values import GivenFacts, GivenPrices, Provider


async def test_the_scripted_provider_needs_its_playbook() -> None:
    with pytest.raises(ModelUnusableError, match="has no playbook"):
        await ProviderRegistry(ProviderSettings()).call(ask("scripted"))


async def test_the_scripted_provider_plays() -> None:
    registry = ProviderRegistry(ProviderSettings(playbook=play("{text: hello}")))
    assert (await registry.call(ask("scripted"))).message.text == "hello"
    assert registry.provider(facts("scripted")) is registry.provider(facts("scripted", "other"))


@pytest.mark.parametrize("name", ["anthropic", "openai", "google"])
async def test_without_a_key_nothing_is_sent(name: Provider) -> None:
    settings = ProviderSettings(base_urls={name: "http://127.0.0.1:9"})
    with pytest.raises(AuthenticationFailedError, match=f"there is no key for '{name}'"):
        await ProviderRegistry(settings).call(ask(name))


@pytest.mark.parametrize("key", ["secret-key-1", 'se"cret\\key', "clé-secrète", "a\tb\tc\td\te"])
async def test_a_lone_surrogate_does_not_stop_the_redaction(key: str) -> None:
    keys: dict[Provider, SecretStr] = {"openai": SecretStr(key)}
    registry = ProviderRegistry(
        ProviderSettings(keys=keys, playbook=play("{text: ok, expect: 'at [key]'}"))
    )
    asked = ask("scripted", OPENING, UserMessage(text=f"\ud83d at {key}"))
    assert (await registry.call(asked)).message.text == "ok"


async def test_settings_do_not_show_their_keys() -> None:
    settings = ProviderSettings(keys={"openai": SecretStr("secret-key-1")})
    assert "secret-key-1" not in f"{settings!r} {settings} {settings.model_dump_json()}"


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_key_from_a_function_rotates() -> None:
    keys = iter(["first-key", "second-key"])

    async def read() -> SecretStr:
        return SecretStr(next(keys) + "\n")

    clock = Clock()
    ring = KeyRing({"openai": read}, clock)
    assert [await ring.key("openai"), await ring.key("openai")] == ["first-key", "first-key"]
    clock.now = FRESH_S + 1
    assert await ring.key("openai") == "second-key"
    assert ring.known() == ("second-key",)


async def test_a_key_that_cannot_be_read_is_an_authentication_failure() -> None:
    async def fail() -> SecretStr:
        raise OSError("secret-key-1: no such file")

    with pytest.raises(AuthenticationFailedError) as caught:
        await KeyRing({"openai": fail}).key("openai")
    assert "cannot be read (OSError)" in str(caught.value)
    assert "secret-key-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "why"),
    [("  ", "is empty"), ("two\nlines", "line breaks"), ("schlüssel", "that no key has")],
)
async def test_what_cannot_be_a_key_is_refused(key: str, why: str) -> None:
    with pytest.raises(AuthenticationFailedError, match=why):
        await KeyRing({"openai": SecretStr(key)}).key("openai")


async def test_a_refused_key_is_read_again_once() -> None:
    values = iter(["old-key-1", "old-key-1", "new-key-1"])

    async def read() -> SecretStr:
        return SecretStr(next(values))

    ring = KeyRing({"openai": read})
    await ring.key("openai")
    assert not await ring.renew("openai")
    assert await ring.renew("openai")
    assert await ring.key("openai") == "new-key-1"


NOVEMBER = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "model", "window", "longest", "rates"),
    [
        ("anthropic", "claude-opus-5-5", 1_000_000, 64_000, "4 0.2 8 5 20"),
        ("openai", "gpt-6.1-sol", 1_050_000, 128_000, "4 0.2 5 5 15"),
        ("google", "gemini-4-argon", 1_048_576, 65_536, "2 0.1 2 None 10"),
        ("openai", "gpt-4o", 128_000, 16_384, "2.5 1.25 2.5 None 10"),
        ("scripted", "alpha", 200_000, 64_000, "0 0 0 None 0"),
    ],
)
def test_the_facts_of_a_model(
    name: Provider, model: str, window: int, longest: int, rates: str
) -> None:
    found = resolve(name, model, NOVEMBER)
    prices = found.prices
    assert prices is not None
    assert (found.window_tokens, found.max_output_tokens) == (window, longest)
    shown = (
        prices.input_usd,
        prices.cached_input_usd,
        prices.cache_write_usd,
        prices.cache_write_5m_usd,
        prices.output_usd,
    )
    assert " ".join(str(rate) for rate in shown) == rates


def test_a_short_prompt_of_a_tiered_model_has_its_own_rates() -> None:
    prices = resolve("anthropic", "claude-haiku-5-5", NOVEMBER).prices
    assert prices is not None
    assert prices.short_prompt is not None
    assert (str(prices.input_usd), str(prices.short_prompt.input_usd)) == ("0.5", "0.1")
    assert prices.short_prompt_tokens == 100_000


def test_a_price_that_changes_on_a_date_is_that_of_the_day() -> None:
    december = datetime(2026, 12, 2, tzinfo=UTC)
    before, after = (resolve("google", "gemini-4-argon", at).prices for at in (NOVEMBER, december))
    assert before is not None
    assert after is not None
    assert (before.input_usd, after.input_usd) == (2, 4)


@pytest.mark.parametrize("name", ["anthropic", "openai", "google"])
def test_an_unknown_model_has_cautious_sizes_and_no_prices(name: Provider) -> None:
    found = resolve(name, "never-heard-of", NOVEMBER)
    assert found.prices is None
    assert found.family == name
    assert found.max_output_tokens <= found.window_tokens // 2


LOCAL = ProviderEntry(base_url="http://127.0.0.1:9/v1", family="qwen")
HOSTED = ProviderEntry(base_url="https://api.deepseek.com/v1", key="DEEPSEEK_API_KEY")
CATALOGUE = Catalogue({"local": LOCAL, "hosted": HOSTED, "openai": ProviderEntry(timeout_s=9)})


def test_a_model_of_a_compatible_server_is_of_its_family_and_of_unknown_price() -> None:
    found = CATALOGUE.facts("local", "qwen3-coder", NOVEMBER, None)
    assert (found.provider, found.model, found.family) == ("local", "qwen3-coder", "qwen")
    assert (found.window_tokens, found.max_output_tokens) == (32_768, 8_192)
    assert found.prices is None


def test_the_address_tells_the_price_and_the_name_does_not() -> None:
    assert CATALOGUE.facts("hosted", "deepseek-chat", NOVEMBER, None).prices is not None
    named = Catalogue({"deepseek": LOCAL}).facts("deepseek", "deepseek-chat", NOVEMBER, None)
    assert named.prices is None


def test_what_a_person_says_of_a_model_counts() -> None:
    prices = GivenPrices(input_usd=Decimal("0.5"), output_usd=Decimal(2))
    given = GivenFacts(family="qwen", window_tokens=16_000, max_output_tokens=12_000, prices=prices)
    for provider in ("hosted", "openai"):
        found = CATALOGUE.facts(provider, "some-model", NOVEMBER, given)
        assert (found.family, found.window_tokens, found.max_output_tokens) == (
            "qwen",
            16_000,
            8_000,
        )
        assert found.prices == prices.as_prices()
    assert prices.as_prices().cached_input_usd == Decimal("0.5")
    assert CATALOGUE.facts("openai", "gpt-6.1-sol", NOVEMBER, GivenFacts()) == resolve(
        "openai", "gpt-6.1-sol", NOVEMBER
    )


def test_an_undescribed_provider_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"'other/x' names no provider .* hosted, local"):
        CATALOGUE.facts("other", "x", NOVEMBER, None)


async def test_a_call_of_an_undescribed_provider_is_refused() -> None:
    with pytest.raises(ModelUnusableError, match="these workers know no provider 'other'"):
        await ProviderRegistry(ProviderSettings()).call(ask("other"))


async def test_a_key_that_is_not_there_is_named_by_its_variable() -> None:
    registry = ProviderRegistry(ProviderSettings(entries={"hosted": HOSTED}))
    with pytest.raises(AuthenticationFailedError, match="the variable 'DEEPSEEK_API_KEY' is not"):
        await registry.call(ask("hosted"))


async def test_a_server_that_needs_no_key_gets_none() -> None:
    keys: dict[Provider, SecretStr] = {"openai": SecretStr("secret-key-1")}
    async with Simulator(play("{text: hello}")) as simulator:
        entry = ProviderEntry(base_url=f"{simulator.url}/v1")
        settings = ProviderSettings(keys=keys, entries={"local": entry}, trust_env=False)
        registry = ProviderRegistry(settings)
        assert (await registry.call(ask("local"))).message.text == "hello"
        with pytest.raises(InvalidRequestError, match="has no answer for role 'none'"):
            await registry.call(ask("local", UserMessage(text="Role: none")))
        await registry.aclose()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["anthropic", "local"])
async def test_each_provider_has_its_own_time_limit(name: Provider) -> None:
    async with Simulator(play("{text: late, latency_s: 30}")) as simulator:
        url = simulator.base_urls["openai"] if name == "local" else None
        entries = {name: ProviderEntry(base_url=url, timeout_s=1)}
        keys = {name: SecretStr("secret-key-1")}
        registry = ProviderRegistry(
            ProviderSettings(
                keys=keys, base_urls=simulator.base_urls, entries=entries, trust_env=False
            )
        )
        with pytest.raises(OutcomeUnknownError, match=r"no answer within 1 s|Timeout"):
            await registry.call(ask(name, timeout_s=1_000))
        await registry.aclose()


def test_scripted_models_are_families_of_their_own() -> None:
    families = {resolve("scripted", model, NOVEMBER).family for model in ("alpha", "beta")}
    assert families == {"scripted-alpha", "scripted-beta"}


@pytest.mark.parametrize(
    ("provider", "model", "patches"),
    [
        ("openai", "gpt-6.1-terra", True),
        ("openai", "gpt-5-codex", True),
        ("openai", "gpt-4.1-mini", True),
        ("openai", "o4-mini", True),
        ("openai", "gpt-4o", False),
        ("openai", "gpt-3.5-turbo", False),
        ("anthropic", "claude-sonnet-5-5", False),
        ("google", "gemini-4-argon", False),
        ("scripted", "gpt-6", False),
    ],
)
def test_who_is_fluent_in_patches(provider: Provider, model: str, patches: bool) -> None:
    assert resolve(provider, model, NOVEMBER).patches is patches
