"""A session's input, its signals, what its queries answer, and its result."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field, JsonValue

from workflows.domain.evolution import evolve
from workflows.domain.ids import ChangesetId, Commit, Digest, SessionId, TaskId
from workflows.domain.line_comment import MOST_COMMENTS, LineComment
from workflows.domain.plan import Plan
from workflows.domain.pull_request import PullState
from workflows.domain.session.decision import Decision
from workflows.domain.session.notice import Notice
from workflows.domain.session.question import Question
from workflows.domain.session.session_config import Pacing, SessionConfig
from workflows.domain.session.session_state import SessionPhase, SessionState
from workflows.domain.task import TaskState

VIEW_SCHEMA = 1
TASK_TIMEOUT: Final = timedelta(minutes=1)
"""How long a worker may take to replay a session. The server's ten seconds are too short for a long
one on a busy machine: each replay would be refused, and the session would never go on."""


class SessionRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a session."""

    session: SessionId
    goal: str = Field(min_length=1, max_length=50_000)
    issue: str = Field(default="", max_length=500)
    """Where the goal was read, if it is an issue: its address or file. To the planner it is then
    data. Empty: the goal is in the person's own words."""
    repository: str
    """The path of the person's repository, as role `land` sees it."""
    base: str | None = None
    config: SessionConfig
    plan: Plan | None = None
    """A plan that a person brings; then the planner does not run."""
    plan_by: str = Field(default="", max_length=200)
    """Who brings the plan: their own plan needs no second approval. Empty: it waits for
    approval."""
    waves_per_run: int = Field(default=200, gt=0)
    """After this many waves in one run, the workflow continues as new when no wave runs."""
    events_per_run: int = Field(default=12_000, gt=0)
    """After this many events in one run, it starts no wave before it has continued as new. A
    session of 700 tasks has fewer; a worker that restarts replays all of them at once."""
    carried: SessionState | None = None
    """Set by a continuation."""

    @property
    def ledger_id(self) -> str:
        """The workflow id of the session's ledger."""
        return f"session/{self.session}/ledger"

    @property
    def workflow_id(self) -> str:
        """The workflow id of the session."""
        return f"session/{self.session}"

    @property
    def memo(self) -> dict[str, str]:
        """What lists of sessions show, as the memo of the session's workflow."""
        return {"goal": self.goal[:200], "repository": self.repository}

    @property
    def summary(self) -> str:
        """What the Web UI shows."""
        return " ".join(self.goal.split())[:200]

    def continued(self, state: SessionState) -> Self:
        """Return the request that starts the next run."""
        return evolve(self, {"carried": state})


# --- signals: each takes one JSON object ----------------------------------------------------


class Said(BaseModel, frozen=True, extra="forbid"):
    """The fields of every signal from a person."""

    by: str = Field(default="", max_length=200)
    """Who sends it, in their own words; empty: unnamed."""


class SaidOf(Said, frozen=True, extra="forbid"):
    """A signal about a task or a changeset."""

    id: str = Field(max_length=200)


class ApprovePlan(Said, frozen=True, extra="forbid"):
    """`approve_plan`: continue with the plan as it is."""


class RejectPlan(Said, frozen=True, extra="forbid"):
    """`reject_plan`: plan again, with these notes."""

    notes: str = Field(default="", max_length=10_000)


class ReplacePlan(Said, frozen=True, extra="forbid"):
    """`replace_plan`: take this plan instead, before the first task has started."""

    plan: Plan


class EditPlan(Said, frozen=True, extra="forbid"):
    """`edit_plan`: continue with this plan in place of the one that the digest names."""

    digest: str = Field(max_length=64)
    plan: Plan


class ApproveChangeset(SaidOf, frozen=True, extra="forbid"):
    """`approve_changeset`: merge exactly the commits under this digest."""

    digest: str = Field(max_length=64)
    by_rule: bool = Field(default=False, strict=True)
    """A rule approves it for a person (a decisions file, say): it may only approve work that a gate
    judged, unless `approvals.unjudged` is `allow`."""
    comments: tuple[LineComment, ...] = Field(default=(), max_length=MOST_COMMENTS)
    """Kept with the tasks; told to an attempt that has to follow nevertheless."""


class RejectChangeset(SaidOf, frozen=True, extra="forbid"):
    """`reject_changeset`: its tasks go back to work, with this reason."""

    reason: str = Field(default="", max_length=10_000)
    comments: tuple[LineComment, ...] = Field(default=(), max_length=MOST_COMMENTS)
    """On lines of the work; the next attempt is told each with its place."""


class SkipTask(SaidOf, frozen=True, extra="forbid"):
    """`skip_task`: leave it out; `satisfies` says whether dependants may start anyway."""

    satisfies: bool = Field(default=False, strict=True)


class RetryTask(SaidOf, frozen=True, extra="forbid"):
    """`retry_task`: start one more attempt, or another review of the same work."""

    notes: str = Field(default="", max_length=10_000)
    review: bool = Field(default=False, strict=True)
    """Another review, without a new attempt."""


class RewindTask(SaidOf, frozen=True, extra="forbid"):
    """`rewind_task`: start one more attempt from what a turn of an earlier one left."""

    turn: int = Field(ge=1, strict=True)
    attempt: int | None = Field(default=None, ge=1, strict=True)
    """The attempt that the turn belongs to; None: the latest."""
    notes: str = Field(default="", max_length=10_000)


class RevertTask(SaidOf, frozen=True, extra="forbid"):
    """`revert_task`: take the work of a merged task back, as a changeset of its own."""

    reason: str = Field(default="", max_length=5_000)
    by_agent: bool = Field(default=False, strict=True)
    """Where git alone cannot, because later work is in the way, let an agent do it."""


class SteerTask(SaidOf, frozen=True, extra="forbid"):
    """`steer_task`: send a message to the agent for its next turn."""

    text: str = Field(min_length=1, max_length=10_000)


class AnswerQuestion(SaidOf, frozen=True, extra="forbid"):
    """`answer`: the answer to a question; `id` is the task's, or `plan` for the planner."""

    text: str = Field(min_length=1, max_length=10_000)


class SetPriority(SaidOf, frozen=True, extra="forbid"):
    """`set_priority`: higher goes first."""

    n: int = Field(ge=-100, le=100, strict=True)


class SetBudget(Said, frozen=True, extra="forbid"):
    """`set_budget`: the amount as typed; `policy.money.grants` parses it strictly."""

    usd: JsonValue


class Rework(SaidOf, frozen=True, extra="forbid"):
    """`rework`: add a task that fixes what checks and reviews of a pull request ask for."""

    id: str = Field(default="session", max_length=200)
    """The pull request's key: `session`, or a changeset's id."""


class Nothing(Said, frozen=True, extra="forbid"):
    """`proceed`, `pause`, `resume`, `stop`: without content."""


# --- queries --------------------------------------------------------------------------------


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
