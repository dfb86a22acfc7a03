"""Role host: merges of commits, and work brought onto another base."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workflows import queues
from workflows.contracts.contract import HEARTBEAT, PATIENT, Contract, retry
from workflows.domain.ids import Commit, Digest, SessionId, Tree


class MergeCommits(BaseModel, frozen=True, extra="forbid"):
    """Merge task commits onto a head, in order, by merge-tree; no worktree is involved."""

    session: SessionId
    key: str
    head: Commit
    commits: tuple[Commit, ...] = Field(min_length=1)
    title: str
    at: datetime


class MergedCommits(BaseModel, frozen=True, extra="forbid"):
    """The commits merge cleanly."""

    kind: Literal["merged"] = "merged"
    commit: Commit
    tree: Tree


class MergeConflict(BaseModel, frozen=True, extra="forbid"):
    """One of the commits does not merge cleanly."""

    kind: Literal["conflict"] = "conflict"
    commit: Commit
    paths: tuple[str, ...]
    text: str
    """Git's messages by kind (content, modify/delete, …), at most 4,000 characters."""


MergeOutcome = Annotated[MergedCommits | MergeConflict, Field(discriminator="kind")]


class RebaseWork(BaseModel, frozen=True, extra="forbid"):
    """Bring a task's earlier work onto a new base; no worktree is involved."""

    session: SessionId
    key: str
    base: Commit
    """The new base."""
    work: Commit
    work_base: Commit
    """The base of the earlier work."""
    title: str
    at: datetime


class RebasedWork(BaseModel, frozen=True, extra="forbid"):
    """The work as one commit on the new base, with conflict markers where both sides differ."""

    commit: Commit
    conflicts: str = ""
    """One line for each conflicting path, at most 4,000 characters; empty without conflicts."""


class AdvanceBranch(BaseModel, frozen=True, extra="forbid"):
    """Move the session's own ref by compare-and-swap."""

    session: SessionId
    key: str
    base: Commit
    old: Commit
    new: Commit
    since: Commit | None = None
    """Also bundle what the ref has and this commit lacks, for landing; None: no bundle."""


class Advanced(BaseModel, frozen=True, extra="forbid"):
    """The ref holds `new`, or holds what was merged like it before."""

    bundle: Digest | None = None
    """None: none was asked for."""
    head: Commit | None = None
    """What stands for `new` on the branch, if a wave whose outcome was lost merged the same before;
    None: `new` itself."""


class BundleBranch(BaseModel, frozen=True, extra="forbid"):
    """Bundle commits of the session's branch for landing; no ref moves."""

    key: str
    head: Commit
    since: Commit | None
    """What the receiver has; None: nothing, so that the whole history goes."""


class BundledBranch(BaseModel, frozen=True, extra="forbid"):
    """The bundle is in the store."""

    bundle: Digest


MERGE_COMMITS = Contract[MergeCommits, MergeOutcome](
    "merging.merge",
    MergeCommits,
    MergeOutcome,
    queues.HOST,
    timedelta(minutes=10),
    retry(PATIENT),
    HEARTBEAT,
)
REBASE_WORK = Contract[RebaseWork, RebasedWork](
    "merging.rebase",
    RebaseWork,
    RebasedWork,
    queues.HOST,
    timedelta(minutes=10),
    retry(PATIENT),
    HEARTBEAT,
)
ADVANCE_BRANCH = Contract[AdvanceBranch, Advanced](
    "merging.advance",
    AdvanceBranch,
    Advanced,
    queues.HOST,
    timedelta(minutes=10),
    retry(PATIENT),
    HEARTBEAT,
)
BUNDLE_BRANCH = Contract[BundleBranch, BundledBranch](
    "merging.bundle",
    BundleBranch,
    BundledBranch,
    queues.HOST,
    timedelta(minutes=30),
    retry(PATIENT),
    HEARTBEAT,
)
