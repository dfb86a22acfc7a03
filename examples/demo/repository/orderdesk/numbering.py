"""Invoice numbers: the year, a dash, and a running number of at least four digits."""


def next_number(last: str | None, year: int) -> str:
    """Return the number of the next invoice.

    Args:
        last: the number given last, as `2026-0041`; None where there was none.
        year: of the next invoice; the running number begins again with each year.

    Raises:
        ValueError: `last` is no invoice number, or of a later year.
    """
    raise NotImplementedError
