"""Money in words, the same wherever a person reads it."""

from decimal import Decimal
from typing import Final

_CENT: Final = Decimal("0.01")


def money(usd: Decimal) -> str:
    """Return an amount for people: cents, or more digits where it is less than a cent."""
    return f"${usd:.4f}" if Decimal(0) < usd < _CENT else f"${usd:.2f}"
