"""A task's course through the session: its states, the events that move it, and its record."""

from decimal import Decimal
from enum import StrEnum
from typing import Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.gate import Judgement
from workflows.domain.ids import Commit, Digest, Tree
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
    REVIEW = "review"
    """A person wants another review of the same work."""
    RESET = "reset"
    """What the work stood on has moved away; it begins again on the new base."""


class TaskChanges(TypedDict, total=False):
    """What of a record changes, by field."""

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
    summary: str
    restart_from: Commit | None
    notes: tuple[str, ...]
    steers: tuple[str, ...]
    author_family: str | None
    cost_usd: Decimal
    reason: str
    waits_for_merge: bool
    waived: bool


class TaskRecord(BaseModel, frozen=True, extra="forbid"):
    """All that the session knows of one task."""

    task: Task
    state: TaskState = TaskState.PENDING
    attempt: int = Field(default=0, ge=0)
    """Attempts started so far; the current attempt's number while one runs."""
    attempts_allowed: int = Field(default=3, ge=1)
    reworks: int = Field(default=0, ge=0)
    """How often its work came back because it conflicts with what was merged; these use up no
    attempt."""
    first_base: Commit | None = None
    """What its first attempt was based on: what was merged since then, no attempt may undo."""
    validations: int = Field(default=0, ge=0)
    """How often the current attempt's work was given to gates and reviewers."""
    base: Commit | None = None
    """What the last work is based on."""
    commit: Commit | None = None
    """The task commit: the submitted work as one commit on `base`."""
    tree: Tree | None = None
    diff: Digest | None = None
    """The validated work's whole diff, in the store."""
    judgement: Judgement | None = None
    """Which gates judged the validated work; None as long as it is not validated."""
    weakened: tuple[str, ...] = ()
    """Tests that the validated work deletes, skips or weakens."""
    summary: str = ""
    """What the developer says of the submitted work."""
    restart_from: Commit | None = None
    """The last work, which the next attempt goes on from; None: there is none yet."""
    notes: tuple[str, ...] = ()
    """What failed so far, and what persons said; given to the next attempt."""
    steers: tuple[str, ...] = ()
    """What persons said to its agents; each attempt hears all of it, as each agent is a new one."""
    author_family: str | None = None
    cost_usd: Decimal = Decimal(0)
    reason: str = ""
    """One sentence on the current state, for a person."""
    waits_for_merge: bool = False
    """Its dependencies' validated commits conflict with each other: only merged ones will do."""
    waived: bool = False
    """A person said that this skipped task satisfies its dependants."""

    def evolve(self, **changes: Unpack[TaskChanges]) -> Self:
        """Return it with some fields replaced."""
        return evolve(self, changes)
