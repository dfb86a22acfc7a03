"""`amounts.money`: one way to write an amount."""

from decimal import Decimal

import pytest

from workflows.policy.money.amounts_in_words import counted, money


@pytest.mark.parametrize(
    ("usd", "text"),
    [("0", "$0.00"), ("0.0049", "$0.0049"), ("0.01", "$0.01"), ("12.5", "$12.50")],
)
def test_money(usd: str, text: str) -> None:
    assert money(Decimal(usd)) == text


@pytest.mark.parametrize(("number", "text"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks")])
def test_one_is_one(number: int, text: str) -> None:
    assert counted(number, "task") == text
