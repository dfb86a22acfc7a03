"""A list of rows that draws only what is visible, so that a thousand rows cost no more than ten.

It keeps the chosen row by its key while rows come, go and move. What a row means is not its
business.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from starter.live.rows import Row

_MARK: Final = "> "
"""Before the chosen row: colour is never the only sign."""
_STEP: Final = 10


class RowList(ScrollView, can_focus=True):
    """Rows below each other, one of them chosen."""

    class Opened(Message):
        """The person pressed Enter on a row."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "move(1000000)", show=False),
        Binding("left", "shift(-1)", show=False),
        Binding("right", "shift(1)", show=False),
        Binding("enter", "open", show=False),
    ]
    DEFAULT_CSS: ClassVar[str] = """
    RowList { scrollbar-size: 0 1; overflow-x: hidden; overflow-y: auto; }
    """

    def __init__(self, *, id: str, follows: bool = False) -> None:  # noqa: A002 (Textual's word)
        """Args: `follows`: stay at the end while rows are added there."""
        super().__init__(id=id)
        self._rows: Sequence[Row] = ()
        self._cursor = 0
        self._shift = 0
        self._follows = follows

    @property
    def chosen(self) -> str:
        """The key of the chosen row; empty if there is none."""
        return self._rows[self._cursor].key if self._rows else ""

    @property
    def cursor(self) -> int:
        """The number of the chosen row, from 0."""
        return self._cursor

    def put(self, rows: Sequence[Row]) -> None:
        """Show other rows; the chosen one stays chosen if it is still there."""
        if rows == self._rows or not self.is_attached:
            return  # the same, or a last look while the view closes
        was_at_end = self._cursor >= len(self._rows) - 1
        key, self._rows = self.chosen, rows
        if self._follows and was_at_end:
            self._cursor = max(len(rows) - 1, 0)
        elif key:
            places = (number for number, row in enumerate(rows) if row.key == key)
            self._cursor = next(places, self._cursor)
        self._cursor = min(self._cursor, max(len(rows) - 1, 0))
        self.virtual_size = Size(self.size.width, len(rows))
        self._reveal()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one visible line; Textual calls it."""
        number = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if number >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        row, is_chosen = self._rows[number], number == self._cursor
        style = self.rich_style + _style(row.style)
        if is_chosen:
            style += _style("reverse" if self.has_focus else "bold")
        mark = _MARK if is_chosen else " " * len(_MARK)
        strip = Strip([Segment(mark + row.text[self._shift :], style)])
        return strip.adjust_cell_length(width, style)

    def action_move(self, by: int) -> None:
        """Choose another row."""
        self._cursor = min(max(self._cursor + by, 0), max(len(self._rows) - 1, 0))
        self._reveal()
        self.refresh()

    def action_page(self, by: int) -> None:
        """Choose the row that is a screen away."""
        self.action_move(by * max(self.size.height - 1, 1))

    def action_shift(self, by: int) -> None:
        """Show what is further to the right or left."""
        self._shift = max(self._shift + by * _STEP, 0)
        self.refresh()

    def action_open(self) -> None:
        """Tell the screen that the chosen row was opened."""
        if self.chosen:
            self.post_message(self.Opened(self.chosen))

    def _reveal(self) -> None:
        self.scroll_to_region(Region(0, self._cursor, 1, 1), animate=False, force=True)


@lru_cache(maxsize=64)
def _style(name: str) -> Style:
    return Style.parse(name) if name else Style.null()
