"""The currencies that the desk takes: their signs, and how many digits follow the point."""

SIGNS = {"CHF": "CHF", "EUR": "€", "JPY": "¥", "USD": "$"}


class UnknownCurrencyError(LookupError):
    """The desk does not take this currency."""

    def __init__(self, code: str) -> None:
        super().__init__(f"currency {code!r} is unknown; known are {', '.join(sorted(SIGNS))}")


def sign_of(code: str) -> str:
    """Return the sign of a currency.

    Raises:
        UnknownCurrencyError: the desk does not take it.
    """
    if code not in SIGNS:
        raise UnknownCurrencyError(code)
    return SIGNS[code]


def digits_of(code: str) -> int:
    """Return how many digits follow the point: 2 for most currencies, 0 for yen.

    Raises:
        UnknownCurrencyError: the desk does not take it.
    """
    raise NotImplementedError
