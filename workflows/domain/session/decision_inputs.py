"""What persons send to a session: the content of each Signal and Update, one JSON object each."""

from pydantic import BaseModel, Field, JsonValue

from workflows.domain.line_comment import MOST_COMMENTS, LineComment
from workflows.domain.plan import Plan


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
