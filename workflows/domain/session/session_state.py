"""All that a session remembers: one serialisable value, replaced and never changed in place."""

from datetime import datetime
from decimal import Decimal
from typing import Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.budget import Bill, ProviderFault
from workflows.domain.changeset import Changeset
from workflows.domain.evolution import evolve
from workflows.domain.gate import GateReport, GateSpec
from workflows.domain.ids import Commit, Digest, TaskId, Tree
from workflows.domain.plan import Plan
from workflows.domain.pull_request import MergedWork, PullRequest
from workflows.domain.repository import Base
from workflows.domain.session.decision import Decision, DecisionOutcome
from workflows.domain.session.notice import Notice
from workflows.domain.session.question import Question
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskRecord


class ResolvedRoutes(BaseModel, frozen=True, extra="forbid"):
    """The routes as pinned facts."""

    planner: tuple[ModelFacts, ...]
    developer: tuple[ModelFacts, ...]
    reviewer: tuple[ModelFacts, ...]


class Prepared(BaseModel, frozen=True, extra="forbid"):
    """What the preparation found; it stays as it is for the whole session."""

    base: Base
    host_queue: str
    sandbox: str
    """What confines commands on the host; `none` where nothing does."""
    routes: ResolvedRoutes
    gates: tuple[GateSpec, ...]
    brief: str
    """A short description of the repository, for each agent's opening."""


class SessionChanges(TypedDict, total=False):
    """The changeable fields of a session's state."""

    phase: SessionPhase
    reason: str
    cap_usd: Decimal
    ended: Bill
    ledger_usd: Decimal
    prepared: Prepared | None
    baseline: GateReport | None
    head_baseline: GateReport | None
    plan: Plan | None
    plans_made: int
    plan_notes: tuple[str, ...]
    plan_fault: str
    is_plan_approved: bool
    plan_approved_by: str
    records: dict[TaskId, TaskRecord]
    changesets: tuple[Changeset, ...]
    cycle: int
    head: Commit | None
    delivered: Commit | None
    landed: dict[Commit, Commit]
    branch: str | None
    green: tuple[Tree, ...]
    notices: tuple[Notice, ...]
    questions: tuple[Question, ...]
    decisions: tuple[Decision, ...]
    decisions_dropped: int
    answered: dict[str, DecisionOutcome]
    resumes_to: SessionPhase | None
    is_cap_reached: bool
    holds: tuple[ProviderFault, ...]
    auto_paused_until: datetime | None
    halt: str
    merged: tuple[MergedWork, ...]
    pulls: tuple[PullRequest, ...]
    pulls_reworked: tuple[Digest, ...]
    is_followed: bool
    pulls_wanted: Digest | None
    pulls_tried: Digest | None
    pulls_fault: str


class SessionState(BaseModel, frozen=True, extra="forbid"):
    """The truth about a session; its continuation carries exactly this."""

    started_at: datetime
    phase: SessionPhase = SessionPhase.PREPARING
    reason: str = ""
    """One sentence on the phase, for a person."""
    cap_usd: Decimal
    ended: Bill = Bill()
    """The cost of the agents that have ended."""
    ledger_usd: Decimal = Decimal(0)
    """Settled spend as the ledger last reported it, running agents included."""
    prepared: Prepared | None = None
    """None: the preparation is not finished."""
    baseline: GateReport | None = None
    head_baseline: GateReport | None = None
    """The gates on the head; None until they ran on merged work."""
    # Set by planning.
    plan: Plan | None = None
    plans_made: int = 0
    plan_notes: tuple[str, ...] = ()
    plan_fault: str = ""
    """Why the planner made no plan."""
    is_plan_approved: bool = False
    plan_approved_by: str = ""
    # Moved by the work.
    records: dict[TaskId, TaskRecord] = Field(default_factory=dict)
    changesets: tuple[Changeset, ...] = ()
    cycle: int = 0
    head: Commit | None = None
    delivered: Commit | None = None
    """What of the head the person's branch has; `landed` tells by which commit."""
    landed: dict[Commit, Commit] = Field(default_factory=dict[Commit, Commit])
    """What stands on the branch for a commit of the session, where it was rewritten for it."""
    branch: str | None = None
    green: tuple[Tree, ...] = ()
    """Trees whose gates showed no new failure, the newest 50."""
    notices: tuple[Notice, ...] = ()
    questions: tuple[Question, ...] = ()
    """What agents asked; `policy.agent.questions` tells which questions are open."""
    decisions: tuple[Decision, ...] = ()
    """What persons and rules decided, oldest first; `policy.session.decision_record` bounds
    them."""
    decisions_dropped: int = 0
    answered: dict[str, DecisionOutcome] = Field(default_factory=dict)
    """The newest 100 Updates by id, oldest first: an Update that is sent again has one effect."""
    resumes_to: SessionPhase | None = None
    """Set while PAUSED."""
    is_cap_reached: bool = False
    holds: tuple[ProviderFault, ...] = ()
    """Why agents wait for a person, one for each; `policy.session.readiness` tells which still do.
    """
    auto_paused_until: datetime | None = None
    """Until then some agents wait because of too many errors; None: none does, and none did."""
    halt: str = ""
    """Why the session must not continue by itself; set by an outcome."""
    merged: tuple[MergedWork, ...] = ()
    """What was merged, in order."""
    # With `deliver: pull_request`.
    pulls: tuple[PullRequest, ...] = ()
    """As the hosting service last showed them."""
    pulls_reworked: tuple[Digest, ...] = ()
    """The remarks for which an attempt was started, by digest."""
    is_followed: bool = False
    """The time to follow the pull requests is over, or none of them is open."""
    pulls_wanted: Digest | None = None
    """The revision of the pull requests that were last asked for."""
    pulls_tried: Digest | None = None
    """The revision that was last brought about, or failed with `pulls_fault`."""
    pulls_fault: str = ""

    @property
    def spent_usd(self) -> Decimal:
        """The known spend. Both sums may lag behind the actual spend; neither exceeds it."""
        return max(self.ended.usd, self.ledger_usd)

    def on_branch(self, commit: Commit) -> Commit:
        """Return what stands on the person's branch for a delivered commit of the session."""
        return self.landed.get(commit, commit)

    def evolve(self, **changes: Unpack[SessionChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)
