"""Rows of the full-screen view: a line of text, its style, and what it stands for.

Pure. All foreign text in a row has passed `shown` or `one_line`.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from starter.views import session_words

_WIDEST: Final = 24
"""The most characters of an aligned column: a longer entry shifts only its own row."""


class Row(NamedTuple):
    """One line on the screen."""

    key: str
    """What the row stands for; empty: nothing that can be chosen."""
    text: str
    style: str = ""


def told(lines: Iterable[str]) -> tuple[Row, ...]:
    """Return lines that only inform as rows, in the usual colours."""
    return tuple(Row("", line, session_words.style(line)) for line in lines)


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, each column as wide as its widest entry; the last is open."""
    if not cells:
        return []
    last = len(cells[0]) - 1
    widths = [
        max((len(row[n]) for row in cells if len(row[n]) <= _WIDEST), default=0)
        for n in range(last)
    ]
    return [
        "  ".join(
            [*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]
        )
        for row in cells
    ]
