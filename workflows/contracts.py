"""What workflows ask of activities, as values: one contract for each activity.

The activity of the same name implements it; `tests/unit/test_contracts.py` holds the two together.
Requests and outcomes are small (well below 256 kB): long texts stand in the store and go by digest.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field
from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows import queues
from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.agent.messages import Message, ToolCall
from workflows.domain.agent.model_values import GivenFacts, ModelFacts, Role, Usage
from workflows.domain.agent.tool_policy import ToolName, ToolPolicy
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.gate import GateReport, GateSpec
from workflows.domain.ids import AgentId, Commit, Digest, SessionId, TaskId, Tree
from workflows.domain.repository import Base, CopiedFile
from workflows.domain.session.session_config import HostPattern, ModelName, Routes, WorktreeConfig
from workflows.domain.session.session_state import ResolvedRoutes
from workflows.domain.session.wave_values import Grounds
from workflows.domain.verdict import Evidence
from workflows.domain.violation import DiffLimits, Violation
from workflows.errors import NEVER_RETRIED, UNKNOWN_OUTCOME

_HEARTBEAT = timedelta(seconds=30)

Request = TypeVar("Request", bound=BaseModel)
Outcome = TypeVar("Outcome")


_LAST_CHANCE = timedelta(minutes=2)


@dataclass(frozen=True)
class Contract(Generic[Request, Outcome]):
    """One activity as a workflow sees it."""

    name: str
    request: type[Request]
    outcome: Any
    """The outcome's type; a union where the activity has several expected outcomes."""
    queue: str
    start_to_close: timedelta
    retry: RetryPolicy
    heartbeat: timedelta | None = None

    async def ask(
        self,
        request: Request,
        summary: str,
        queue: str | None = None,
        start_to_close: timedelta | None = None,
        *,
        is_last: bool = False,
    ) -> Outcome:
        """Run the activity from workflow code and return its outcome.

        Args:
            request: its one input.
            summary: what a person reads in the Web UI, in plain words.
            queue: a host's own queue where the work needs that host's disk; None: the contract's.
            start_to_close: a bound other than the contract's.
            is_last: run it even where the workflow was cancelled before; then it is given two
                minutes in all, for nothing could cancel it again.

        Raises:
            ActivityError: after the retries that the contract allows.
            CancelledError: the workflow was cancelled before.
        """
        if not is_last:
            end_if_cancelled()
        return await workflow.execute_activity(
            self.name,
            request,
            result_type=self.outcome,
            task_queue=queue or self.queue,
            start_to_close_timeout=start_to_close or self.start_to_close,
            schedule_to_close_timeout=_LAST_CHANCE if is_cancelled() else None,
            heartbeat_timeout=self.heartbeat,
            retry_policy=self.retry,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=summary[:200],
        )


_PATIENT = 20
"""Attempts over about a quarter of an hour; what still fails then is told to a person."""


def _retry(attempts: int, never: tuple[str, ...] = NEVER_RETRIED) -> RetryPolicy:
    return RetryPolicy(
        initial_interval=timedelta(seconds=1),
        backoff_coefficient=2.0,
        maximum_interval=timedelta(minutes=1),
        maximum_attempts=attempts,
        non_retryable_error_types=[str(kind) for kind in never],
    )


# --- role land: the person's repository, with the person's own rights -----------------------


class ExportBase(BaseModel, frozen=True, extra="forbid"):
    """Read the person's repository once: check it, and bundle the base."""

    session: SessionId
    repository: str
    base: str | None
    """A branch, tag or commit; None: what is checked out."""
    worktree: WorktreeConfig


class DeliverBranch(BaseModel, frozen=True, extra="forbid"):
    """Move `refs/heads/blueflame/<session>` in the person's repository by compare-and-swap."""

    session: SessionId
    repository: str
    bundle: Digest
    old: Commit | None
    """What the branch holds now; None: it does not exist."""
    new: Commit


