"""Role host: worktrees, tools, gates, reviews and merges."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workflows import queues
from workflows.contracts.contract import HEARTBEAT, PATIENT, Contract, retry
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.gate import GateSpec, TimedPart
from workflows.domain.ids import Commit, Digest, SessionId, TaskId, Tree
from workflows.domain.plan import TaskKind
from workflows.domain.repository import CopiedFile
from workflows.domain.session.session_config import SETUP_TIMEOUT, HostPattern
from workflows.domain.verdict import Evidence, EvidencePlace
from workflows.domain.violation import DiffLimits, Violation


class ClaimHost(BaseModel, frozen=True, extra="forbid"):
    """Ask any host to take a session."""

    session: SessionId
    sandbox: Literal["required", "none"]
    """`none`: the person accepts a host that does not confine commands."""
    environment: ProjectEnvironment = ProjectEnvironment()
    """What the host must offer to commands."""


class HostClaim(BaseModel, frozen=True, extra="forbid"):
    """The host that answered."""

    host: str
    queue: str
    sandbox: str
    """What confines commands there, as in `bubblewrap 0.8.0`; `none` if they are not confined."""
    warnings: tuple[str, ...] = ()


class AwaitBase(BaseModel, frozen=True, extra="forbid"):
    """Find out what the host's own bare repository lacks for a base."""

    key: str
    commit: Commit


class AwaitedBase(BaseModel, frozen=True, extra="forbid"):
    """What has to be sent."""

    is_there: bool
    """Nothing has to be sent, unless a session wants more history than `ends` leaves."""
    known: tuple[Commit, ...] = ()
    place: str | None = None
    """As in `SendBase`."""
    ends: Digest | None = None
    """As in `SendBase`."""


class ImportBase(BaseModel, frozen=True, extra="forbid"):
    """Name the base in the host's own bare repository, and look for gates."""

    session: SessionId
    key: str
    bundle: Digest | None = None
    """What brings it, and is discarded then; None: its objects are there."""
    names: Digest | None = None
    """Tags and remote-tracking names that worktrees can read; None: there are none."""
    excludes: Digest | None = None
    """What git ignores in worktrees beside `.gitignore` files; None: nothing."""
    rules: Digest | None = None
    """How the person's git converts files beside `.gitattributes` files; None: no other way."""
    shallow: tuple[Commit, ...]
    """Where the history ends in the person's repository."""
    ends: Digest | None = None
    """Where it may end here, as in `SentBase`; None: only as in the person's repository."""
    commit: Commit
    gates: tuple[GateSpec, ...] | None
    """None: detect them."""
    disk_bytes: int
    """What the session's worktrees will need; a disk with less free space is refused."""
    unfilled: tuple[str, ...] = ()
    """How worktrees differ from what you would expect, one sentence each; goes into the brief."""


class ImportedBase(BaseModel, frozen=True, extra="forbid"):
    """The base is on the host."""

    gates: tuple[GateSpec, ...]
    warnings: tuple[str, ...] = ()
    brief: str = ""
    """The repository in at most 4,000 characters: layout, languages, how to build and test."""


class PrepareWorktree(BaseModel, frozen=True, extra="forbid"):
    """Make (or find) one agent's worktree at a commit, and set it up."""

    worktree: WorktreeRef
    start: Commit
    setup: tuple[tuple[str, ...], ...] = ()
    network: tuple[HostPattern, ...] = ()
    """Hosts that the set-up commands may reach."""
    setup_timeout: timedelta = SETUP_TIMEOUT
    """The time limit of each set-up command."""
    copied: tuple[CopiedFile, ...] = ()


class WorktreeReady(BaseModel, frozen=True, extra="forbid"):
    """The worktree stands at its checkpoint."""

    checkpoint: Commit
    parts: tuple[TimedPart, ...] = ()
    """Its set-up, for the trace."""


