"""What is wrong with a collected diff, where it is."""

from enum import StrEnum

from pydantic import BaseModel, Field


class DiffRule(StrEnum):
    """The rules that a diff is held to."""

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
    COLLISION = "collision"
    SECRET = "secret"  # noqa: S105 -- a rule's name
    EMPTY = "empty"
    MARKER = "conflict-marker"
    LOST_LINE = "lost-line"
    """Merged by others since the task began, and gone from its work."""
    LOADED = "loaded"
    """New, and loaded by a gate's own tool before it judges."""
    STRUCTURE = "structure"
    """A structured file that was sound and cannot be read any more, or holds a key twice."""


class Violation(BaseModel, frozen=True, extra="forbid"):
    """One broken rule."""

    rule: DiffRule
    path: str | None = None
    """None where the diff as a whole breaks it."""
    line: int | None = Field(default=None, ge=1)
    """In the new file."""
    text: str
    """What is wrong and what to do, for the agent and for the person; never a secret itself."""


class DiffLimits(BaseModel, frozen=True, extra="forbid"):
    """How large one task's work may be."""

    changed_files: int = Field(default=2_000, ge=1, le=100_000)
    file_bytes: int = Field(default=5 << 20, ge=1, le=1 << 30)
    """Of one new content."""
    changed_bytes: int = Field(default=50 << 20, ge=1, le=1 << 30)
    """Of all new contents."""
