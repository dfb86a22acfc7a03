"""Invoices as plain text."""

from orderdesk.orders import Order

WIDTH = 40


def render(number: str, order: Order, rate: int) -> str:
    """Write an invoice.

    Args:
        number: of the invoice.
        order: what is charged.
        rate: of the tax, in percent.

    Returns:
        A heading, one row for each line of the order, then net, tax and total. Rows are `WIDTH`
        characters wide, with the amounts flush right.
    """
    raise NotImplementedError
