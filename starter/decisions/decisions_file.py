"""The decisions file: what a person decided before an unattended session came to ask.

Shape and judgement only, both pure: `starter.input.yaml_files` reads the file, and
`starter.decisions.unattended` sends what comes of it. A rule
fits where all that it names holds; the first rule that fits decides; where none does, nothing is
decided.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, StrictInt

from workflows.domain.plan import Task, TaskKind
from workflows.policy.money.grants import MAX_USD

_RISKS: Final = ("low", "medium", "high")
Choice = Literal["approve", "reject", "wait"]
Amount = Annotated[float, Field(gt=0, le=float(MAX_USD), allow_inf_nan=False)]


class PlanRule(BaseModel, frozen=True, extra="forbid"):
    """One decision on plans; what is left out fits any."""

    max_tasks: StrictInt | None = Field(default=None, ge=1)
    kinds: tuple[TaskKind, ...] | None = None
    """Every task is of one of these kinds."""
    max_risk: Literal["low", "medium", "high"] | None = None
    decide: Choice
    reason: str = Field(default="", max_length=10_000)
    """What the agents are told with a rejection."""

    def fits(self, tasks: Sequence[Task]) -> bool:
        """Tell whether the rule speaks of these tasks."""
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
        """Tell whether the pattern fits a changeset's id."""
        return self.id is None or fnmatchcase(changeset, self.id)


class Decisions(BaseModel, frozen=True, extra="forbid"):
    """A whole decisions file."""

    version: Literal[1]
    plan: tuple[PlanRule, ...] = ()
    changesets: tuple[ChangesetRule, ...] = ()
    failed: Literal["wait", "retry", "skip", "stop"] = "wait"
    """Of tasks that used up their attempts, once nothing else is left to do. `retry`: one more
    attempt each, then `wait`."""
    cap: Literal["wait", "stop"] = "stop"
    raise_cap_to_usd: Amount | None = None
    """Before that, and once: the cap is set to this."""


def on_plan(decisions: Decisions, tasks: Sequence[Task]) -> PlanRule | None:
    """Return the rule that decides on a plan; None: no one has decided."""
    return next((rule for rule in decisions.plan if rule.fits(tasks)), None)


def on_changeset(
    decisions: Decisions, changeset: str, tasks: Sequence[Task]
) -> ChangesetRule | None:
    """Return the rule that decides on a changeset; None: no one has decided."""
    fitting = (each for each in decisions.changesets if each.names(changeset) and each.fits(tasks))
    return next(fitting, None)
