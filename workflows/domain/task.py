"""A task's course through the session: its states, the events that change them, and its record."""

from decimal import Decimal
from enum import StrEnum
from typing import Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.gate import Judgement
from workflows.domain.ids import Commit, Digest, TaskId, Tree
from workflows.domain.line_comment import LineComment
from workflows.domain.plan import Task


class TaskState(StrEnum):
    """Where a task stands. The last six are final until a person acts."""

    PENDING = "pending"
    READY = "ready"
    DEVELOPING = "developing"
    DEVELOPED = "developed"
    VALIDATING = "validating"
    VALIDATED = "validated"
    REJECTED = "rejected"
    MERGING = "merging"
    MERGED = "merged"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


class TaskEvent(StrEnum):
    """What happened to a task; `policy.session.task_states` holds the table."""

    DEPENDENCIES_MET = "dependencies_met"
    DEVELOPMENT_STARTED = "development_started"
    SUBMITTED = "submitted"
    VALIDATION_STARTED = "validation_started"
    PASSED = "passed"
    ABSTAINED = "abstained"
    """No reviewer gave a verdict: a person decides on the work as it is."""
    REJECTED = "rejected"
    REWORK = "rework"
    GAVE_UP = "gave_up"
    RAN_OUT = "ran_out"
    MERGE_STARTED = "merge_started"
    MERGED = "merged"
    RETURNED = "returned"
    HELD = "held"
    """Another task of the changeset was returned; this one keeps its validated work."""
    BLOCKED = "blocked"
    UNBLOCKED = "unblocked"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    RETRIED = "retried"
    REWOUND = "rewound"
    """A person has it worked on again from a turn of an earlier attempt."""
    REVIEW = "review"
    """A person wants another review of the same work."""
    RESET = "reset"
    """The base of the work is gone; the task starts over on the new base."""


class TaskChanges(TypedDict, total=False):
    """The changeable fields of a record."""

    task: Task
    state: TaskState
    attempt: int
    attempts_allowed: int
    reworks: int
    first_base: Commit | None
    validations: int
    base: Commit | None
    commit: Commit | None
    tree: Tree | None
    diff: Digest | None
    judgement: Judgement | None
    weakened: tuple[str, ...]
    verdict: str
    summary: str
    restart_from: Commit | None
    notes: tuple[str, ...]
    steers: tuple[str, ...]
    comments: tuple[LineComment, ...]
    author_family: str | None
    cost_usd: Decimal
    reason: str
    waits_for_merge: bool
    waived: bool
    reverts: TaskId | None
    is_made_by_git: bool


class TaskRecord(BaseModel, frozen=True, extra="forbid"):
    """All that the session knows of one task."""

    task: Task
    state: TaskState = TaskState.PENDING
    attempt: int = Field(default=0, ge=0)
    """Attempts started so far, including a running one."""
    attempts_allowed: int = Field(default=3, ge=1)
    reworks: int = Field(default=0, ge=0)
    """How often its work came back because it conflicts with merged work; these do not use up an
    attempt."""
    first_base: Commit | None = None
    """The base of its first attempt: no attempt may undo what was merged since then."""
    validations: int = Field(default=0, ge=0)
    """How often the current attempt's work was validated."""
    base: Commit | None = None
    """The base of the last work."""
    commit: Commit | None = None
    """The task commit: the submitted work as one commit on `base`."""
    tree: Tree | None = None
    diff: Digest | None = None
    """The validated work's whole diff, in the store."""
    judgement: Judgement | None = None
    """Which gates judged the validated work; None until it is validated."""
    weakened: tuple[str, ...] = ()
    """Tests that the validated work deletes, skips or weakens."""
    verdict: str = ""
    """The reviewer's judgement of the validated work, at most 500 characters."""
    summary: str = ""
    """The developer's summary of the submitted work."""
    restart_from: Commit | None = None
    """The last work, from which the next attempt continues; None: there is none yet."""
    notes: tuple[str, ...] = ()
    """What has failed so far, and what persons said; given to the next attempt."""
    steers: tuple[str, ...] = ()
    """What persons said to its agents; each new attempt gets all of it, because its agent is
    new."""
    comments: tuple[LineComment, ...] = ()
    """Persons' comments on lines of its work, the newest 100, each with the attempt it is about."""
    author_family: str | None = None
    cost_usd: Decimal = Decimal(0)
    reason: str = ""
    """One sentence on the current state, for a person."""
    waits_for_merge: bool = False
    """Its dependencies' validated commits conflict with each other: it needs them merged."""
    waived: bool = False
    """A person said that this skipped task satisfies its dependants."""
    reverts: TaskId | None = None
    """The merged task whose work this one takes back; None: it takes back nothing."""
    is_made_by_git: bool = False
    """Its first attempt submits `restart_from` as it is, without an agent."""

    @property
    def is_gits_alone(self) -> bool:
        """Whether git made its work, and no person has let an agent, which costs money, try."""
        return self.is_made_by_git and self.attempt <= 1

    def evolve(self, **changes: Unpack[TaskChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)
