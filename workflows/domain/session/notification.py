"""What a person is told outside of the program: needs, and the messages that carry them.

Where messages go is in no workflow: addresses contain passwords, and a history is kept for long.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field, StringConstraints

from workflows.domain.evolution import evolve
from workflows.domain.ids import SessionId

NOTIFICATION_SCHEMA: Final = 1
INTERVAL: Final = timedelta(minutes=1)
"""The least time between two messages of one kind about one session."""

TargetName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class NotificationKind(StrEnum):
    """What a message is about; messages of a kind about one session are a group."""

    APPROVAL = "approval"
    QUESTION = "question"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"
    SCHEDULE = "schedule"
    """A schedule fired, and no session was started."""


class Need(BaseModel, frozen=True, extra="forbid"):
    """One thing that a person should know, with the command that answers it."""

    kind: NotificationKind
    key: str = Field(max_length=300)
    """Tells needs apart; the same need keeps its key for as long as it exists."""
    text: str = Field(max_length=500)
    command: str = Field(max_length=300)


class Needs(BaseModel, frozen=True, extra="forbid"):
    """`needs_changed`: all that a session needs now, in place of what it needed before."""

    needs: tuple[Need, ...] = ()
    is_last: bool = False
    """The session has ended: tell these, and end."""


class Item(BaseModel, frozen=True, extra="forbid"):
    """One line of a message."""

    text: str
    command: str


class Notification(BaseModel, frozen=True, extra="forbid"):
    """One message; its JSON is the body that webhooks get."""

    schema_version: int = NOTIFICATION_SCHEMA
    id: str = Field(max_length=200)
    """The same each time that this message is sent."""
    kind: NotificationKind | Literal["test"]
    session: str
    goal: str = Field(max_length=100)
    title: str = Field(max_length=200)
    items: tuple[Item, ...]
    more: int = Field(default=0, ge=0)
    """How many further items there are."""
    at: datetime
    """When it was written."""


class MessageLost(BaseModel, frozen=True, extra="forbid"):
    """`message_lost`: a target never got a message, and the session shows it."""

    text: str = Field(max_length=1_000)


class _NotifierChanges(TypedDict, total=False):
    needs: tuple[Need, ...]
    told: tuple[str, ...]
    sent: int
    sent_at: dict[NotificationKind, datetime]
    quiet_until: datetime | None
    is_finished: bool


class NotifierState(BaseModel, frozen=True, extra="forbid"):
    """What a notifier remembers; its continuation carries exactly this."""

    needs: tuple[Need, ...] = ()
    told: tuple[str, ...] = ()
    """The keys of those needs that were told, or given up."""
    sent: int = 0
    """How many messages were written so far."""
    sent_at: dict[NotificationKind, datetime] = Field(
        default_factory=dict[NotificationKind, datetime]
    )
    quiet_until: datetime | None = None
    is_finished: bool = False
    """No more needs will come."""

    def evolve(self, **changes: Unpack[_NotifierChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class NotifierRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a notifier."""

    session: SessionId
    goal: str = Field(max_length=100)
    interval: timedelta = INTERVAL
    retry_after: timedelta = timedelta(seconds=10)
    """The time before a target is tried a second time; it doubles."""
    name: str = Field(default="", max_length=120)
    """What titles name and ids of messages begin with, if it is not the session."""
    carried: NotifierState | None = None
    """Set by a continuation."""

    @property
    def about(self) -> str:
        """What titles name and ids of messages begin with."""
        return self.name or self.session

    def continued(self, state: NotifierState) -> Self:
        """Return the request that starts the next run."""
        return evolve(self, {"carried": state})