class RunTools(BaseModel, frozen=True, extra="forbid"):
    """Run one turn's tool calls on a worktree, exactly once, and commit a checkpoint."""

    worktree: WorktreeRef
    role: Role
    turn: int = Field(ge=1)
    checkpoint: Commit
    """The commit at which the worktree must be before the calls."""
    calls: tuple[ToolCall, ...] = Field(min_length=1)
    claims: tuple[str, ...]
    policy: ToolPolicy = ToolPolicy()
    gate_files: tuple[str, ...] = ()
    command_timeout: timedelta
    folder: str = ""
    """Where a command starts, relative to the worktree; empty for its root."""
    at: datetime
    """The workflow's time, as the date of the checkpoint's commit: the same on every retry."""


class Observation(BaseModel, frozen=True, extra="forbid"):
    """What one tool call answered, cut to the limit."""

    call_id: str
    name: str
    text: str
    is_error: bool = False
    is_failed: bool = False
    """An error, or a command of which a part did not exit with 0."""
    is_broken: bool = False
    """The tool itself failed: it gave no answer, or a limit or a signal ended the command."""
    whole: Digest | None = None
    """The whole text in the store, if it was cut."""
    took: timedelta | None = None
    """For the trace; None: an outcome of an earlier version."""


class ToolsOutcome(BaseModel, frozen=True, extra="forbid"):
    """All observations of a turn, and the checkpoint that holds their effects."""

    observations: tuple[Observation, ...]
    checkpoint: Commit
    tree: Tree
    folder: str = ""
    """Where the next command starts."""


class CommitWords(BaseModel, frozen=True, extra="forbid"):
    """What the message of a task's commit is made from, beside its title."""

    kind: TaskKind
    goal: str
    """The session's: a ticket that it names belongs to the work."""
    summary: str
    """What the developer said of the work."""
    criteria: tuple[str, ...]


class FinishTask(BaseModel, frozen=True, extra="forbid"):
    """Turn an agent's last checkpoint into one task commit, after checking the collected diff."""

    worktree: WorktreeRef
    task: TaskId
    title: str
    attempt: int
    base: Commit
    first_base: Commit | None = None
    """The base of the task's first attempt; None: `base`."""
    task_text: str = ""
    """The task's full text: merged lines that it quotes may be removed."""
    checkpoint: Commit
    claims: tuple[str, ...]
    policy: ToolPolicy = ToolPolicy()
    gate_files: tuple[str, ...] = ()
    limits: DiffLimits = DiffLimits()
    allow_secret: tuple[str, ...] = ()
    """Paths in which the person allows text that looks like a key."""
    at: datetime
    words: CommitWords | None = None
    """None: the title is the whole message."""
    keeps_turns: bool = False
    """Whether each turn that changed files becomes a commit; False: one commit for all."""


class TaskCommitted(BaseModel, frozen=True, extra="forbid"):
    """The submitted work as one commit on the task's base."""

    kind: Literal["committed"] = "committed"
    commit: Commit
    tree: Tree
    paths: tuple[str, ...]
    """Changed paths, at most 200."""
    ignored: tuple[str, ...] = ()
    """Ignored files and folders there, at most 20; they are not part of the work."""
    notices: tuple[str, ...] = ()
    """Allowed, but shown to a person; at most 20."""


class WorkRefused(BaseModel, frozen=True, extra="forbid"):
    """The diff breaks a rule, or is empty."""

    kind: Literal["refused"] = "refused"
    reason: Literal["empty", "violation"]
    findings: tuple[Violation, ...]
    """At most 100."""


FinishOutcome = Annotated[TaskCommitted | WorkRefused, Field(discriminator="kind")]


class LastCheckpoint(BaseModel, frozen=True, extra="forbid"):
    """Ask for the last recorded checkpoint of an agent that was stopped within a turn."""

    worktree: WorktreeRef


class RecordedCheckpoint(BaseModel, frozen=True, extra="forbid"):
    """The checkpoint; None: the agent recorded none."""

    checkpoint: Commit | None


class ReadTurn(BaseModel, frozen=True, extra="forbid"):
    """Ask for the checkpoint of one turn of a developer that has run, or runs."""

    worktree: WorktreeRef
    """The developer's; it may be gone."""
    task: TaskId
    turn: int


class TurnRead(BaseModel, frozen=True, extra="forbid"):
    """The checkpoint of that turn, or which turns have one."""

    checkpoint: Commit | None
    """None: the turn left none."""
    base: Commit | None = None
    """What the attempt's work is based on; None without a checkpoint."""
    turns: tuple[int, ...] = ()
    """The attempt's turns that have a checkpoint, in order; empty: none is left."""


