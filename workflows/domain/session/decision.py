"""Decisions: what persons said to a session and what rules approved, each with who it was."""

from datetime import datetime
from typing import Final, Literal, Self

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve

UNNAMED: Final = "(unnamed)"
"""Who decided where a signal names no one: Temporal does not hand its sender to a workflow."""


class Decision(BaseModel, frozen=True, extra="forbid"):
    """One decision, whether it was taken up or refused."""

    what: str
    """The signal's name; a rule's approval has the name of the signal that it stands for."""
    subject: str = Field(default="", max_length=200)
    """A task's or changeset's id, or empty for the session."""
    by: str = Field(max_length=200)
    """Who, as the signal says it of itself; a rule's own name; or `(unnamed)`."""
    source: Literal["signal", "rule", "start"]
    """A signal may call itself what it likes, but it is never a rule. `start`: decided by what the
    session was started with."""
    at: datetime
    """By the workflow's clock; of a repeated one the newest time."""
    note: str = Field(default="", max_length=200)
    """The beginning of what it said: notes, a reason, an amount."""
    refused: str = Field(default="", max_length=200)
    """Why the session did not do it; empty where it did."""
    count: int = 1
    """How often exactly this was said without another decision between."""

    def repeats(self, other: "Decision") -> bool:
        """Return whether another says the same, whenever and how often it was said."""
        return evolve(self, {"at": other.at, "count": other.count}) == other

    def counted(self, count: int) -> Self:
        """Return it as said so often."""
        return evolve(self, {"count": count})


class DecisionOutcome(BaseModel, frozen=True, extra="forbid"):
    """What an Update that was accepted came to: the answer to its sender."""

    schema_version: int = 1
    decision: str
    """The Update's name."""
    subject: str = ""
    """A task's or changeset's id, or empty for the session."""
    state: str
    """The state of that task or changeset now; of the session where there is none."""
