"""A goal that a schedule starts sessions for, and what became of each time that it fired."""

from datetime import timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, Field, StringConstraints

from workflows.domain.ids import SessionId
from workflows.domain.session.session_start import SessionRequest

CATCH_UP: Final = timedelta(hours=1)
"""What should have fired while no server or no worker was there fires later by at most this."""

ScheduleName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]


class ScheduledGoal(BaseModel, frozen=True, extra="forbid"):
    """What a person typed after `schedule add`; the rest is read each time the schedule fires.

    Paths are absolute, as role `land` sees them.
    """

    name: ScheduleName
    goal: str = Field(min_length=1, max_length=50_000)
    repository: str
    base: str | None = None
    config: str | None = None
    """The file of `--config`; None: the repository's own."""
    playbook: str | None = None
    pacing: str | None = None
    budget: str | None = None
    """The cap in USD, as typed."""
    auto_approve: bool = False
    allow_unjudged_base: bool = False
    issue: str = Field(default="", max_length=500)
    """The address, or the file, of the issue that is the goal, read when its session starts; `goal`
    is then its first line. Empty: `goal` is the goal."""
    label: str = Field(default="", max_length=200)
    """Whose open issues are put into the repository's queue, each as a goal of its own; with
    `issue`: the label that the issue came by. Empty: no label."""
    keys: tuple[str, ...] = ()
    """The names of the variables that gave providers' keys when the schedule was added: only role
    `models` has the keys themselves, and default models follow from which there are."""

    def with_label(self, label: str) -> Self:
        """Return the goal that stands for all open issues with a label."""
        return type(self).model_validate(self.model_dump() | {"label": label})

    def for_issue(self, issue: str, title: str) -> Self:
        """Return the goal for one issue of the label."""
        return type(self).model_validate(self.model_dump() | {"issue": issue, "goal": title})


class SessionMade(BaseModel, frozen=True, extra="forbid"):
    """The request that `run` would start now."""

    kind: Literal["made"] = "made"
    request: SessionRequest


class SessionNotMade(BaseModel, frozen=True, extra="forbid"):
    """No session may start now."""

    kind: Literal["busy", "refused"]
    """`busy`: another session is open on the repository, or nothing answers now; `refused`: a
    person must correct something."""
    reason: str = Field(max_length=2_000)
    session: SessionId | None = None
    """The open session, if it is `busy`."""
    is_told: bool = False
    """Whether the person wants to be told of it."""


class IssuesQueued(BaseModel, frozen=True, extra="forbid"):
    """The open issues with the goal's label are in the repository's queue."""

    kind: Literal["queued"] = "queued"
    added: int = Field(ge=0)
    known: int = Field(ge=0)
    """How many were in the queue, or worked off, already."""


SessionMaking = Annotated[SessionMade | SessionNotMade | IssuesQueued, Field(discriminator="kind")]


class ScheduledOutcome(BaseModel, frozen=True, extra="forbid"):
    """What became of one firing; also the memo of its workflow, from when it is known."""

    kind: Literal["started", "skipped", "refused", "queued"]
    session: SessionId | None = None
    """What was started; if it was `skipped`, the session that was open."""
    reason: str = Field(default="", max_length=2_000)
