"""Amounts of money that a person types."""

from decimal import Decimal

from starter.console.command_errors import CommandError


def read_amount(text: str) -> Decimal:
    """Parse an amount in USD, with or without a dollar sign.

    Raises:
        CommandError: it is not an amount, or is out of range.
    """
    from workflows.policy.money.grants import read_usd

    typed = text[:40]  # as in messages
    try:
        number = float(text.removeprefix("$"))
    except ValueError as error:
        raise CommandError(f"{typed!r} is not an amount; write it as 12.50") from error
    amount = read_usd(number)
    if isinstance(amount, str):
        raise CommandError(f"{typed!r}: {amount}")
    return amount
