"""The exception that stops parsing; used only inside this package."""


class UnreadableError(Exception):
    """The text cannot be parsed with certainty."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset
        """In bytes, in the text that the grammar got."""
        self.reason = reason
