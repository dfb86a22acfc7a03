"""A reviewer's judgement with its evidence."""

from typing import Literal

from pydantic import BaseModel, Field


class Evidence(BaseModel, frozen=True, extra="forbid"):
    """One acceptance criterion, and the lines that show it met."""

    criterion: str = Field(min_length=1, max_length=2_000)
    path: str = Field(min_length=1, max_length=500)
    line_start: int = Field(ge=1)
    line_end: int = Field(ge=1)
    quote: str = Field(min_length=1, max_length=2_000)


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
