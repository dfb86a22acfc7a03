"""Orders: what was bought, how many of it, at which price."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One product of an order."""

    name: str
    quantity: int
    unit_price: int
    """In the smallest unit of the order's currency."""


@dataclass(frozen=True)
class Order:
    """All that one customer buys at once, in one currency."""

    currency: str
    lines: tuple[Line, ...]


def line_total(line: Line) -> int:
    """Return what a line costs, before discounts and tax."""
    return line.quantity * line.unit_price


def net(order: Order) -> int:
    """Return what an order costs, before discounts and tax."""
    return sum(line_total(line) for line in order.lines)
