"""Changesets: the work that is approved and merged together, pinned by a digest of its commits."""

from enum import StrEnum
from typing import Self, TypedDict, Unpack

from pydantic import BaseModel

from workflows.domain.evolution import evolve
from workflows.domain.gate import Judgement
from workflows.domain.ids import ChangesetId, Commit, Digest, TaskId


class ChangesetState(StrEnum):
    """Where a changeset stands."""

    COLLECTING = "collecting"
    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    QUEUED = "queued"
    TESTING = "testing"
    MERGED = "merged"
    REJECTED = "rejected"
    DROPPED = "dropped"


class ChangesetEvent(StrEnum):
    """What happened to a changeset; `policy.session.changeset_states` holds the table."""

    COMPLETED = "completed"
    APPROVED = "approved"
    REJECTED = "rejected"
    QUEUED = "queued"
    TAKEN = "taken"
    MERGED = "merged"
    RETURNED = "returned"
    REOPENED = "reopened"
    DROPPED = "dropped"
    UNJUDGED = "unjudged"
    """A rule approved it, but no gate judged the merged tree: a person must approve it."""


class ChangesetItem(BaseModel, frozen=True, extra="forbid"):
    """One task's validated commit."""

    task: TaskId
    commit: Commit
    title: str = ""


class _ChangesetChanges(TypedDict, total=False):
    tasks: tuple[TaskId, ...]
    state: ChangesetState
    items: tuple[ChangesetItem, ...]
    digest: Digest | None
    approved_digest: Digest | None
    approved_by: str
    needs_judged: bool
    judgement: Judgement | None
    reason: str


class Changeset(BaseModel, frozen=True, extra="forbid"):
    """The tasks of one cohesion group."""

    id: ChangesetId
    tasks: tuple[TaskId, ...]
    """In dependency order."""
    state: ChangesetState = ChangesetState.COLLECTING
    items: tuple[ChangesetItem, ...] = ()
    """Set when every task is validated."""
    digest: Digest | None = None
    """The digest of `items`; an approval names it."""
    approved_digest: Digest | None = None
    approved_by: str = ""
    needs_judged: bool = False
    """Approved by a rule, so it is merged only if a gate judged the work."""
    judgement: Judgement | None = None
    """Which gates judged its work; None until it is validated."""
    reason: str = ""

    def evolve(self, **changes: Unpack[_ChangesetChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)

    def without_approval(self) -> Self:
        """Return a copy whose commits are not approved: they need an approval again."""
        return self.evolve(approved_digest=None, approved_by="")
