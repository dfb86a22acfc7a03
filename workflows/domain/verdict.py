"""A reviewer's judgement with its evidence."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field


class Evidence(BaseModel, frozen=True, extra="forbid"):
    """One acceptance criterion, and the lines that show it met."""

    criterion: str = Field(min_length=1, max_length=2_000)
    path: str = Field(min_length=1, max_length=500)
    line_start: int = Field(ge=1)
    line_end: int = Field(ge=1)
    quote: str = Field(min_length=1, max_length=2_000)
    unchanged_because: str = Field(default="", max_length=2_000)
    """Why lines that the work leaves as they are show it; empty: the work changed them."""


class EvidencePlace(StrEnum):
    """Where the words of a piece of evidence were found."""

    CHANGED = "changed"
    """In lines that the work added, or beside lines that it took away."""
    UNCHANGED = "unchanged"
    """Only in lines that the work left as they were."""
    ABSENT = "absent"
    """Not at the lines that it names."""


class Finding(BaseModel, frozen=True, extra="forbid"):
    """Something wrong, where it is."""

    path: str | None = Field(default=None, max_length=500)
    line: int | None = Field(default=None, ge=1)
    text: str = Field(min_length=1, max_length=4_000)


class Submission(BaseModel, frozen=True, extra="forbid", strict=True):
    """What `submit_verdict` takes; strict, so that a text for a truth value is never a pass."""

    approve: bool
    summary: str = Field(min_length=1, max_length=4_000)
    evidence: tuple[Evidence, ...] = Field(default=(), max_length=100)
    findings: tuple[Finding, ...] = Field(default=(), max_length=100)


class Verdict(BaseModel, frozen=True, extra="forbid"):
    """What one reviewer's submission came to after its evidence was checked."""

    decision: Literal["approve", "reject", "abstain"]
    reviewer: str
    """The model that spoke, as `provider/model`."""
    family: str
    summary: str = ""
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    """Why it counts as an abstention."""
    unchanged: tuple[int, ...] = ()
    """Of an approval: the numbers of the criteria, from 1, that only lines prove which the work
    left as they were. It counts only together with a second one."""
