"""What a session's queries answer, and its result."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.ids import ChangesetId, Commit, Digest, SessionId, TaskId
from workflows.domain.pull_request import PullState
from workflows.domain.session.decision import Decision
from workflows.domain.session.notice import Notice
from workflows.domain.session.question import Question
from workflows.domain.session.session_modes import Pacing, SessionPhase
from workflows.domain.task import TaskState

VIEW_SCHEMA = 1


class TaskLine(BaseModel, frozen=True, extra="forbid"):
    """One task in the session's view; at most 320 bytes as JSON."""

    id: TaskId
    state: TaskState
    attempt: int
    priority: int
    title: str = Field(max_length=48)
    reason: str = Field(default="", max_length=60)


class ChangesetLine(BaseModel, frozen=True, extra="forbid"):
    """One changeset in the session's view."""

    id: ChangesetId
    state: str
    digest: Digest | None
    """Only while it waits for approval: the digest that an approval must name."""
    tasks: tuple[TaskId, ...]
    approved_by: str = ""
    """Who approved it, a person or a rule; empty until then."""
    judged_by: tuple[str, ...] = ()
    """The gates that judged its work and found nothing new; empty until it is validated."""
    not_judged: str = ""
    """Why gates judged nothing, if any did; at most 200 characters, and fewer if many changesets
    have a reason."""
    not_reviewed: str = Field(default="", exclude_if=lambda text: not text)
    """`task: reason` if no reviewer gave a verdict; a person has to decide. Cut like `unjudged`,
    and omitted if empty: there may be a thousand lines."""


class PullLine(BaseModel, frozen=True, extra="forbid"):
    """One pull request, short."""

    key: str
    """`session`, or a changeset's id."""
    number: int
    url: str
    state: PullState
    asked: int = 0
    """How many red checks and requested changes it has."""


class _ViewChanges(TypedDict, total=False):
    tasks: tuple[TaskLine, ...]
    changesets: tuple[ChangesetLine, ...]
    notices: tuple[Notice, ...]
    decisions: tuple[Decision, ...]
    questions: tuple[Question, ...]
    pulls: tuple[PullLine, ...]


class SessionView(BaseModel, frozen=True, extra="forbid"):
    """What the query `state` answers."""

    schema_version: int = VIEW_SCHEMA
    session: SessionId
    goal: str = Field(max_length=200)
    phase: SessionPhase
    reason: str = ""
    pacing: Pacing
    cycle: int
    repository: str
    branch: str | None
    """The branch in the person's repository; None until the first delivery."""
    base: Commit | None
    head: Commit | None
    sandbox: str
    scripted: bool
    """True if a scripted model plays any role."""
    spent_usd: Decimal
    is_estimated: bool = False
    """True if a part of it is an estimate, because a provider counted no tokens; covers only agents
    that have ended."""
    cap_usd: Decimal
    tasks: tuple[TaskLine, ...]
    changesets: tuple[ChangesetLine, ...]
    notices: tuple[Notice, ...]
    questions: tuple[Question, ...] = ()
    """Open questions of agents to the person, the oldest first."""
    pulls: tuple[PullLine, ...] = ()
    """The newest 50 pull requests, the lowest of a stack first."""
    unjudged: Literal["ask", "allow"] = "ask"
    """`approvals.unjudged`: whether a rule may approve work that no gate judged."""
    plan_approved_by: str = ""
    """Who approved the plan, a person or a rule; empty until then."""
    decisions: tuple[Decision, ...] = ()
    """What persons and rules decided, oldest first, at most 100."""
    decisions_dropped: int = 0
    """How many older decisions are not listed."""
    started_at: datetime

    def evolve(self, **changes: Unpack[_ViewChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class TaskCosts(BaseModel, frozen=True, extra="forbid"):
    """What the query `costs` answers."""

    schema_version: int = VIEW_SCHEMA
    usd: dict[TaskId, Decimal]
    """Of each task's ended agents; a task that cost nothing is left out."""


SessionOutcome = Literal["complete", "incomplete", "stopped", "failed"]
"""`complete` only if every task is merged or was skipped by a person."""


class SessionResult(BaseModel, frozen=True, extra="forbid"):
    """How a session ended."""

    schema_version: int = VIEW_SCHEMA
    outcome: SessionOutcome
    reason: str
    branch: str | None
    head: Commit | None
    spent_usd: Decimal
    tasks: tuple[TaskLine, ...]
    pulls: tuple[PullLine, ...] = ()
    scripted: bool
    is_estimated: bool = False
    plan_approved_by: str = ""
    decisions: tuple[Decision, ...] = ()
    decisions_dropped: int = 0
