"""Goals that wait for their repository, one after the other, and what became of those before."""

from datetime import datetime, timedelta
from typing import Annotated, Final, Self, TypedDict, Unpack

from pydantic import AwareDatetime, BaseModel, Field, StringConstraints

from workflows.domain.evolution import evolve
from workflows.domain.ids import SessionId
from workflows.domain.session.scheduled_goal import ScheduledGoal

MOST_AT_ONCE: Final = 100
"""Goals in one request."""

EntryId = Annotated[str, StringConstraints(pattern=r"^[0-9a-z]{10,40}$")]
"""Made like a session's id, by which a person names an entry."""


class QueuedGoal(BaseModel, frozen=True, extra="forbid"):
    """One entry of a queue."""

    id: EntryId
    key: str = Field(min_length=1, max_length=500)
    """What tells goals apart: an issue's address, or the entry's own id."""
    goal: ScheduledGoal
    added_at: AwareDatetime


class SetAside(BaseModel, frozen=True, extra="forbid"):
    """An entry whose session is not complete, or could not be started."""

    entry: QueuedGoal
    session: SessionId | None
    """None: none was started."""
    reason: str = Field(max_length=2_000)
    at: AwareDatetime


class _QueueChanges(TypedDict, total=False):
    waiting: tuple[QueuedGoal, ...]
    current: QueuedGoal | None
    session: SessionId | None
    reason: str
    failed: tuple[SetAside, ...]
    done: tuple[str, ...]


class QueueState(BaseModel, frozen=True, extra="forbid"):
    """What a queue remembers, and what its query answers; its continuation carries exactly this."""

    waiting: tuple[QueuedGoal, ...] = ()
    """The next one first."""
    current: QueuedGoal | None = None
    """The one that is worked off; None: none is."""
    session: SessionId | None = None
    """The session of `current`."""
    reason: str = ""
    """Why the first of `waiting` cannot begin yet; empty if nothing holds it."""
    failed: tuple[SetAside, ...] = ()
    """The oldest first."""
    done: tuple[str, ...] = ()
    """The keys of the latest entries that ended complete, the oldest first."""

    def evolve(self, **changes: Unpack[_QueueChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class QueueRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a queue, and each continuation of it."""

    repository: str
    busy_wait: timedelta = timedelta(minutes=1)
    """How long it waits, where another session has the repository, before it looks again."""
    renewed_after: timedelta = timedelta(days=1)
    """An idle queue continues as new this often, so that its history is never old."""
    goals_per_run: int = Field(default=100, gt=0)
    """After this many goals in one run, it continues as new."""
    carried: QueueState = QueueState()

    def continued(self, state: QueueState) -> Self:
        """Return the request that starts the next run."""
        return evolve(self, {"carried": state})


class Enqueue(BaseModel, frozen=True, extra="forbid"):
    """`enqueue`: put these at the end, except those that the queue knows."""

    entries: tuple[QueuedGoal, ...] = Field(min_length=1, max_length=MOST_AT_ONCE)


class NamedEntry(BaseModel, frozen=True, extra="forbid"):
    """`remove` and `requeue`: the entry with this id."""

    id: EntryId


class QueueAnswer(BaseModel, frozen=True, extra="forbid"):
    """What every Update of a queue answers."""

    added: tuple[EntryId, ...] = ()
    """What is in the queue now, and was not before."""
    known: tuple[str, ...] = ()
    """The keys of what was left out: it waits, is worked off, failed or is done already."""
    refused: str = ""
    """Why nothing was changed."""


class ShownQueue(BaseModel, frozen=True, extra="forbid"):
    """One repository's queue, as `queue list --json` shows it."""

    repository: str
    state: QueueState
    since: datetime
    """When its present run began."""
