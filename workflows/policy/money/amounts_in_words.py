"""Money and numbers in words, the same wherever a person reads them."""

from decimal import Decimal
from typing import Final

_CENT: Final = Decimal("0.01")


def counted(number: int, one: str) -> str:
    """Return a count in words: `1 task`, `2 tasks`."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def money(usd: Decimal) -> str:
    """Return an amount for people: in cents, with more digits if it is less than a cent."""
    return f"${usd:.4f}" if Decimal(0) < usd < _CENT else f"${usd:.2f}"
