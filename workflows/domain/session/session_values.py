"""A session's input, its signals, what its queries answer, and its result."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field, JsonValue

from workflows.domain.evolution import evolve
from workflows.domain.ids import ChangesetId, Commit, Digest, SessionId, TaskId
from workflows.domain.plan import Plan
from workflows.domain.session.decision import Decision
from workflows.domain.session.notice import Notice
from workflows.domain.session.question import Question
from workflows.domain.session.session_config import Pacing, SessionConfig
from workflows.domain.session.session_state import SessionPhase, SessionState
from workflows.domain.task import TaskState

VIEW_SCHEMA = 1


class SessionRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a session."""

    session: SessionId
    goal: str = Field(min_length=1, max_length=50_000)
    repository: str
    """The path of the person's repository, as role `land` sees it."""
    base: str | None = None
    config: SessionConfig
    plan: Plan | None = None
    """A plan that a person brings; the planner is not asked then."""
    plan_by: str = Field(default="", max_length=200)
    """Who brings it: their own plan needs no second approval. Empty: it waits for one."""
    waves_per_run: int = Field(default=500, gt=0)
    """After so many waves in one run the workflow continues as new, when none runs."""
    carried: SessionState | None = None
    """Set by a continuation."""

    @property
    def ledger_id(self) -> str:
        """The workflow id of the session's ledger."""
        return f"session/{self.session}/ledger"

    def continued(self, state: SessionState) -> Self:
        """Return what starts the next run."""
        return evolve(self, {"carried": state})


# --- signals: each takes one JSON object ----------------------------------------------------


class Said(BaseModel, frozen=True, extra="forbid"):
    """What every signal of a person has."""

    by: str = Field(default="", max_length=200)
    """Who sends it, in their own words; empty: it names no one."""


class SaidOf(Said, frozen=True, extra="forbid"):
    """A signal about a task or a changeset."""

    id: str = Field(max_length=200)


class ApprovePlan(Said, frozen=True, extra="forbid"):
    """`approve_plan`: go on with the plan as it is."""


class RejectPlan(Said, frozen=True, extra="forbid"):
    """`reject_plan`: plan again, with these notes."""

    notes: str = Field(default="", max_length=10_000)


class ReplacePlan(Said, frozen=True, extra="forbid"):
    """`replace_plan`: take this plan instead, before the first task has started."""

    plan: Plan


class EditPlan(Said, frozen=True, extra="forbid"):
    """`edit_plan`: go on with this plan in place of the one that the digest names."""

    digest: str = Field(max_length=64)
    plan: Plan


class ApproveChangeset(SaidOf, frozen=True, extra="forbid"):
    """`approve_changeset`: merge exactly the commits under this digest."""

    digest: str = Field(max_length=64)
    by_rule: bool = Field(default=False, strict=True)
    """A rule decides in a person's place (a decisions file, say): it may only approve work that a
    gate judged, unless `approvals.unjudged` is `allow`."""


class RejectChangeset(SaidOf, frozen=True, extra="forbid"):
    """`reject_changeset`: its tasks go back to work, with this reason."""

    reason: str = Field(default="", max_length=10_000)


class SkipTask(SaidOf, frozen=True, extra="forbid"):
    """`skip_task`: leave it out; `satisfies` says whether dependants may start all the same."""

    satisfies: bool = Field(default=False, strict=True)


class RetryTask(SaidOf, frozen=True, extra="forbid"):
    """`retry_task`: one more attempt, or another review of the same work."""

    notes: str = Field(default="", max_length=10_000)
    review: bool = Field(default=False, strict=True)
    """Another review, without a new attempt."""


class SteerTask(SaidOf, frozen=True, extra="forbid"):
    """`steer_task`: say something to the agent, at its next turn."""

    text: str = Field(min_length=1, max_length=10_000)


