"""How reading a text is given up: inside this package only."""


class UnreadableError(Exception):
    """The text cannot be read with certainty."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset
        """In bytes, in the text that the grammar was given."""
        self.reason = reason
