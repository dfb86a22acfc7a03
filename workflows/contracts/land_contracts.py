"""Role land: the person's repository and messages, with the person's own rights."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, Field

from workflows import queues
from workflows.contracts.contract import HEARTBEAT, PATIENT, Contract, retry
from workflows.domain.ids import Commit, Digest, SessionId
from workflows.domain.repository import Base
from workflows.domain.session.notification import Notification, TargetName
from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionMaking
from workflows.domain.session.session_config import (
    CommitsConfig,
    HistoryDepth,
    WorktreeConfig,
)


class ExportBase(BaseModel, frozen=True, extra="forbid"):
    """Read the person's repository once: check it, and find the base."""

    session: SessionId
    repository: str
    base: str | None
    """A branch, tag or commit; None: the checked-out commit."""
    worktree: WorktreeConfig


class SendBase(BaseModel, frozen=True, extra="forbid"):
    """Bring the base's history to a host, as far as the host lacks it."""

    session: SessionId
    repository: str
    key: str
    commit: Commit
    known: tuple[Commit, ...] = ()
    """Commits that the host has, with their history."""
    place: str | None = None
    """What names the host's repository on its machine: on the same machine the history goes
    straight there. None: it goes through the store."""
    ends: Digest | None = None
    """The commits with which histories end on the host, one a line; None: there are none."""
    history: HistoryDepth = "full"
    """How much of the history the session wants."""


class SentBase(BaseModel, frozen=True, extra="forbid"):
    """The history is on its way, or there."""

    bundle: Digest | None = None
    """It is in the store, until it is imported; None: it is in the host's repository."""
    ends: Digest | None = None
    """The commits with which the history may end on the host, one a line; None: only those with
    which it ends in the person's repository."""


class DeliverBranch(BaseModel, frozen=True, extra="forbid"):
    """Move `refs/heads/blueflame/<session>` in the person's repository by compare-and-swap."""

    session: SessionId
    repository: str
    bundle: Digest
    old: Commit | None
    """What the branch holds now; None: it does not exist."""
    new: Commit
    base: Digest | None = None
    """A bundle of what `bundle` builds on, should the repository have lost it; None: it has it."""
    commits: CommitsConfig = CommitsConfig(sign="never")
    """What the branch's commits are to look like; they are rewritten where they do not."""
    since: Commit | None = None
    """What the session's commits build on; None: they are delivered as they are."""
    source: Commit | None = None
    """The session's commit that `old` stands for; None: `old` itself."""
    heads: tuple[Commit, ...] = ()
    """The session's commits whose places on the branch are wanted, beside `new`."""


class Delivered(BaseModel, frozen=True, extra="forbid"):
    """The branch holds `new`, or its rewrite."""

    kind: Literal["delivered"] = "delivered"
    branch: str
    commits: dict[Commit, Commit] = Field(default_factory=dict[Commit, Commit])
    """Where commits were rewritten: those of `new` and `heads` on the branch."""
    notice: str = ""
    """What is not as the person wants it; empty: nothing."""


class DeliveryRefused(BaseModel, frozen=True, extra="forbid"):
    """The delivery was refused; the work stays in the session's repository on the host."""

    kind: Literal["refused"] = "refused"
    reason: str


class DeliveryLacking(BaseModel, frozen=True, extra="forbid"):
    """The repository lost a commit that the bundle builds on; nothing was changed."""

    kind: Literal["lacking"] = "lacking"


DeliveryOutcome = Annotated[
    Delivered | DeliveryRefused | DeliveryLacking, Field(discriminator="kind")
]


class ForwardBranch(BaseModel, frozen=True, extra="forbid"):
    """Fast-forward a branch of the person's that no checkout shows; repeating it is safe."""

    session: SessionId
    repository: str
    branch: str
    """Without `refs/heads/`."""
    old: Commit
    """What the branch must hold: the base of the session."""
    new: Commit
    """What the session's branch holds."""


class Forwarded(BaseModel, frozen=True, extra="forbid"):
    """The branch holds `new`."""

    kind: Literal["forwarded"] = "forwarded"


class ForwardRefused(BaseModel, frozen=True, extra="forbid"):
    """The branch was left where it is."""

    kind: Literal["refused"] = "refused"
    reason: str
    """The obstacle, and what the person can do."""


ForwardOutcome = Annotated[Forwarded | ForwardRefused, Field(discriminator="kind")]


class FindTargets(BaseModel, frozen=True, extra="forbid"):
    """Look up where a message goes, and whether it may be sent now."""

    title: str = Field(max_length=200)
    """The message's."""


class TargetsFound(BaseModel, frozen=True, extra="forbid"):
    """The targets in the person's own configuration, by name; addresses stay on the worker."""

    kind: Literal["found"] = "found"
    targets: tuple[TargetName, ...]


class NotificationHeld(BaseModel, frozen=True, extra="forbid"):
    """Nothing may be sent, because of quiet hours."""

    kind: Literal["held"] = "held"
    until: datetime


TargetsOutcome = Annotated[TargetsFound | NotificationHeld, Field(discriminator="kind")]


class SendNotification(BaseModel, frozen=True, extra="forbid"):
    """Send a message to one target, once."""

    notification: Notification
    target: TargetName


class NotificationSent(BaseModel, frozen=True, extra="forbid"):
    """The target was tried once."""

    fault: str = Field(default="", max_length=300)
    """Why the message did not arrive, without the target's address; empty if it did."""


class WriteReport(BaseModel, frozen=True, extra="forbid"):
    """Write the report of an ended session, unless a command that followed it has done so."""

    session: SessionId
    ended_at: AwareDatetime
    """A report that is older is replaced."""


class ReportWritten(BaseModel, frozen=True, extra="forbid"):
    """The report was tried once."""

    fault: str = Field(default="", max_length=500)
    """Why there is none; empty if there is one."""


EXPORT_BASE = Contract[ExportBase, Base](
    "repository.export", ExportBase, Base, queues.LAND, timedelta(minutes=30), retry(5), HEARTBEAT
)
SEND_BASE = Contract[SendBase, SentBase](
    "repository.send", SendBase, SentBase, queues.LAND, timedelta(minutes=30), retry(5), HEARTBEAT
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
FORWARD_BRANCH = Contract[ForwardBranch, ForwardOutcome](
    "landing.forward",
    ForwardBranch,
    ForwardOutcome,
    queues.LAND,
    timedelta(minutes=10),
    retry(5),
    HEARTBEAT,
)
FIND_TARGETS = Contract[FindTargets, TargetsOutcome](
    "notifications.targets",
    FindTargets,
    TargetsOutcome,
    queues.LAND,
    timedelta(minutes=1),
    retry(PATIENT),
    HEARTBEAT,
)
SEND_NOTIFICATION = Contract[SendNotification, NotificationSent](
    "notifications.send",
    SendNotification,
    NotificationSent,
    queues.LAND,
    timedelta(minutes=5),
    retry(PATIENT),
    HEARTBEAT,
)
MAKE_SESSION = Contract[ScheduledGoal, SessionMaking](
    "schedules.make",
    ScheduledGoal,
    SessionMaking,
    queues.LAND,
    timedelta(minutes=5),
    retry(PATIENT),
    HEARTBEAT,
)
WRITE_REPORT = Contract[WriteReport, ReportWritten](
    "reports.write",
    WriteReport,
    ReportWritten,
    queues.LAND,
    timedelta(minutes=3),
    retry(3),
    HEARTBEAT,
    timedelta(hours=1),
)
