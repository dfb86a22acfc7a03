"""A shell command as a neutral tree: what would run, with what, reading and writing where.

Quotes, escapes, continued lines and braces are resolved by the parser. What only
running could tell is marked as unknown, never guessed. It knows no shell's grammar and no program.
"""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

UNKNOWN = "\0"
"""Stands in a word for text that only running can tell."""


class Word(BaseModel, frozen=True, extra="forbid"):
    """One word of a command."""

    text: str
    """With `UNKNOWN` for each part that is not known; glob characters stay as they are."""
    is_many: bool = False
    """May become no word, or several: an expansion without quotes, or `"$@"`."""
    is_glob: bool = False
    """Holds `*`, `?` or `[` without quotes, so that file names take its place."""

    def with_text(self, text: str) -> "Word":
        """Return the word with another text, as well known as before."""
        return Word(text=text, is_many=self.is_many, is_glob=self.is_glob)

    @property
    def is_known(self) -> bool:
        """Whether the program gets exactly this text."""
        return not (self.is_many or self.is_glob or UNKNOWN in self.text)


class Redirection(BaseModel, frozen=True, extra="forbid"):
    """A file that a command's input comes from or its output goes to."""

    is_write: bool
    target: Word


class SimpleCommand(BaseModel, frozen=True, extra="forbid"):
    """One program with its words, or only assignments and redirections."""

    words: tuple[Word, ...] = ()
    """The program first."""
    assigned: tuple[str, ...] = ()
    """Names of the variables that are set before it, or by it alone."""
    redirections: tuple[Redirection, ...] = ()
    stdin: Word | None = None
    """The text of a here-document or here-string."""
    inner: tuple["Group", ...] = ()
    """Substitutions in its words; they run before it."""


class Group(BaseModel, frozen=True, extra="forbid"):
    """Commands that belong together."""

    kind: Literal["sequence", "pipe", "subshell", "choice", "function"]
    """`choice`: a part that may or may not run, a loop's body included."""
    members: tuple["SimpleCommand | Group", ...]
    name: str = ""
    """A function's."""


class Unreadable(BaseModel, frozen=True, extra="forbid"):
    """A text that could not be read with certainty."""

    line: int = Field(ge=1)
    column: int = Field(ge=1)
    reason: str


Node = SimpleCommand | Group
Parse = Callable[[str], Group | Unreadable]
"""Reads a text; always the same answer for the same text."""