class AnswerQuestion(SaidOf, frozen=True, extra="forbid"):
    """`answer`: what an agent asked; `id` is the task's, or `plan` for the planner."""

    text: str = Field(min_length=1, max_length=10_000)


class SetPriority(SaidOf, frozen=True, extra="forbid"):
    """`set_priority`: higher goes first."""

    n: int = Field(ge=-100, le=100, strict=True)


class SetBudget(Said, frozen=True, extra="forbid"):
    """`set_budget`: the amount as it came; `policy.money` reads it, strictly."""

    usd: JsonValue


class Nothing(Said, frozen=True, extra="forbid"):
    """`proceed`, `pause`, `resume`, `stop`: no content is needed."""


# --- queries --------------------------------------------------------------------------------


class TaskLine(BaseModel, frozen=True, extra="forbid"):
    """One task in the whole picture; at most 320 bytes as JSON."""

    id: TaskId
    state: TaskState
    attempt: int
    priority: int
    title: str = Field(max_length=48)
    reason: str = Field(default="", max_length=60)


class ChangesetLine(BaseModel, frozen=True, extra="forbid"):
    """One changeset in the whole picture."""

    id: ChangesetId
    state: str
    digest: Digest | None
    """Only while it waits for approval: what an approval must name."""
    tasks: tuple[TaskId, ...]
    approved_by: str = ""
    """Who approved it, a person or a rule; empty while no one has."""
    judged_by: tuple[str, ...] = ()
    """The gates that judged its work and found nothing new; empty until it is validated."""
    not_judged: str = ""
    """Why gates judged nothing of it, where some did; at most 200 characters, and fewer where many
    changesets have one."""
    not_reviewed: str = Field(default="", exclude_if=lambda text: not text)
    """`task: reason` where no reviewer gave a verdict; a person has to decide. Cut as the above,
    and left out where it is empty: there may be a thousand lines."""


class _ViewChanges(TypedDict, total=False):
    tasks: tuple[TaskLine, ...]
    changesets: tuple[ChangesetLine, ...]
    notices: tuple[Notice, ...]
    decisions: tuple[Decision, ...]
    questions: tuple[Question, ...]


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
    """The branch in the person's repository; None until something was delivered."""
    base: Commit | None
    head: Commit | None
    sandbox: str
    scripted: bool
    """True where a scripted model speaks for any role."""
    spent_usd: Decimal
    is_estimated: bool = False
    """True where a part of it is an estimate, because a provider counted no tokens; known of agents
    that have ended."""
    cap_usd: Decimal
    tasks: tuple[TaskLine, ...]
    changesets: tuple[ChangesetLine, ...]
    notices: tuple[Notice, ...]
    questions: tuple[Question, ...] = ()
    """What agents ask the person and wait for, the oldest first."""
    unjudged: Literal["ask", "allow"] = "ask"
    """`approvals.unjudged`: whether a rule may approve what no gate judged."""
    plan_approved_by: str = ""
    """Who approved the plan, a person or a rule; empty while no one has."""
    decisions: tuple[Decision, ...] = ()
    """What persons and rules decided, oldest first, at most 100."""
    decisions_dropped: int = 0
    """How many more there were."""
    started_at: datetime

    def evolve(self, **changes: Unpack[_ViewChanges]) -> Self:
        """Return it with some fields replaced."""
        return evolve(self, changes)


SessionOutcome = Literal["complete", "incomplete", "stopped", "failed"]
"""`complete` only where every task is merged or was skipped by a person."""


class SessionResult(BaseModel, frozen=True, extra="forbid"):
    """How a session ended."""

    schema_version: int = VIEW_SCHEMA
    outcome: SessionOutcome
    reason: str
    branch: str | None
    head: Commit | None
    spent_usd: Decimal
    tasks: tuple[TaskLine, ...]
    scripted: bool
    is_estimated: bool = False
    plan_approved_by: str = ""
    decisions: tuple[Decision, ...] = ()
    decisions_dropped: int = 0
