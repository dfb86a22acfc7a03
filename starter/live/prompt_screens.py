"""What opens over the live view: a question before a decision, a text to read, the list of keys."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Static

from starter.console.terminal import one_line
from starter.live.diff_rows import comment_on, diff_rows
from starter.live.key_decisions import Wanted
from starter.live.row_list import RowList
from starter.live.rows import Row
from workflows.domain.line_comment import LineComment

_LEAVE: Final = Binding("escape,ctrl+c", "leave", show=False, priority=True)


class PromptScreen(ModalScreen[str | None]):
    """Asks before a decision is sent; gives the text, or None if the person leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _LEAVE,
        Binding("y,enter", "agree", show=False),
        Binding("n", "leave", show=False),
    ]
    DEFAULT_CSS: ClassVar[str] = """
    PromptScreen { align: left bottom; }
    PromptScreen Vertical { height: auto; max-height: 12; border-top: solid; }
    """

    def __init__(self, question: str, text: Wanted) -> None:
        """Args: `text`: whether the person writes something."""
        super().__init__()
        self._question = question
        self._text = text

    def compose(self) -> ComposeResult:
        """Put the question above the line to write on."""
        asks_text = self._text != "none"
        hint = "Enter sends it, Esc leaves it" if asks_text else "[y]es, [n]o"
        with Vertical():
            yield Static(one_line(self._question, 600), markup=False)
            if asks_text:
                yield Input(id="text", compact=True)
            yield Static(hint, id="hint", markup=False)

    @on(Input.Submitted)
    def send(self, event: Input.Submitted) -> None:
        """Give the text, if it suffices."""
        if self._text == "required" and not event.value.strip():
            self.query_one("#hint", Static).update("write something, or leave with Esc")
            return
        self.dismiss(event.value)

    def action_agree(self) -> None:
        """Agree, where nothing is to be written."""
        if self._text == "none":
            self.dismiss("")

    def action_leave(self) -> None:
        """Leave without a decision."""
        self.dismiss(None)


class TextScreen(Screen[None]):
    """Rows to read: a diff, or the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _LEAVE,
        Binding("q,d,question_mark", "leave", show=False),
    ]
    DEFAULT_CSS: ClassVar[str] = """
    TextScreen Static { height: 1; text-style: bold; }
    TextScreen RowList { height: 1fr; }
    """

    def __init__(self, title: str, rows: Sequence[Row]) -> None:
        super().__init__()
        self._title = title
        self._rows = rows

    def compose(self) -> ComposeResult:
        """Put the title above the rows."""
        yield Static(one_line(self._title, 300), id="title", markup=False)
        yield RowList(id="text")

    def on_mount(self) -> None:
        """Show the rows."""
        rows = self.query_one(RowList)
        rows.put(self._rows)
        rows.focus()

    def action_leave(self) -> None:
        """Go back to the session."""
        self.dismiss(None)


class DiffScreen(TextScreen):
    """A changeset's diff, on whose lines a person comments before they decide."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "comment", show=False)]

    def __init__(self, title: str, diffs: Mapping[str, str], comments: list[LineComment]) -> None:
        """Args: `comments`: those made before; new ones are added to it."""
        super().__init__(title, diff_rows(diffs, comments))
        self._diffs = diffs
        self._comments = comments

    def action_comment(self) -> None:
        """Ask for a comment on the chosen line."""
        key = self.query_one(RowList).chosen
        if comment_on(key, self._diffs, "x") is None:
            self.query_one("#title", Static).update("select a line of the new file, then press c")
            return
        self.app.push_screen(
            PromptScreen("Comment on this line:", "required"), partial(self._add, key)
        )

    def _add(self, key: str, said: str | None) -> None:
        comment = comment_on(key, self._diffs, said) if said else None
        if comment is not None:
            self._comments.append(comment)
            self.query_one(RowList).put(diff_rows(self._diffs, self._comments))
            told = f"{len(self._comments)} commented; they go with a approve or r reject (q closes)"
            self.query_one("#title", Static).update(told)
