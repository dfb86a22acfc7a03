"""Cost is tokens times prices, to the last digit."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.agent.model_values import Prices, Usage
from workflows.policy.money.call_cost import charged, cost_usd

PRICES = Prices(
    input_usd=Decimal(5),
    cached_input_usd=Decimal("0.5"),
    cache_write_usd=Decimal(10),
    output_usd=Decimal(25),
)
TOKENS = st.integers(0, 10**7)


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(
        input_tokens=1000, cached_input_tokens=600, cache_write_tokens=100, output_tokens=10
    )
    assert cost_usd(PRICES, usage) == Decimal("0.00305")


def test_a_brief_cache_write_is_cheaper() -> None:
    prices = PRICES.model_copy(update={"cache_write_5m_usd": Decimal("6.25")})
    usage = Usage(input_tokens=100, cache_write_tokens=100, cache_write_5m_tokens=80)
    assert cost_usd(prices, usage) == (80 * Decimal("6.25") + 20 * 10) / 1_000_000
    assert cost_usd(PRICES, usage) == Decimal(100 * 10) / 1_000_000


@pytest.mark.parametrize(("tokens", "input_usd"), [(0, 1), (1000, 1), (1001, 5)])
def test_a_short_prompt_may_be_cheaper(tokens: int, input_usd: int) -> None:
    short = PRICES.model_copy(update={"input_usd": Decimal(1)})
    prices = PRICES.model_copy(update={"short_prompt": short, "short_prompt_tokens": 1000})
    assert cost_usd(prices, Usage(input_tokens=tokens)) == Decimal(tokens * input_usd) / 1_000_000


def test_unknown_prices_make_an_unknown_cost() -> None:
    assert cost_usd(None, Usage(input_tokens=1)) is None


@given(TOKENS, TOKENS, TOKENS, TOKENS, TOKENS)
def test_more_tokens_never_cost_less(
    fresh: int, cached: int, written: int, output: int, more: int
) -> None:
    def cost(extra: int) -> Decimal:
        usage = Usage(
            input_tokens=fresh + cached + written + extra,
            cached_input_tokens=cached,
            cache_write_tokens=written,
            output_tokens=output,
        )
        found = cost_usd(PRICES, usage)
        assert found is not None
        return found

    assert cost(more) - cost(0) == more * PRICES.input_usd / 1_000_000


@pytest.mark.parametrize(
    ("counted", "is_estimated", "usd"),
    [("0.1", False, "0.1"), ("0", False, "0"), ("0", True, "0.5"), ("0.7", True, "0.7")],
)
def test_what_cannot_be_right_costs_the_quote_or_more(
    counted: str, is_estimated: bool, usd: str
) -> None:
    """Field report G12."""
    assert charged(Decimal(counted), Decimal("0.5"), is_estimated=is_estimated) == Decimal(usd)
