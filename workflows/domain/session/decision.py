"""Decisions: what persons said to a session and what rules approved, each with its author."""

from datetime import datetime
from typing import Final, Literal, Self

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve

UNNAMED: Final = "(unnamed)"
"""The author if a signal names none: Temporal does not tell a workflow who sent a signal."""


class Decision(BaseModel, frozen=True, extra="forbid"):
    """One decision, whether taken up or refused."""

    what: str
    """The signal's name; a rule's approval has the name of the corresponding signal."""
    subject: str = Field(default="", max_length=200)
    """A task's or changeset's id, or empty for the session."""
    by: str = Field(max_length=200)
    """The author, as the signal names itself; a rule's name; or `(unnamed)`."""
    source: Literal["signal", "rule", "start"]
    """Which kind of author. A signal may use any name, but is never a rule. `start`: decided by
    what the session was started with."""
    at: datetime
    """By the workflow's clock; for a repeated decision, the latest time."""
    note: str = Field(default="", max_length=200)
    """The beginning of its text: notes, a reason, an amount."""
    refused: str = Field(default="", max_length=200)
    """Why the session did not carry it out; empty if it did."""
    count: int = 1
    """How often this was said in a row, with no other decision between."""

    def repeats(self, other: "Decision") -> bool:
        """Return whether `other` says the same, ignoring time and count."""
        return evolve(self, {"at": other.at, "count": other.count}) == other

    def counted(self, count: int) -> Self:
        """Return a copy with this count."""
        return evolve(self, {"count": count})


class DecisionOutcome(BaseModel, frozen=True, extra="forbid"):
    """The result of an accepted Update: the answer to its sender."""

    schema_version: int = 1
    decision: str
    """The Update's name."""
    subject: str = ""
    """A task's or changeset's id, or empty for the session."""
    state: str
    """The current state of that task or changeset; of the session if neither is named."""
    told: str = ""
    """What else follows, in one sentence."""
