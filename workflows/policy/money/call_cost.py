"""What a call cost, at the prices pinned in its session. It judges no budget."""

from decimal import Decimal

from workflows.domain.agent.model_values import Prices, Usage

_MILLION = Decimal(1_000_000)


def cost_usd(prices: Prices | None, usage: Usage) -> Decimal | None:
    """Multiply tokens by prices; None if the prices are unknown.

    Cached and cache-write tokens are part of the input tokens. If a provider reports more of them
    than input tokens, all reported tokens are priced, never fewer.
    """
    if prices is None:
        return None
    short = prices.short_prompt
    is_short = usage.input_tokens <= prices.short_prompt_tokens
    rates = short if short is not None and is_short else prices
    brief = min(usage.cache_write_5m_tokens, usage.cache_write_tokens)
    brief_usd = rates.cache_write_5m_usd
    special = usage.cached_input_tokens + usage.cache_write_tokens
    total = (
        max(usage.input_tokens - special, 0) * rates.input_usd
        + usage.cached_input_tokens * rates.cached_input_usd
        + brief * (rates.cache_write_usd if brief_usd is None else brief_usd)
        + (usage.cache_write_tokens - brief) * rates.cache_write_usd
        + usage.output_tokens * rates.output_usd
    )
    return total / _MILLION


def charged(counted: Decimal, quote: Decimal, *, is_estimated: bool) -> Decimal:
    """Return what an answered call is charged, in USD.

    | the provider's count            | charged                        |
    |---------------------------------|--------------------------------|
    | can be right                    | what was counted               |
    | is missing or cannot be right   | the quote, or the estimate if  |
    |                                 | that is more                   |

    Args:
        counted: the price of the tokens that were counted or estimated.
        quote: the most that the call could cost.
        is_estimated: the count is missing or cannot be right.
    """
    return max(quote, counted) if is_estimated else counted
