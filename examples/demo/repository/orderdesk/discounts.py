"""Discounts on an order's total. No discount makes a total negative."""

STEPS = ((10, 5), (50, 10))
"""From so many pieces on, so many percent off; the last step that is reached counts."""


def flat_off(total: int, off: int) -> int:
    """Take a fixed amount off, at most the whole total."""
    return max(total - off, 0)


def volume_off(total: int, pieces: int) -> int:
    """Take off what `STEPS` grants for a number of pieces.

    Returns:
        The new total; what is taken off is rounded down to the smallest unit.
    """
    raise NotImplementedError
