"""Pull requests: what a session wants on a hosting service, and what is known of it there.

A merge request of GitLab is called a pull request here too.
"""

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.ids import ChangesetId, Commit, Digest, SessionId

MAX_BODY = 40_000
"""Characters; GitHub takes 65,536."""


class WantedPull(BaseModel, frozen=True, extra="forbid"):
    """One pull request as the session wants it."""

    key: str = Field(max_length=200)
    """`session`, or a changeset's id."""
    branch: str
    """What is proposed: a branch that Blue Flame pushes."""
    commit: Commit
    """The commit that the branch names."""
    target: str
    """The branch that it is to be merged into."""
    title: str = Field(max_length=250)
    body: str = Field(max_length=MAX_BODY)
    is_draft: bool
    is_closed: bool = False
    """The session was stopped: close it, unless it is merged."""


class WantedPulls(BaseModel, frozen=True, extra="forbid"):
    """All pull requests of a session, the lowest of a stack first."""

    pulls: tuple[WantedPull, ...] = ()
    is_whole: bool = False
    """The session has nothing else to do: the time to follow them begins."""

    @property
    def revision(self) -> Digest:
        """A digest of the whole: a report names the revision that it answers."""
        return Digest(hashlib.sha256(self.model_dump_json().encode()).hexdigest())


class PullState(StrEnum):
    """Where a pull request stands on the hosting service."""

    DRAFT = "draft"
    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class MergedWork(BaseModel, frozen=True, extra="forbid"):
    """One changeset's place in the session's branch."""

    changeset: ChangesetId
    head: Commit
    """The branch with this changeset and all before it."""


MOST_REMARKS = 20


class Remark(BaseModel, frozen=True, extra="forbid"):
    """A red check, or a change that a review asks for: data, written by anyone."""

    kind: Literal["check", "review"]
    id: str = Field(max_length=300)
    """Names it on the hosting service."""
    by: str = Field(max_length=200)
    """The check's name, or the reviewer's."""
    text: str = Field(default="", max_length=1_000)
    path: str = Field(default="", max_length=500)
    line: int = Field(default=0, ge=0)
    """With a `path`, from 1; 0: the whole file, or no file."""


class _PullChanges(TypedDict, total=False):
    state: PullState
    pushed: Commit
    remarks: tuple[Remark, ...]


class PullRequest(BaseModel, frozen=True, extra="forbid"):
    """One pull request as the hosting service last showed it."""

    key: str
    branch: str
    target: str
    number: int
    url: str
    state: PullState
    pushed: Commit
    """The commit that Blue Flame last pushed to the branch."""
    remarks: Annotated[tuple[Remark, ...], Field(max_length=MOST_REMARKS)] = ()
    """What checks and reviews ask for now."""

    @property
    def remarks_digest(self) -> Digest:
        """A digest of which remarks there are; an attempt is started once for each."""
        names = sorted(f"{each.kind} {each.id}" for each in self.remarks)
        return Digest(hashlib.sha256("\n".join((self.key, *names)).encode()).hexdigest())

    def evolve(self, **changes: Unpack[_PullChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class PullsRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts the workflow that keeps a session's pull requests, and what it carries over."""

    session_workflow: str
    session: SessionId
    repository: str
    """The path of the person's repository, as role `land` sees it."""
    remote: str
    wanted: WantedPulls = WantedPulls()
    poll: timedelta = timedelta(minutes=1)
    follow: timedelta | None = None
    done: tuple[WantedPull, ...] = ()
    """The wishes that are fulfilled."""
    pulls: tuple[PullRequest, ...] = ()
    tried: Digest | None = None
    fault: str = ""
    """Why some wish was not fulfilled when it was tried."""
    follow_until: datetime | None = None
    """When the time to follow them is over; None: it has not begun."""
    is_finished: bool = False
    refused: dict[str, str] = {}
    """Why the last look at a pull request was refused, by its key; the session was told."""


class PullsReport(BaseModel, frozen=True, extra="forbid"):
    """What the workflow that keeps the pull requests tells the session."""

    revision: Digest
    """The revision of the wishes that were tried."""
    pulls: tuple[PullRequest, ...]
    is_followed: bool = False
    """The time to follow them is over, or none of them is open."""
    fault: str = Field(default="", max_length=1_000)
    """Why some wish is not fulfilled, and what to do; empty if all are."""
    refused: str = Field(default="", max_length=1_000)
    """Why looks are refused now, in the first report after it began; empty in all others."""
