"""What is wrong with a collected diff, and where."""

from enum import StrEnum

from pydantic import BaseModel, Field


class DiffRule(StrEnum):
    """The rules for a diff."""

    WRITE = "write"
    """Outside the claims, protected, or a lock file that no claim names."""
    FILE_SIZE = "file-size"
    DIFF_SIZE = "diff-size"
    FILE_COUNT = "file-count"
    BINARY = "binary"
    SYMLINK = "symlink"
    NESTED_GIT = "nested-git"
    SUBMODULE = "submodule"
    NOT_REGULAR = "not-regular"
    NAME = "name"
    LFS = "lfs"
    FILTER = "filter"
    """Would go through a filter that is not run here."""
    ENCODING = "encoding"
    """Not in the encoding that its attributes name."""
    COLLISION = "collision"
    SECRET = "secret"  # noqa: S105 -- a rule's name
    EMPTY = "empty"
    MARKER = "conflict-marker"
    LOST_LINE = "lost-line"
    """Merged by others since the task began, and missing from its work."""
    LOADED = "loaded"
    """New, and loaded by a gate's own tool before it judges."""
    STRUCTURE = "structure"
    """A structured file that was valid and no longer parses, or that holds a key twice."""


class Violation(BaseModel, frozen=True, extra="forbid"):
    """One broken rule."""

    rule: DiffRule
    path: str | None = None
    """None if the diff as a whole breaks the rule."""
    line: int | None = Field(default=None, ge=1)
    """In the new file."""
    text: str
    """What is wrong and what to do, for the agent and for the person; never a secret itself."""


class DiffLimits(BaseModel, frozen=True, extra="forbid"):
    """How large one task's work may be."""

    changed_files: int = Field(default=2_000, ge=1, le=100_000)
    file_bytes: int = Field(default=5 << 20, ge=1, le=1 << 30)
    """The limit for one new content."""
    changed_bytes: int = Field(default=50 << 20, ge=1, le=1 << 30)
    """The limit for all new contents together."""
