"""Value added tax."""


def vat(net: int, rate: int) -> int:
    """Return the tax on a net amount.

    Args:
        net: in the smallest unit of the currency; negative for a refund.
        rate: in percent.

    Returns:
        The tax, rounded to the nearest unit, halves away from zero. A refund gives back exactly
        what was charged.
    """
    return int(net * rate / 100)
