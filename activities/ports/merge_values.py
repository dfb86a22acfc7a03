"""What the host's repository is asked to commit, to merge or to move, and what comes of it."""

from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel

from workflows.domain.ids import Commit, Tree


class TaskCommit(BaseModel, frozen=True, extra="forbid"):
    """One commit on the task's base that holds all of a task's work."""

    base: Commit
    tree: Tree
    message: str
    trailers: tuple[tuple[str, str], ...] = ()
    when: datetime


class MergePart(BaseModel, frozen=True, extra="forbid"):
    """One commit to merge, with the message for its merge commit."""

    commit: Commit
    message: str


class Merged(BaseModel, frozen=True, extra="forbid"):
    """All parts merged."""

    kind: Literal["merged"] = "merged"
    commit: Commit
    tree: Tree
    heads: tuple[Commit, ...]
    """The head after each part, in order; the last is `commit`."""


class Conflict(BaseModel, frozen=True, extra="forbid"):
    """The first part that does not merge; nothing was changed."""

    kind: Literal["conflict"] = "conflict"
    head: Commit
    """The commit that it should be merged into: all earlier parts, merged."""
    commit: Commit
    kinds: tuple[str, ...]
    """Git's names: `contents`, `modify/delete`, `rename/rename` …, and `markers` for Blue Flame's
    own; sorted."""
    paths: tuple[str, ...]
    messages: tuple[str, ...]


MergeOutcome = Merged | Conflict


class Rebase(BaseModel, frozen=True, extra="forbid"):
    """Work to move from one base onto another."""

    base: Commit
    """The new base."""
    work: Commit
    work_base: Commit
    message: str
    when: datetime


class Rebased(BaseModel, frozen=True, extra="forbid"):
    """The work as one commit on the new base; conflicting files hold conflict markers."""

    commit: Commit
    paths: tuple[str, ...] = ()
    """Where the two sides conflict."""
    messages: tuple[str, ...] = ()
    """One for each of these paths: what both sides did, and the resulting content."""


class PastSubject(NamedTuple):
    """A commit of a history."""

    subject: str
    session: str
    """The session that made it; empty: a person."""