class Delivered(BaseModel, frozen=True, extra="forbid"):
    """The branch holds `new`."""

    kind: Literal["delivered"] = "delivered"
    branch: str


class DeliveryRefused(BaseModel, frozen=True, extra="forbid"):
    """The work waits, safe, in our own repository."""

    kind: Literal["refused"] = "refused"
    reason: str


DeliveryOutcome = Annotated[Delivered | DeliveryRefused, Field(discriminator="kind")]

EXPORT_BASE = Contract[ExportBase, Base](
    "repository.export", ExportBase, Base, queues.LAND, timedelta(minutes=30), _retry(5), _HEARTBEAT
)
DELIVER_BRANCH = Contract[DeliverBranch, DeliveryOutcome](
    "landing.deliver",
    DeliverBranch,
    DeliveryOutcome,
    queues.LAND,
    timedelta(minutes=10),
    _retry(_PATIENT),
    _HEARTBEAT,
)


# --- role host: worktrees, tools, gates, merges ---------------------------------------------


class ClaimHost(BaseModel, frozen=True, extra="forbid"):
    """Ask any host to take a session."""

    session: SessionId
    sandbox: Literal["required", "none"]
    """`none`: the person accepts a host that confines nothing."""
    environment: ProjectEnvironment = ProjectEnvironment()
    """What commands have to find there."""


class HostClaim(BaseModel, frozen=True, extra="forbid"):
    """The host that answered."""

    host: str
    queue: str
    sandbox: str
    """What confines commands there, as in `bubblewrap 0.8.0`; `none` where nothing does."""
    warnings: tuple[str, ...] = ()


class ImportBase(BaseModel, frozen=True, extra="forbid"):
    """Fill the host's own bare repository from the bundle, and look for gates."""

    session: SessionId
    key: str
    bundle: Digest
    shallow: tuple[Commit, ...]
    commit: Commit
    gates: tuple[GateSpec, ...] | None
    """None: detect them."""
    disk_bytes: int
    """What the session's worktrees will need; refused where the disk has less."""
    unfilled: tuple[str, ...] = ()
    """What is not in a worktree as it seems to be, one sentence each; it goes into the brief."""


class ImportedBase(BaseModel, frozen=True, extra="forbid"):
    """The base is there."""

    gates: tuple[GateSpec, ...]
    warnings: tuple[str, ...] = ()
    brief: str = ""
    """The repository in at most 4,000 characters: layout, languages, how to build and test."""


class PrepareWorktree(BaseModel, frozen=True, extra="forbid"):
    """Make (or find) one agent's worktree at a commit, set up."""

    worktree: WorktreeRef
    start: Commit
    setup: tuple[tuple[str, ...], ...] = ()
    network: tuple[HostPattern, ...] = ()
    """Hosts that the set-up commands may reach."""
    copied: tuple[CopiedFile, ...] = ()


class WorktreeReady(BaseModel, frozen=True, extra="forbid"):
    """The worktree stands at its checkpoint."""

    checkpoint: Commit


class RunTools(BaseModel, frozen=True, extra="forbid"):
    """Run one turn's tool calls on a worktree, exactly once, and commit a checkpoint."""

    worktree: WorktreeRef
    role: Role
    turn: int = Field(ge=1)
    checkpoint: Commit
    """The commit that the worktree must stand at before."""
    calls: tuple[ToolCall, ...] = Field(min_length=1)
    claims: tuple[str, ...]
    policy: ToolPolicy = ToolPolicy()
    gate_files: tuple[str, ...] = ()
    command_timeout: timedelta
    at: datetime
    """The workflow's time: the date of the checkpoint's commit, the same on every retry."""


class Observation(BaseModel, frozen=True, extra="forbid"):
    """What one tool call answered, cut on entry."""

    call_id: str
    name: str
    text: str
    is_error: bool = False
    whole: Digest | None = None
    """The whole text in the store, where it was cut."""


