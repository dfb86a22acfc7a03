"""Role land: the person's repository and messages, with the person's own rights."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workflows import queues
from workflows.contracts.contract import HEARTBEAT, PATIENT, Contract, retry
from workflows.domain.ids import Commit, Digest, SessionId
from workflows.domain.repository import Base
from workflows.domain.session.notification import Notification, TargetName
from workflows.domain.session.session_config import WorktreeConfig


class ExportBase(BaseModel, frozen=True, extra="forbid"):
    """Read the person's repository once: check it, and bundle the base."""

    session: SessionId
    repository: str
    base: str | None
    """A branch, tag or commit; None: the checked-out commit."""
    worktree: WorktreeConfig


class DeliverBranch(BaseModel, frozen=True, extra="forbid"):
    """Move `refs/heads/blueflame/<session>` in the person's repository by compare-and-swap."""

    session: SessionId
    repository: str
    bundle: Digest
    old: Commit | None
    """What the branch holds now; None: it does not exist."""
    new: Commit
    base: Digest | None = None
    """The bundle of the base, should the repository no longer have it; None: there is none."""


class Delivered(BaseModel, frozen=True, extra="forbid"):
    """The branch holds `new`."""

    kind: Literal["delivered"] = "delivered"
    branch: str


class DeliveryRefused(BaseModel, frozen=True, extra="forbid"):
    """The delivery was refused; the work stays in the session's repository on the host."""

    kind: Literal["refused"] = "refused"
    reason: str


DeliveryOutcome = Annotated[Delivered | DeliveryRefused, Field(discriminator="kind")]


class SendNotification(BaseModel, frozen=True, extra="forbid"):
    """Send one message to the targets in the person's own configuration."""

    notification: Notification
    targets: tuple[TargetName, ...] | None = None
    """Only these, because the others have it; None: all."""


class TargetFault(BaseModel, frozen=True, extra="forbid"):
    """A target did not get the message."""

    target: TargetName
    reason: str = Field(max_length=300)
    """Never contains the target's address, which may hold a password."""


class NotificationSent(BaseModel, frozen=True, extra="forbid"):
    """Every target was tried once."""

    kind: Literal["sent"] = "sent"
    faults: tuple[TargetFault, ...] = ()


class NotificationHeld(BaseModel, frozen=True, extra="forbid"):
    """Nothing was sent, because of quiet hours."""

    kind: Literal["held"] = "held"
    until: datetime


NotificationOutcome = Annotated[NotificationSent | NotificationHeld, Field(discriminator="kind")]

EXPORT_BASE = Contract[ExportBase, Base](
    "repository.export", ExportBase, Base, queues.LAND, timedelta(minutes=30), retry(5), HEARTBEAT
)
DELIVER_BRANCH = Contract[DeliverBranch, DeliveryOutcome](
    "landing.deliver",
    DeliverBranch,
    DeliveryOutcome,
    queues.LAND,
    timedelta(minutes=10),
    retry(PATIENT),
    HEARTBEAT,
)
SEND_NOTIFICATION = Contract[SendNotification, NotificationOutcome](
    "notifications.send",
    SendNotification,
    NotificationOutcome,
    queues.LAND,
    timedelta(minutes=5),
    retry(5),
    HEARTBEAT,
)
