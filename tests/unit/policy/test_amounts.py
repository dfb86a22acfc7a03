"""`amounts.money`: one way to write an amount."""

from decimal import Decimal

import pytest

from workflows.policy.amounts import money


@pytest.mark.parametrize(
    ("usd", "text"),
    [("0", "$0.00"), ("0.0049", "$0.0049"), ("0.01", "$0.01"), ("12.5", "$12.50")],
)
def test_money(usd: str, text: str) -> None:
    assert money(Decimal(usd)) == text