class ToolsOutcome(BaseModel, frozen=True, extra="forbid"):
    """All observations of a turn, and the checkpoint that holds their effects."""

    observations: tuple[Observation, ...]
    checkpoint: Commit
    tree: Tree


class FinishTask(BaseModel, frozen=True, extra="forbid"):
    """Turn an agent's last checkpoint into one task commit, after checking the collected diff."""

    worktree: WorktreeRef
    task: TaskId
    title: str
    attempt: int
    base: Commit
    checkpoint: Commit
    claims: tuple[str, ...]
    policy: ToolPolicy = ToolPolicy()
    gate_files: tuple[str, ...] = ()
    limits: DiffLimits = DiffLimits()
    allow_secret: tuple[str, ...] = ()
    """Paths in which the person allows what looks like a key."""
    at: datetime


class TaskCommitted(BaseModel, frozen=True, extra="forbid"):
    """The submitted work as one commit on the task's base."""

    kind: Literal["committed"] = "committed"
    commit: Commit
    tree: Tree
    paths: tuple[str, ...]
    """Changed paths, at most 200."""
    ignored: tuple[str, ...] = ()
    """Ignored files and folders there, at most 20: they are not part of the work."""
    notices: tuple[str, ...] = ()
    """Allowed, but to be seen by a person; at most 20."""


class WorkRefused(BaseModel, frozen=True, extra="forbid"):
    """The diff breaks a rule, or there is none."""

    kind: Literal["refused"] = "refused"
    reason: Literal["empty", "violation"]
    findings: tuple[Violation, ...]
    """At most 100."""


FinishOutcome = Annotated[TaskCommitted | WorkRefused, Field(discriminator="kind")]


class LastCheckpoint(BaseModel, frozen=True, extra="forbid"):
    """Ask for an agent's last recorded checkpoint, after it was stopped within a turn."""

    worktree: WorktreeRef


class RecordedCheckpoint(BaseModel, frozen=True, extra="forbid"):
    """The checkpoint; None: the agent recorded none."""

    checkpoint: Commit | None


class RemoveWorktree(BaseModel, frozen=True, extra="forbid"):
    """Remove one worktree; its checkpoints stay under `refs/blueflame/`."""

    worktree: WorktreeRef


class Removed(BaseModel, frozen=True, extra="forbid"):
    """The worktree is gone."""


class RunGates(BaseModel, frozen=True, extra="forbid"):
    """Judge one commit's tree by all gates, in the sandbox, on a fresh checkout."""

    session: SessionId
    key: str
    commit: Commit
    gates: tuple[GateSpec, ...]
    baseline: GateReport | None
    """The base's results; new failures against it are rerun once. None: this is the baseline."""
    setup: tuple[tuple[str, ...], ...] = ()
    network: tuple[HostPattern, ...] = ()
    """Hosts that the set-up commands, but no gate, may reach."""
    copied: tuple[CopiedFile, ...] = ()
    environment: ProjectEnvironment = ProjectEnvironment()


def gates_on(grounds: Grounds, commit: Commit, baseline: GateReport | None) -> RunGates:
    """Return the order to run a session's gates on a commit; `baseline` as in `RunGates`."""
    return RunGates(
        session=grounds.session,
        key=grounds.key,
        commit=commit,
        gates=grounds.gates,
        baseline=baseline,
        setup=grounds.worktree.setup,
        network=grounds.worktree.network,
        copied=grounds.copied,
        environment=grounds.environment,
    )


class ReadDiff(BaseModel, frozen=True, extra="forbid"):
    """Show what lies between two commits."""

    key: str
    base: Commit
    commit: Commit


class DiffText(BaseModel, frozen=True, extra="forbid"):
    """The diff, cut for a prompt, and whole in the store."""

    text: str
    """At most 40,000 characters."""
    whole: Digest
    paths: tuple[str, ...]
    """At most 200."""
    weakened: tuple[str, ...] = ()
    """Tests that it deletes, skips or weakens, one line each, at most 31."""


