"""The known facts about a model: its window, its longest answer, its family and its prices.

A person's facts about a model override all others. Prices come from the bundled data of
genai-prices, offline, for one point in time; a session asks once and pins the answer. An unknown
model gets cautious sizes and no prices, so a budgeted session refuses it instead of counting zero.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from activities.ports.endpoints import ProviderEntry
from activities.ports.model_provider import InvalidRequestError
from workflows.domain.agent.model_values import (
    BUILT_IN,
    GivenFacts,
    ModelFacts,
    Prices,
    Provider,
    Rates,
)

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

_WINDOWS = {"anthropic": 200_000, "openai": 128_000, "google": 1_000_000, "scripted": 200_000}
"""For models that the data does not name."""
_COMPATIBLE_WINDOW, _COMPATIBLE_LONGEST = 32_768, 8_192
"""For a model of a compatible server without configured facts."""

_LONGEST: tuple[tuple[str, str, int], ...] = (
    ("anthropic", r"claude-(2|3-(haiku|opus|sonnet)|v1)", 4_096),
    ("anthropic", r"claude-3-5", 8_192),
    ("anthropic", r"claude-opus-4-[01]\b", 32_000),
    ("anthropic", r"", 64_000),
    ("openai", r"(gpt-3|gpt-4($|-\d|-turbo))", 4_096),
    ("openai", r"(gpt-4o|chatgpt-4o)", 16_384),
    ("openai", r"gpt-4\.1", 32_768),
    ("openai", r"o\d", 100_000),
    ("openai", r"gpt-([5-9]|\d\d)", 128_000),
    ("openai", r"", 16_384),
    ("google", r"gemini-(pro|1|2\.0)", 8_192),
    ("google", r"", 65_536),
    ("scripted", r"", 64_000),
)
"""Provider, start of the model's id, tokens. The data lacks them; they are from the providers'
pages. A value that is too small costs a little; the provider refuses one that is too large."""

_PATCHING = (("openai", r"gpt-4\.1|gpt-([5-9]|\d\d)|o\d|codex"),)
"""Provider and start of the ids of models that are trained on the tool `apply_patch`."""


class Catalogue:
    """The models that the workers of one process can reach."""

    def __init__(
        self, entries: Mapping[Provider, ProviderEntry], scripted: Prices | None = None
    ) -> None:
        """Args: the configured providers; the pretended prices of scripted models."""
        self._entries = entries
        self._scripted = scripted

    def facts(
        self, provider: Provider, model: str, at: datetime, given: GivenFacts | None
    ) -> ModelFacts:
        """Look up one model, and let the person's facts override the known ones.

        Args:
            provider: who serves the model.
            model: the provider's own id.
            at: when the session begins.
            given: the person's facts about it; None: none.

        Raises:
            InvalidRequestError: the provider is unknown.
        """
        if provider in BUILT_IN:
            found = resolve(provider, model, at, self._scripted)
        else:
            found = _compatible(self._entry(provider, model), provider, model, at)
        return found if given is None else _overlaid(found, given)

    def _entry(self, provider: Provider, model: str) -> ProviderEntry:
        entry = self._entries.get(provider)
        if entry is None:
            known = ", ".join((*BUILT_IN, *sorted(set(self._entries) - set(BUILT_IN))))
            raise InvalidRequestError(
                f"model '{provider}/{model}' names no provider that these workers know; they know "
                f"{known}. Describe it under `providers:` in your own configuration, and start the "
                "workers again"
            )
        return entry


def resolve(
    provider: Provider, model: str, at: datetime, scripted: Prices | None = None
) -> ModelFacts:
    """Look up one model of a built-in provider.

    Args:
        provider: who serves the model.
        model: the provider's own id.
        at: when the session begins; some prices change on a date.
        scripted: the pretended prices of scripted models; None: none.

    Returns:
        Its facts; `prices` is None if the data does not know the model.
    """
    if provider == "scripted":
        zero = Decimal(0)
        free = Prices(input_usd=zero, cached_input_usd=zero, cache_write_usd=zero, output_usd=zero)
        return _facts(provider, model, _WINDOWS[provider], scripted or free)
    known = _find(model, provider_id=provider)
    if known is None:
        return _facts(provider, model, _WINDOWS[provider], None)
    window = known.context_window or _WINDOWS[provider]
    return _facts(provider, model, window, _prices(known.get_prices(at)))


def _compatible(entry: ProviderEntry, provider: Provider, model: str, at: datetime) -> ModelFacts:
    """A server's address, not its name, decides whether its prices are known."""
    known = _find(model, provider_api_url=entry.base_url)
    window = (known.context_window if known else None) or _COMPATIBLE_WINDOW
    return ModelFacts(
        provider=provider,
        model=model,
        family=entry.family or provider,
        window_tokens=window,
        max_output_tokens=min(_COMPATIBLE_LONGEST, window // 2),
        prices=_prices(known.get_prices(at)) if known else None,
    )


def _overlaid(found: ModelFacts, given: GivenFacts) -> ModelFacts:
    window = given.window_tokens or found.window_tokens
    longest = given.max_output_tokens or found.max_output_tokens
    return ModelFacts(
        provider=found.provider,
        model=found.model,
        family=given.family or found.family,
        window_tokens=window,
        # The prompt needs room besides the answer.
        max_output_tokens=min(longest, window // 2),
        prices=given.prices.as_prices() if given.prices else found.prices,
        patches=found.patches,
    )


def _facts(provider: Provider, model: str, window: int, prices: Prices | None) -> ModelFacts:
    longest = next(
        tokens
        for served_by, start, tokens in _LONGEST
        if served_by == provider and re.match(start, model)
    )
    return ModelFacts(
        provider=provider,
        model=model,
        # Scripted models get families from their names, and never pass for a real one.
        family=f"scripted-{model}" if provider == "scripted" else provider,
        window_tokens=window,
        max_output_tokens=min(longest, window // 2),
        prices=prices,
        patches=any(provider == by and re.match(start, model) for by, start in _PATCHING),
    )


def _find(
    model: str, provider_id: str | None = None, provider_api_url: str | None = None
) -> "ModelInfo | None":
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, provider_id, provider_api_url)[1]
    except LookupError:
        return None


def _prices(found: "ModelPrice") -> Prices | None:
    """Take the highest tier, and also the lowest if there are two."""
    from genai_prices.types import TieredPrices

    tiered = [value for value in found.__dict__.values() if isinstance(value, TieredPrices)]
    long = _rates(found, lambda price: price.tiers[-1].price if price.tiers else price.base)
    short = _rates(found, lambda price: price.base)
    if long is None or short is None or not tiered:
        return None if long is None else Prices(**long.model_dump())
    return Prices(
        **long.model_dump(),
        short_prompt=short,
        short_prompt_tokens=min(price.tiers[0].start for price in tiered),
    )


def _rates(found: "ModelPrice", pick: "Callable[[TieredPrices], Decimal]") -> Rates | None:
    def price(*names: str) -> Decimal | None:
        for name in names:
            value = getattr(found, f"{name}_mtok")
            if value is not None:
                return value if isinstance(value, Decimal) else pick(value)
        return None

    fresh, output = price("input"), price("output")
    if fresh is None or output is None:
        return None
    return Rates(
        input_usd=fresh,
        cached_input_usd=_or(price("cache_read"), fresh),
        cache_write_usd=_or(price("cache_write_1h", "cache_write"), fresh),
        cache_write_5m_usd=price("cache_write_5m", "cache_write"),
        output_usd=output,
    )


def _or(price: Decimal | None, default: Decimal) -> Decimal:
    return default if price is None else price
