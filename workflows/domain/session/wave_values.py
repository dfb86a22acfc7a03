"""What the session gives to its waves, and what they return."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.budget import Bill
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.gate import GateReport, GateSpec, Judgement
from workflows.domain.ids import ChangesetId, Commit, Digest, SessionId, TaskId, Tree
from workflows.domain.plan import Plan, Task
from workflows.domain.pull_request import MergedWork
from workflows.domain.repository import CopiedFile
from workflows.domain.session.session_config import CommitsConfig, WorktreeConfig
from workflows.domain.verdict import Verdict
from workflows.domain.violation import DiffLimits


class Grounds(BaseModel, frozen=True, extra="forbid"):
    """What every wave of a session must know: where the work is and what it must pass."""

    session: SessionId
    key: str
    """The repository's name on the host."""
    host_queue: str
    ledger: str
    worktree: WorktreeConfig
    environment: ProjectEnvironment = ProjectEnvironment()
    copied: tuple[CopiedFile, ...]
    gates: tuple[GateSpec, ...]
    command_timeout: timedelta
    turns: int
    agents: AgentSettings = AgentSettings()
    policy: ToolPolicy = ToolPolicy()
    limits: DiffLimits = DiffLimits()
    auto_pause_percent: int = 0
    """See `SessionConfig`; 0: a session of an earlier version."""
    commits: CommitsConfig = CommitsConfig()
    goal: str = ""


# --- plan -----------------------------------------------------------------------------------


class PlanRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a PlanWave."""

    grounds: Grounds
    route: tuple[ModelFacts, ...]
    base: Commit
    goal: str
    issue: str = ""
    """Where the goal was read, if it is an issue; empty: the person's own words."""
    brief: str
    notes: tuple[str, ...]
    """Why earlier plans were refused."""
    number: int


class PlanResult(BaseModel, frozen=True, extra="forbid"):
    """The result of a PlanWave."""

    plan: Plan | None
    reason: str = ""
    """Why there is no plan."""
    bill: Bill


# --- develop --------------------------------------------------------------------------------


class Assignment(BaseModel, frozen=True, extra="forbid"):
    """One attempt at one task."""

    task: Task
    attempt: int
    head: Commit
    """The session's head: the base, before the dependencies are merged into it."""
    dependencies: tuple[Commit, ...] = ()
    """Validated commits that are not in the head yet; merged into the base."""
    base: Commit | None = None
    """The base of the earlier work that this attempt continues; None: there is none."""
    restart_from: Commit | None = None
    """The earlier work; it is rebased onto the new base first."""
    first_base: Commit | None = None
    """The base of the task's first attempt; None: this is the first."""
    notes: tuple[str, ...] = ()
    steers: tuple[str, ...] = ()
    """What persons have said to the task's agents so far."""
    is_made_by_git: bool = False
    """The earlier work is submitted as it is, without an agent."""


class Start(BaseModel, frozen=True, extra="forbid"):
    """What an attempt's worktree holds at the start."""

    base: Commit
    commit: Commit
    work: Commit | None = None
    """The task's earlier work, if any: `commit` is that work on `base`."""
    conflicts: str = ""
    """One line for each path in which that work conflicts with the base."""


class DevelopRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a DevelopWave."""

    grounds: Grounds
    route: tuple[ModelFacts, ...]
    assignments: tuple[Assignment, ...]
    """In the order in which they start."""
    concurrency: int
    brief: str = ""
    """A short description of the repository, for each agent's opening."""


class Developed(BaseModel, frozen=True, extra="forbid"):
    """The attempt was submitted and its diff follows the rules."""

    kind: Literal["developed"] = "developed"
    task: TaskId
    attempt: int
    base: Commit
    commit: Commit
    tree: Tree
    family: str
    summary: str = ""
    """The developer's summary of the work, at most 4,000 characters."""
    ignored: tuple[str, ...]
    notices: tuple[str, ...] = ()
    """Findings of the diff check: allowed, but to be shown to a person."""
    bill: Bill


class NotDeveloped(BaseModel, frozen=True, extra="forbid"):
    """The attempt ended without acceptable work."""

    kind: Literal["not_developed"] = "not_developed"
    task: TaskId
    attempt: int
    end: AgentEnd
    """SUBMITTED if the diff was refused."""
    detail: str
    base: Commit | None
    checkpoint: Commit | None
    """The work so far; None if it cannot be used."""
    bill: Bill


class Waits(BaseModel, frozen=True, extra="forbid"):
    """The dependencies' commits conflict with each other; the task waits until they are merged."""

    kind: Literal["waits"] = "waits"
    task: TaskId
    attempt: int
    detail: str


DevelopItem = Annotated[Developed | NotDeveloped | Waits, Field(discriminator="kind")]


class TaskWord(BaseModel, frozen=True, extra="forbid"):
    """A person's message to one task's agent, or why the agent stops."""

    task: TaskId
    text: str


class DevelopResult(BaseModel, frozen=True, extra="forbid"):
    """The result of a DevelopWave, one item per assignment."""

    items: tuple[DevelopItem, ...]
    unheard: tuple[TaskWord, ...] = ()
    """Messages that came after the task's agent had ended."""


# --- validate -------------------------------------------------------------------------------


class Candidate(BaseModel, frozen=True, extra="forbid"):
    """One task's submitted work."""

    task: Task
    attempt: int
    validation: int = 1
    """The number of this attempt's validation, from 1, so that no two reviewers share a name."""
    base: Commit
    commit: Commit
    family: str
    summary: str = ""
    """The developer's summary of the work."""
    is_made_by_git: bool = False
    """It is exactly the reverse of merged work: the gates judge it, and no reviewer."""


class ValidateRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a ValidateWave."""

    grounds: Grounds
    route: tuple[ModelFacts, ...]
    candidates: tuple[Candidate, ...]
    brief: str = ""
    """A short description of the repository, for each reviewer's opening."""
    baseline: GateReport
    """The gates on the session's base: for work that is not based on the head."""
    base: Commit | None = None
    """The session's base, to which `baseline` belongs; only there can the tests that ran be
    compared."""
    head: Commit | None = None
    head_baseline: GateReport | None = None
    """The gates on the head; None: as on the base."""
    concurrency: int


class Validated(BaseModel, frozen=True, extra="forbid"):
    """The gates show no new failure, and a reviewer approves with evidence, or all abstained."""

    kind: Literal["validated"] = "validated"
    task: TaskId
    attempt: int
    tree: Tree
    diff: Digest | None = None
    """The whole diff in the store, for the person who approves it."""
    judgement: Judgement = Judgement()
    weakened: tuple[str, ...] = ()
    """Tests that the work deletes, skips or weakens, for the person."""
    gate_remarks: str = ""
    """What passed nevertheless: flakes, changed files, known failures with another cause."""
    verdict: Verdict
    bill: Bill


RefusedBy = Literal["gate", "reviewer", "abstention", "cap"]


class Refused(BaseModel, frozen=True, extra="forbid"):
    """A gate or the reviewer rejects the work.

    Or it could not be judged: for lack of money (`cap`), or because the host failed (`abstention`).
    """

    kind: Literal["refused"] = "refused"
    task: TaskId
    attempt: int
    by: RefusedBy
    notes: str
    """For the next attempt."""
    bill: Bill


ValidateItem = Annotated[Validated | Refused, Field(discriminator="kind")]


class ValidateResult(BaseModel, frozen=True, extra="forbid"):
    """The result of a ValidateWave, one item per candidate."""

    items: tuple[ValidateItem, ...]


class ItemReport(BaseModel, frozen=True, extra="forbid"):
    """One finished item of a wave that still runs, so that the session need not wait for it."""

    item: Annotated[
        Developed | NotDeveloped | Waits | Validated | Refused, Field(discriminator="kind")
    ]


# --- merge ----------------------------------------------------------------------------------


class QueuedChangeset(BaseModel, frozen=True, extra="forbid"):
    """One approved changeset."""

    id: ChangesetId
    digest: Digest
    tasks: tuple[TaskId, ...]
    commits: tuple[Commit, ...]
    title: str
    needs_judged: bool = False
    """A rule approved it: it is merged only if a gate judged the merged tree."""


class MergeRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a MergeWave."""

    grounds: Grounds
    repository: str
    base: Commit
    head: Commit
    delivered: Commit | None
    """The session's commit that the branch in the person's repository holds, or stands for."""
    landed: Commit | None = None
    """What that branch holds where it was rewritten; None: `delivered` itself."""
    undelivered: tuple[Commit, ...] = ()
    """What earlier waves merged and the branch does not hold."""
    queue: tuple[QueuedChangeset, ...]
    """In dependency order."""
    baseline: GateReport
    """The gates on the head: failures that merged work fixed must not return."""
    green: tuple[Tree, ...]
    """Trees whose gates were green before; gates do not run on them again."""


class MergedChangeset(BaseModel, frozen=True, extra="forbid"):
    """The changeset is in the session's branch."""

    kind: Literal["merged"] = "merged"
    id: ChangesetId
    head: Commit
    gate_remarks: str = ""
    """What the gates on the merged tree let pass; empty if they did not have to run."""


class ReturnedChangeset(BaseModel, frozen=True, extra="forbid"):
    """The changeset is not merged: one task must be reworked."""

    kind: Literal["returned"] = "returned"
    id: ChangesetId
    task: TaskId
    by: Literal["conflict", "gate"]
    notes: str


class HeldChangeset(BaseModel, frozen=True, extra="forbid"):
    """The changeset could not be tried (host, sandbox, disk); the work itself is not at fault."""

    kind: Literal["held"] = "held"
    id: ChangesetId
    reason: str


class UnjudgedChangeset(BaseModel, frozen=True, extra="forbid"):
    """Not merged: a rule approved it and no gate judged the merged tree. A person must approve."""

    kind: Literal["unjudged"] = "unjudged"
    id: ChangesetId
    judgement: Judgement


MergeItem = Annotated[
    MergedChangeset | ReturnedChangeset | HeldChangeset | UnjudgedChangeset,
    Field(discriminator="kind"),
]


class MergeResult(BaseModel, frozen=True, extra="forbid"):
    """The result of a MergeWave."""

    items: tuple[MergeItem, ...]
    head: Commit
    baseline: GateReport | None = None
    """The gates on the head; None if they did not run on it."""
    delivered: Commit | None
    branch: str | None
    landed: dict[Commit, Commit] = Field(default_factory=dict[Commit, Commit])
    """Where the branch was rewritten: what stands there for the session's commits."""
    delivery_notice: str = ""
    """What of the delivery is not as the person wants it."""
    delivery_refused: str = ""
    """Why the branch was not delivered; the work is safe in the session's repository on the
    host."""

    @property
    def merged(self) -> tuple[MergedWork, ...]:
        """What was merged, in order."""
        merged = (each for each in self.items if isinstance(each, MergedChangeset))
        return tuple(MergedWork(changeset=each.id, head=each.head) for each in merged)