class CheckEvidence(BaseModel, frozen=True, extra="forbid"):
    """Look each citation up in the commit."""

    key: str
    commit: Commit
    evidence: tuple[Evidence, ...]


class EvidenceChecked(BaseModel, frozen=True, extra="forbid"):
    """For each citation, in order: do its words stand at (or within 3 lines of) its lines?"""

    holds: tuple[bool, ...]


class MergeCommits(BaseModel, frozen=True, extra="forbid"):
    """Merge task commits onto a head, in order, by merge-tree; no worktree is involved."""

    session: SessionId
    key: str
    head: Commit
    commits: tuple[Commit, ...] = Field(min_length=1)
    title: str
    at: datetime


class MergedCommits(BaseModel, frozen=True, extra="forbid"):
    """They merge cleanly."""

    kind: Literal["merged"] = "merged"
    commit: Commit
    tree: Tree


class MergeConflict(BaseModel, frozen=True, extra="forbid"):
    """One of them does not."""

    kind: Literal["conflict"] = "conflict"
    commit: Commit
    paths: tuple[str, ...]
    text: str
    """Git's messages by kind (content, modify/delete, …), at most 4,000 characters."""


MergeOutcome = Annotated[MergedCommits | MergeConflict, Field(discriminator="kind")]


class AdvanceBranch(BaseModel, frozen=True, extra="forbid"):
    """Move the session's own ref by compare-and-swap, and bundle it for landing."""

    session: SessionId
    key: str
    base: Commit
    old: Commit
    new: Commit


class Advanced(BaseModel, frozen=True, extra="forbid"):
    """The ref holds `new`."""

    bundle: Digest


CLAIM_HOST = Contract[ClaimHost, HostClaim](
    "hosts.claim", ClaimHost, HostClaim, queues.HOST, timedelta(minutes=2), _retry(5)
)
IMPORT_BASE = Contract[ImportBase, ImportedBase](
    "repository.import",
    ImportBase,
    ImportedBase,
    queues.HOST,
    timedelta(minutes=30),
    _retry(5),
    _HEARTBEAT,
)
PREPARE_WORKTREE = Contract[PrepareWorktree, WorktreeReady](
    "worktrees.prepare",
    PrepareWorktree,
    WorktreeReady,
    queues.HOST,
    timedelta(minutes=30),
    _retry(5),
    _HEARTBEAT,
)
RUN_TOOLS = Contract[RunTools, ToolsOutcome](
    "tools.run",
    RunTools,
    ToolsOutcome,
    queues.HOST,
    timedelta(hours=1),
    _retry(_PATIENT),
    _HEARTBEAT,
)
FINISH_TASK = Contract[FinishTask, FinishOutcome](
    "worktrees.finish",
    FinishTask,
    FinishOutcome,
    queues.HOST,
    timedelta(minutes=10),
    _retry(_PATIENT),
    _HEARTBEAT,
)
LAST_CHECKPOINT = Contract[LastCheckpoint, RecordedCheckpoint](
    "worktrees.last",
    LastCheckpoint,
    RecordedCheckpoint,
    queues.HOST,
    timedelta(minutes=5),
    _retry(5),
    _HEARTBEAT,
)
REMOVE_WORKTREE = Contract[RemoveWorktree, Removed](
    "worktrees.remove",
    RemoveWorktree,
    Removed,
    queues.HOST,
    timedelta(minutes=10),
    _retry(5),
    _HEARTBEAT,
)
RUN_GATES = Contract[RunGates, GateReport](
    "gates.run", RunGates, GateReport, queues.HOST, timedelta(hours=4), _retry(5), _HEARTBEAT
)
READ_DIFF = Contract[ReadDiff, DiffText](
    "reviews.diff", ReadDiff, DiffText, queues.HOST, timedelta(minutes=5), _retry(5), _HEARTBEAT
)
CHECK_EVIDENCE = Contract[CheckEvidence, EvidenceChecked](
    "reviews.evidence", CheckEvidence, EvidenceChecked, queues.HOST, timedelta(minutes=5), _retry(5)
)
MERGE_COMMITS = Contract[MergeCommits, MergeOutcome](
    "merging.merge",
    MergeCommits,
    MergeOutcome,
    queues.HOST,
    timedelta(minutes=10),
    _retry(_PATIENT),
    _HEARTBEAT,
)
ADVANCE_BRANCH = Contract[AdvanceBranch, Advanced](
    "merging.advance",
    AdvanceBranch,
    Advanced,
    queues.HOST,
    timedelta(minutes=10),
    _retry(_PATIENT),
    _HEARTBEAT,
)


