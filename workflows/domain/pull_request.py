"""Pull requests: what a session wants on a hosting service, and what is known of it there.

A merge request of GitLab is called a pull request here too.
"""

import hashlib
from enum import StrEnum
from typing import Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.ids import Commit, Digest, SessionId

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


class _PullChanges(TypedDict, total=False):
    state: PullState
    pushed: Commit


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
    done: tuple[WantedPull, ...] = ()
    """The wishes that are fulfilled."""
    pulls: tuple[PullRequest, ...] = ()
    tried: Digest | None = None
    is_finished: bool = False


class PullsReport(BaseModel, frozen=True, extra="forbid"):
    """What the workflow that keeps the pull requests tells the session."""

    revision: Digest
    """The revision of the wishes that were tried."""
    pulls: tuple[PullRequest, ...]
    fault: str = Field(default="", max_length=1_000)
    """Why some wish is not fulfilled, and what to do; empty if all are."""
