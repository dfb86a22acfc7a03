"""What a call cost, from the prices pinned in its session. It judges no budget."""

from decimal import Decimal

from workflows.domain.models import Prices, Usage

_MILLION = Decimal(1_000_000)


def cost_usd(prices: Prices | None, usage: Usage) -> Decimal | None:
    """Multiply tokens by prices; None where the prices are unknown.

    Cached and cache-write tokens are part of the input tokens; a provider that counts them beyond
    the input is charged for what it counted, never less.
    """
    if prices is None:
        return None
    special = usage.cached_input_tokens + usage.cache_write_tokens
    total = (
        max(usage.input_tokens - special, 0) * prices.input_usd
        + usage.cached_input_tokens * prices.cached_input_usd
        + usage.cache_write_tokens * prices.cache_write_usd
        + usage.output_tokens * prices.output_usd
    )
    return total / _MILLION