class RemoveWorktree(BaseModel, frozen=True, extra="forbid"):
    """Remove one worktree; its checkpoints stay under `refs/blueflame/`."""

    worktree: WorktreeRef


class Removed(BaseModel, frozen=True, extra="forbid"):
    """The worktree is gone."""


def time_to_prepare(setup: tuple[tuple[str, ...], ...], timeout: timedelta) -> timedelta:
    """Return the time limit for a worktree: its own set-up, after a wait for another's."""
    return PREPARE_WORKTREE.start_to_close + 2 * len(setup) * (
        timeout - min(timeout, SETUP_TIMEOUT)
    )


class ReadDiff(BaseModel, frozen=True, extra="forbid"):
    """Show the difference between two commits."""

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
    """Tests that the diff deletes, skips or weakens, one line each, at most 31."""


class CheckEvidence(BaseModel, frozen=True, extra="forbid"):
    """Look up each citation in the commit."""

    key: str
    base: Commit
    """What the work is based on; only the differences from it count as changed by the work."""
    commit: Commit
    evidence: tuple[Evidence, ...]


class EvidenceChecked(BaseModel, frozen=True, extra="forbid"):
    """For each citation, in order: where its text was found, at its lines or within 3 of them."""

    places: tuple[EvidencePlace, ...]


CLAIM_HOST = Contract[ClaimHost, HostClaim](
    "hosts.claim", ClaimHost, HostClaim, queues.HOST, timedelta(minutes=2), retry(5)
)
AWAIT_BASE = Contract[AwaitBase, AwaitedBase](
    "repository.await",
    AwaitBase,
    AwaitedBase,
    queues.HOST,
    timedelta(minutes=5),
    retry(5),
    HEARTBEAT,
)
IMPORT_BASE = Contract[ImportBase, ImportedBase](
    "repository.import",
    ImportBase,
    ImportedBase,
    queues.HOST,
    timedelta(minutes=30),
    retry(5),
    HEARTBEAT,
)
PREPARE_WORKTREE = Contract[PrepareWorktree, WorktreeReady](
    "worktrees.prepare",
    PrepareWorktree,
    WorktreeReady,
    queues.HOST,
    timedelta(minutes=30),
    retry(5),
    HEARTBEAT,
)
RUN_TOOLS = Contract[RunTools, ToolsOutcome](
    "tools.run",
    RunTools,
    ToolsOutcome,
    queues.HOST,
    timedelta(hours=1),
    retry(PATIENT),
    HEARTBEAT,
)
FINISH_TASK = Contract[FinishTask, FinishOutcome](
    "worktrees.finish",
    FinishTask,
    FinishOutcome,
    queues.HOST,
    timedelta(minutes=10),
    retry(PATIENT),
    HEARTBEAT,
)
LAST_CHECKPOINT = Contract[LastCheckpoint, RecordedCheckpoint](
    "worktrees.last",
    LastCheckpoint,
    RecordedCheckpoint,
    queues.HOST,
    timedelta(minutes=5),
    retry(5),
    HEARTBEAT,
)
READ_TURN = Contract[ReadTurn, TurnRead](
    "worktrees.turn",
    ReadTurn,
    TurnRead,
    queues.HOST,
    timedelta(seconds=30),
    retry(5),
    HEARTBEAT,
    within=timedelta(seconds=45),
)
REMOVE_WORKTREE = Contract[RemoveWorktree, Removed](
    "worktrees.remove",
    RemoveWorktree,
    Removed,
    queues.HOST,
    timedelta(minutes=10),
    retry(5),
    HEARTBEAT,
)
READ_DIFF = Contract[ReadDiff, DiffText](
    "reviews.diff", ReadDiff, DiffText, queues.HOST, timedelta(minutes=5), retry(5), HEARTBEAT
)
CHECK_EVIDENCE = Contract[CheckEvidence, EvidenceChecked](
    "reviews.evidence", CheckEvidence, EvidenceChecked, queues.HOST, timedelta(minutes=5), retry(5)
)
