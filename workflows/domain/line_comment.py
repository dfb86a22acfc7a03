"""A person's comment on one line of a task's work."""

from typing import Self

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve

MOST_COMMENTS = 100
QUOTED = 200


class LineComment(BaseModel, frozen=True, extra="forbid"):
    """One comment, with its place in the work that the person saw."""

    task: str = Field(default="", max_length=63)
    """Whose work it is about; empty: that of every task of the changeset."""
    path: str = Field(min_length=1, max_length=1_000)
    """Relative to the repository's root."""
    line: int = Field(ge=1)
    """In the file as the work leaves it, from 1."""
    text: str = Field(min_length=1, max_length=2_000)
    quote: str = Field(default="", max_length=QUOTED)
    """The beginning of that line; empty: not known."""
    attempt: int = Field(default=0, ge=0)
    """The attempt whose work the person saw; set by the session."""

    def on_attempt(self, attempt: int) -> Self:
        """Return the comment as one on this attempt's work."""
        return evolve(self, {"attempt": attempt})
