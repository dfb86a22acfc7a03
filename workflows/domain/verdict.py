"""A reviewer's judgement with its evidence."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field


class Evidence(BaseModel, frozen=True, extra="forbid"):
    """One acceptance criterion, and the lines that prove it met."""

    criterion: str = Field(min_length=1, max_length=2_000)
    path: str = Field(min_length=1, max_length=500)
    line_start: int = Field(ge=1)
    line_end: int = Field(ge=1)
    quote: str = Field(min_length=1, max_length=2_000)
    unchanged_because: str = Field(default="", max_length=2_000)
    """Why lines that the work did not change prove it; empty: the work changed them."""


class EvidencePlace(StrEnum):
    """Where the text of a piece of evidence was found."""

    CHANGED = "changed"
    """In lines that the work added, or next to lines that it removed."""
    UNCHANGED = "unchanged"
    """Only in lines that the work left unchanged."""
    ABSENT = "absent"
    """Not at the lines that it names."""


class Finding(BaseModel, frozen=True, extra="forbid"):
    """Something wrong, where it is."""

    path: str | None = Field(default=None, max_length=500)
    line: int | None = Field(default=None, ge=1)
    text: str = Field(min_length=1, max_length=4_000)


class Submission(BaseModel, frozen=True, extra="forbid", strict=True):
    """The arguments of `submit_verdict`; strict, so that a text for a boolean never passes."""

    approve: bool
    summary: str = Field(min_length=1, max_length=4_000)
    evidence: tuple[Evidence, ...] = Field(default=(), max_length=100)
    findings: tuple[Finding, ...] = Field(default=(), max_length=100)


class Verdict(BaseModel, frozen=True, extra="forbid"):
    """One reviewer's judgement, after its evidence was checked."""

    decision: Literal["approve", "reject", "abstain"]
    reviewer: str
    """The reviewing model, as `provider/model`."""
    family: str
    summary: str = ""
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    """Why the verdict is an abstention."""
    unchanged: tuple[int, ...] = ()
    """For an approval: the numbers, from 1, of the criteria that only unchanged lines prove. It
    counts only together with a second one."""

    @property
    def words(self) -> str:
        """The judgement with its reviewer, for a person; at most 500 characters."""
        said = {"approve": "approved", "reject": "rejected", "abstain": "abstained"}[self.decision]
        return f"{said} by {self.reviewer}: {self.summary or self.reason}"[:500]
