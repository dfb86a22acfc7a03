"""Commit messages whose first line fits where git shows it."""

from typing import Final

_MOST: Final = 100


def with_short_subject(text: str) -> str:
    """Return a message for one line of text: shortened where it is long, and whole below it."""
    return text if len(text) <= _MOST else f"{text[: _MOST - 3].rstrip()}...\n\n{text}"
