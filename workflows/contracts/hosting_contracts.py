"""Role land: the hosting service of the person's repository, with the person's own token."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workflows import queues
from workflows.contracts.contract import HEARTBEAT, PATIENT, Contract, retry
from workflows.domain.ids import Commit, SessionId
from workflows.domain.pull_request import PullRequest, WantedPull


class PublishPull(BaseModel, frozen=True, extra="forbid"):
    """Push a branch and bring its pull request to the wanted state; repeating it is safe."""

    session: SessionId
    repository: str
    """The path of the person's repository, as role `land` sees it."""
    remote: str
    """The name of its remote."""
    pull: WantedPull
    pushed: Commit | None = None
    """What Blue Flame pushed to the branch before; None: nothing that is known."""


class PublishedPull(BaseModel, frozen=True, extra="forbid"):
    """The pull request is there."""

    kind: Literal["published"] = "published"
    pull: PullRequest


class NoPull(BaseModel, frozen=True, extra="forbid"):
    """There is none, and a closed one was asked for."""

    kind: Literal["none"] = "none"


class PullRefused(BaseModel, frozen=True, extra="forbid"):
    """A person has to act first."""

    kind: Literal["refused"] = "refused"
    reason: str = Field(max_length=1_000)


PublishOutcome = Annotated[PublishedPull | NoPull | PullRefused, Field(discriminator="kind")]

PUBLISH_PULL = Contract[PublishPull, PublishOutcome](
    "hosting.publish",
    PublishPull,
    PublishOutcome,
    queues.LAND,
    timedelta(minutes=10),
    retry(PATIENT),
    HEARTBEAT,
)


class LookAtPull(BaseModel, frozen=True, extra="forbid"):
    """Look at a pull request: its state, its checks and what reviews ask for."""

    session: SessionId
    repository: str
    remote: str
    pull: PullRequest


LookOutcome = Annotated[PublishedPull | NoPull | PullRefused, Field(discriminator="kind")]

LOOK_AT_PULL = Contract[LookAtPull, LookOutcome](
    "hosting.look",
    LookAtPull,
    LookOutcome,
    queues.LAND,
    timedelta(minutes=5),
    retry(5),
    HEARTBEAT,
)
