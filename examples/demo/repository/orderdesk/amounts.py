"""Amounts as people read them. Inside the desk an amount is a whole number of smallest units."""


def format_amount(amount: int, code: str) -> str:
    """Write an amount with its currency's sign.

    Args:
        amount: in the smallest unit of the currency; negative for a refund.
        code: of the currency.

    Returns:
        The amount with thousands set apart, the sign behind it: `1,234.50 €`.
    """
    raise NotImplementedError
