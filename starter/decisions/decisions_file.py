"""The decisions file: what a person decided before an unattended session asks.

Only its format and its rules, both pure: `starter.input.yaml_files` reads the file, and
`starter.decisions.unattended` sends the decisions. A rule matches if all its conditions are met;
the first matching rule decides; without one, nothing is decided.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, StrictInt

from workflows.domain.plan import Task, TaskKind
from workflows.policy.agent.questions import DECIDE_YOURSELF
from workflows.policy.money.grants import MAX_USD

_RISKS: Final = ("low", "medium", "high")
Choice = Literal["approve", "reject", "wait"]
Amount = Annotated[float, Field(gt=0, le=float(MAX_USD), allow_inf_nan=False)]


class PlanRule(BaseModel, frozen=True, extra="forbid"):
    """One decision on plans; a missing condition matches any plan."""

    max_tasks: StrictInt | None = Field(default=None, ge=1)
    kinds: tuple[TaskKind, ...] | None = None
    """Every task is of one of these kinds."""
    max_risk: Literal["low", "medium", "high"] | None = None
    decide: Choice
    reason: str = Field(default="", max_length=10_000)
    """The message to the agents with a rejection."""

    def fits(self, tasks: Sequence[Task]) -> bool:
        """Tell whether the rule matches these tasks."""
        if self.max_tasks is not None and len(tasks) > self.max_tasks:
            return False
        if self.kinds is not None and any(task.kind not in self.kinds for task in tasks):
            return False
        highest = len(_RISKS) if self.max_risk is None else _RISKS.index(self.max_risk)
        return all(_RISKS.index(task.risk) <= highest for task in tasks)


class ChangesetRule(PlanRule, frozen=True, extra="forbid"):
    """One decision on changesets."""

    id: str | None = Field(default=None, min_length=1, max_length=200)
    """A pattern over its id, as in `docs-*`."""

    def names(self, changeset: str) -> bool:
        """Tell whether the pattern matches a changeset's id."""
        return self.id is None or fnmatchcase(changeset, self.id)


class Decisions(BaseModel, frozen=True, extra="forbid"):
    """A whole decisions file."""

    version: Literal[1]
    plan: tuple[PlanRule, ...] = ()
    changesets: tuple[ChangesetRule, ...] = ()
    answers: dict[str, Annotated[str, Field(min_length=1, max_length=10_000)]] = Field(
        default_factory=dict[str, str]
    )
    """By task, `plan`, or a pattern for them: the answer to an agent that asks. Without one it is
    told to decide itself."""
    failed: Literal["wait", "retry", "skip", "stop"] = "wait"
    """For tasks that used up their attempts, once nothing else is left to do. `retry`: one more
    attempt each, then `wait`."""
    cap: Literal["wait", "stop"] = "stop"
    raise_cap_to_usd: Amount | None = None
    """Set the cap to this first, once."""


def answer_to(decisions: Decisions, about: str) -> str:
    """Return the answer to an agent's question."""
    fitting = (text for name, text in decisions.answers.items() if fnmatchcase(about, name))
    return next(fitting, DECIDE_YOURSELF)


def on_plan(decisions: Decisions, tasks: Sequence[Task]) -> PlanRule | None:
    """Return the rule that decides on a plan; None: no rule matches."""
    return next((rule for rule in decisions.plan if rule.fits(tasks)), None)


def on_changeset(
    decisions: Decisions, changeset: str, tasks: Sequence[Task]
) -> ChangesetRule | None:
    """Return the rule that decides on a changeset; None: no rule matches."""
    fitting = (each for each in decisions.changesets if each.names(changeset) and each.fits(tasks))
    return next(fitting, None)
