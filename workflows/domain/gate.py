"""Gates: deterministic checks, their results and their baseline."""

from datetime import timedelta
from typing import Literal

from pydantic import BaseModel, Field

from workflows.domain.ids import Digest, Tree


class GateSpec(BaseModel, frozen=True, extra="forbid"):
    """One command that judges a tree."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")
    argv: tuple[str, ...] = Field(min_length=1)
    timeout: timedelta = timedelta(minutes=10)
    source: Literal["configured", "detected"] = "configured"


class GateResult(BaseModel, frozen=True, extra="forbid"):
    """What one gate said of one tree."""

    gate: str
    result: Literal["passed", "failed", "did_not_finish"]
    exit_code: int
    reason: str = ""
    """Why it did not finish: `time-out after 600 s`, `killed by signal 9`, `out of memory`."""
    failures: tuple[str, ...] = ()
    """The names of failing tests where the output tells them, sorted, at most 200."""
    excerpt: str = ""
    """The cut output, at most 6,000 characters."""
    output: Digest | None = None
    """The whole output in the store."""
    rerun: bool = False
    """True where this is the second run, made against flakes."""
    changed_files: tuple[str, ...] = ()
    """Tracked files that the gate itself changed; never committed, told to the person."""


class GateReport(BaseModel, frozen=True, extra="forbid"):
    """All gates' results on one tree."""

    tree: Tree
    results: tuple[GateResult, ...]
    notices: tuple[str, ...] = ()
    """Hosts that set-up asked for and did not reach, though it went well; at most 20."""


class GateDecision(BaseModel, frozen=True, extra="forbid"):
    """What a report means for the work, against the baseline."""

    passes: bool
    new_failures: tuple[str, ...] = ()
    """`gate: failing test` or `gate` alone; empty where it passes."""
    known_failures: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    notes: str = ""
    """For the next attempt: what failed, with excerpts."""
    remarks: str = ""
    """For a person, where it passes: flakes, files that a gate changed, known failures of another
    cause; not what is as it was on the base."""