# --- role models: the only workers that hold keys -------------------------------------------


class ResolveModels(BaseModel, frozen=True, extra="forbid"):
    """Look the routes' models up once, so that facts and prices are pinned in the session."""

    routes: Routes
    catalogue: dict[ModelName, GivenFacts] = Field(default_factory=dict[ModelName, GivenFacts])
    """What the person says of models; what is left out is looked up."""


class CallModel(BaseModel, frozen=True, extra="forbid"):
    """One model call: the prefix that it extends, and only what follows it."""

    session: SessionId
    agent: AgentId
    role: Role
    model: ModelFacts
    turn: int = Field(ge=1)
    prefix: Digest | None
    """The head of the stored conversation; None: `messages` are the whole of it."""
    messages: tuple[Message, ...] = Field(min_length=1)
    max_output_tokens: int = Field(gt=0)
    tools: tuple[ToolName, ...] | None = None
    """Those that a person leaves to the role; None: all that it has. Others are not offered."""
    longest_wait: timedelta | None = None
    """Counted from the first try; what would take longer fails. None: as long as it takes."""


class ModelAnswered(BaseModel, frozen=True, extra="forbid"):
    """One settled answer."""

    kind: Literal["answered"] = "answered"
    text: str
    tool_calls: tuple[ToolCall, ...]
    head: Digest
    """The stored conversation with this answer at its end: the prefix of the next call."""
    stop: Literal["end", "tool_calls", "truncated", "refusal", "pause", "malformed"]
    usage: Usage
    cost_usd: Decimal
    latency: timedelta
    """From sending to the whole answer; waits for a rate limit are not in it."""
    scripted: bool = False


class PrefixLost(BaseModel, frozen=True, extra="forbid"):
    """The store lost the chain; nothing was sent. Send the whole conversation."""

    kind: Literal["prefix_lost"] = "prefix_lost"


ModelOutcome = Annotated[ModelAnswered | PrefixLost, Field(discriminator="kind")]

RESOLVE_MODELS = Contract[ResolveModels, ResolvedRoutes](
    "models.resolve", ResolveModels, ResolvedRoutes, queues.MODELS, timedelta(minutes=1), _retry(5)
)
CALL_MODEL = Contract[CallModel, ModelOutcome](
    "models.call",
    CallModel,
    ModelOutcome,
    queues.MODELS,
    timedelta(minutes=20),
    _retry(0, (*NEVER_RETRIED, *UNKNOWN_OUTCOME)),
    _HEARTBEAT,
)

ALL: tuple[Contract[Any, Any], ...] = (
    EXPORT_BASE,
    DELIVER_BRANCH,
    CLAIM_HOST,
    IMPORT_BASE,
    PREPARE_WORKTREE,
    RUN_TOOLS,
    FINISH_TASK,
    LAST_CHECKPOINT,
    REMOVE_WORKTREE,
    RUN_GATES,
    READ_DIFF,
    CHECK_EVIDENCE,
    MERGE_COMMITS,
    ADVANCE_BRANCH,
    RESOLVE_MODELS,
    CALL_MODEL,
)
