"""A shell command as a neutral tree: the programs, their words, and the files they use.

The parser resolves quotes, escapes, continued lines and braces. Text that only running could
tell is marked as unknown, never guessed. The tree knows neither a shell's grammar nor programs.
"""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

UNKNOWN = "\0"
"""Stands in a word for text that is known only at run time."""


class Word(BaseModel, frozen=True, extra="forbid"):
    """One word of a command."""

    text: str
    """With `UNKNOWN` for each unknown part; glob characters stay as they are."""
    is_many: bool = False
    """May become no word, or several: an expansion without quotes, or `"$@"`."""
    is_glob: bool = False
    """Holds `*`, `?` or `[` without quotes, so the shell expands it to file names."""

    def with_text(self, text: str) -> "Word":
        """Return the word with another text, and all else unchanged."""
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
    """Names of the variables that are set before it or only for it."""
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
    """A function's name."""


class Unreadable(BaseModel, frozen=True, extra="forbid"):
    """A text that could not be parsed with certainty."""

    line: int = Field(ge=1)
    column: int = Field(ge=1)
    reason: str


Node = SimpleCommand | Group
Parse = Callable[[str], Group | Unreadable]
"""Parses a text; the same text always gives the same result."""
