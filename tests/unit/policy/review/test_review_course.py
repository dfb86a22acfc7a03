"""Who is asked for a review, and what the reviews so far lead to."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.examples import a_model
from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.verdict import Finding, Verdict
from workflows.policy.review.review_course import (
    Ask,
    Heard,
    family_warning,
    next_step,
    reviewers_of,
)

ALPHA, BETA, GAMMA = a_model("alpha"), a_model("beta"), a_model("gamma")
KINDS = ("approve", "weak", "reject", "abstain", "refusal")


def heard(model: int, kind: str) -> Heard:
    """One review: `weak` approves by unchanged lines only."""
    verdict = Verdict.model_validate(
        {
            "decision": {"weak": "approve", "refusal": "abstain"}.get(kind, kind),
            "reviewer": f"scripted/m{model}",
            "family": "f",
            "unchanged": (2,) if kind == "weak" else (),
            "findings": (Finding(text="wrong"),) if kind == "reject" else (),
            "reason": f"because of {kind}" if kind in {"abstain", "refusal"} else "",
        }
    )
    return Heard(model=model, verdict=verdict, is_refusal=kind == "refusal")


def step(reviewers: int, *said: tuple[int, str]) -> str:
    """Return what follows: `ask N`, or the decision."""
    found = next_step(reviewers, [heard(model, kind) for model, kind in said])
    return f"ask {found.model}" if isinstance(found, Ask) else found.decision


@pytest.mark.parametrize(
    ("route", "author", "wanted"),
    [
        ((ALPHA, BETA, GAMMA), "Alpha", (BETA, GAMMA)),
        ((ALPHA, BETA), "beta", (ALPHA,)),
        ((ALPHA,), "beta", (ALPHA,)),
        ((ALPHA, ALPHA), "alpha", (ALPHA, ALPHA)),
    ],
)
def test_models_of_another_family_review_where_there_are_any(
    route: tuple[ModelFacts, ...], author: str, wanted: tuple[ModelFacts, ...]
):
    assert reviewers_of(route, author) == wanted


@pytest.mark.parametrize(
    ("reviewers", "said", "follows"),
    [
        (2, [], "ask 0"),
        (2, [(0, "approve")], "approve"),
        (2, [(0, "reject")], "reject"),
        (2, [(0, "abstain")], "ask 1"),
        (2, [(0, "refusal")], "ask 1"),
        (2, [(0, "abstain"), (1, "approve")], "approve"),
        (2, [(0, "abstain"), (1, "reject")], "reject"),
        (2, [(0, "abstain"), (1, "abstain")], "abstain"),
        (3, [(1, "abstain")], "ask 2"),  # the first could not be used
        # the only model: an abstention gets one more try, a refusal none
        (1, [(0, "abstain")], "ask 0"),
        (1, [(0, "refusal")], "abstain"),
        (1, [(0, "abstain"), (0, "abstain")], "abstain"),
        (1, [(0, "abstain"), (0, "approve")], "approve"),
        # a second look at what only unchanged lines prove
        (2, [(0, "weak")], "ask 1"),
        (2, [(0, "weak"), (1, "weak")], "approve"),
        (2, [(0, "weak"), (1, "approve")], "approve"),
        (2, [(0, "weak"), (1, "reject")], "reject"),
        (2, [(0, "weak"), (1, "abstain")], "abstain"),
        (2, [(0, "abstain"), (1, "weak")], "ask 1"),
        (2, [(0, "abstain"), (1, "weak"), (1, "weak")], "approve"),
        (2, [(0, "abstain"), (1, "weak"), (1, "abstain")], "abstain"),
        (1, [(0, "weak")], "ask 0"),
        (1, [(0, "weak"), (0, "weak")], "approve"),
        (1, [(0, "abstain"), (0, "weak")], "abstain"),
    ],
)
def test_each_course_of_reviews_leads_to_the_next_step(
    reviewers: int, said: list[tuple[int, str]], follows: str
):
    assert step(reviewers, *said) == follows


def test_each_abstention_is_reported_with_its_reason():
    found = next_step(2, [heard(0, "weak"), heard(1, "abstain")])
    assert isinstance(found, Verdict)
    assert found.reason == (
        "scripted/m0: approved, but only unchanged lines prove criterion 2, and no second review"
        " agreed; scripted/m1: because of abstain"
    )


@given(st.integers(1, 4), st.lists(st.sampled_from(KINDS), min_size=9, max_size=9))
def test_it_ends_and_one_abstention_never_approves(reviewers: int, kinds: Sequence[str]):
    said: list[Heard] = []
    for kind in kinds:
        found = next_step(reviewers, said)
        if not isinstance(found, Ask):
            break
        assert 0 <= found.model < reviewers
        said.append(heard(found.model, kind))
    found = next_step(reviewers, said)
    assert isinstance(found, Verdict)
    assert len(said) <= reviewers + 1
    if found.decision == "approve":
        weak = [each for each in said if each.verdict.unchanged]
        assert len(weak) >= 2 or not said[-1].verdict.unchanged


@pytest.mark.parametrize(
    ("developers", "reviewers", "named"),
    [
        ([ALPHA], [BETA], None),
        ([ALPHA, BETA], [ALPHA, BETA], None),
        ([ALPHA, BETA], [BETA], "scripted/beta-1"),
        ([ALPHA], [ALPHA], "scripted/alpha-1"),
    ],
)
def test_a_person_is_warned_of_a_review_by_the_author_s_own_family(
    developers: list[ModelFacts], reviewers: list[ModelFacts], named: str | None
):
    warning = family_warning(developers, reviewers)
    assert (warning is None) is (named is None)
    assert named is None or named in str(warning)
