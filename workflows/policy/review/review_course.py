"""Who reviews some work, in which order, and what follows from the verdicts so far.

After an abstention the next model of the route is asked, and after the last one a person; an
abstention never decides by itself. `verdict_rules` judges a single submission.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel

from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.verdict import Verdict

_CHARACTERS: Final = 1_000


class Heard(BaseModel, frozen=True, extra="forbid"):
    """One review that ended."""

    model: int
    """Index of the reviewing model in the order of the reviewers, from 0."""
    verdict: Verdict
    is_refusal: bool = False
    """The model refused to look at the work, so it is not asked again."""

    def later(self, places: int) -> "Heard":
        """Return it with the model's index increased."""
        return Heard(model=self.model + places, verdict=self.verdict, is_refusal=self.is_refusal)


class Ask(BaseModel, frozen=True, extra="forbid"):
    """Another review is needed."""

    model: int
    """Index of the model to be asked; if it cannot be used, the following models replace it."""


def reviewers_of(route: Sequence[ModelFacts], author_family: str) -> tuple[ModelFacts, ...]:
    """Return the models that may review an author's work, in the route's order.

    | the route                                   | reviewers                            |
    |---------------------------------------------|--------------------------------------|
    | has models of other families than the author| those                                |
    | has none                                    | all: better than no review; reported |

    Args:
        route: the reviewers' route, not empty.
        author_family: the family of the model that did the work.
    """
    others = tuple(each for each in route if not same_family(author_family, each.family))
    return others or tuple(route)


def same_family(author: str, reviewer: str) -> bool:
    """Tell whether two models are of one family."""
    return author.casefold() == reviewer.casefold()


def family_warning(developers: Sequence[ModelFacts], reviewers: Sequence[ModelFacts]) -> str | None:
    """Name the developer whose work only its own family can review.

    Args:
        developers: the developers' route.
        reviewers: the reviewers' route.

    Returns:
        One sentence for a person; None if each developer has a reviewer of another family.
    """
    for author in developers:
        if all(same_family(author.family, each.family) for each in reviewers):
            return (
                f"every reviewer is of the family {author.family!r}, as the developer"
                f" {author.provider}/{author.model} is, and may share its mistakes; name a model of"
                " another family under models.reviewer for a second opinion"
            )
    return None


def next_step(reviewers: int, heard: Sequence[Heard]) -> Ask | Verdict:
    """Decide what follows from the reviews so far; the first matching row counts.

    | the last review                                       | next                         |
    |-------------------------------------------------------|------------------------------|
    | none yet                                              | the first model              |
    | rejects                                               | rejection                    |
    | approves, with evidence in changed lines              | approval                     |
    | approves by unchanged lines, as one before it approved| approval                     |
    | was not by the route's last model                     | the next model               |
    | was the only one of the last model, and approves by   | a second look by that model, |
    | unchanged lines                                       | in a new conversation        |
    | was the only one, of the only model, no refusal       | that model again             |
    | any other                                             | abstention of all: a person  |

    Args:
        reviewers: how many models may review, ≥ 1.
        heard: the reviews that ended, in order.
    """
    if not heard:
        return Ask(model=0)
    last = heard[-1]
    if last.verdict.decision == "reject":
        return last.verdict
    is_enough = not last.verdict.unchanged or any(_approves(each) for each in heard[:-1])
    if _approves(last) and is_enough:
        return last.verdict
    if last.model + 1 < reviewers:
        return Ask(model=last.model + 1)
    is_first_time = sum(each.model == last.model for each in heard) == 1
    is_alone = len(heard) == 1 and reviewers == 1 and not last.is_refusal
    if is_first_time and (is_alone or _approves(last)):
        return Ask(model=last.model)
    return _all_abstained(heard)


def _approves(heard: Heard) -> bool:
    return heard.verdict.decision == "approve"


def _all_abstained(heard: Sequence[Heard]) -> Verdict:
    last = heard[-1].verdict
    reasons = dict.fromkeys(f"{each.verdict.reviewer}: {_why(each.verdict)}" for each in heard)
    return Verdict(
        decision="abstain",
        reviewer=last.reviewer,
        family=last.family,
        reason="; ".join(reasons)[:_CHARACTERS],
    )


def _why(verdict: Verdict) -> str:
    if verdict.decision == "abstain":
        return verdict.reason
    numbers = ", ".join(map(str, verdict.unchanged))
    return (
        f"approved, but only unchanged lines prove criterion {numbers}, and no second review agreed"
    )
