"""Green is a positive statement: rules approve only what a gate judged."""

from typing import Literal

import pytest

from tests.unit.policy.gates.results import failed, unfinished
from workflows.domain.gate import Judgement
from workflows.policy.gates.green_rule import (
    joined,
    may_approve_by_rule,
    why_by_hand,
    why_not_judged,
    why_nothing,
)

JUDGED = Judgement(by=("lint", "tests"))
HALF = Judgement(by=("lint",), nothing=("tests: could not start",))
NOT = Judgement(nothing=("tests: could not start", "lint: timed out"))


@pytest.mark.parametrize(
    ("judgement", "unjudged", "may"),
    [
        (JUDGED, "ask", True),
        (HALF, "ask", True),
        (NOT, "ask", False),
        (Judgement(), "ask", False),
        (NOT, "allow", True),
        (JUDGED.without_review("a: silence"), "ask", False),
        (JUDGED.without_review("a: silence"), "allow", False),
    ],
)
def test_a_rule_approves_only_what_a_gate_judged(
    judgement: Judgement, unjudged: Literal["ask", "allow"], may: bool
):
    assert may_approve_by_rule(judgement, unjudged) is may


def test_work_that_is_approved_together_is_judged_by_the_gates_that_judged_each():
    both = joined([JUDGED, HALF])
    assert both == Judgement(by=("lint",), nothing=("tests: could not start",))
    assert joined([JUDGED, NOT]).by == ()


def test_unreviewed_work_keeps_its_gates_when_judgements_are_joined():
    left = HALF.without_review("a: silence")
    assert (left.by, left.nothing) == (HALF.by, HALF.nothing)
    both = joined([JUDGED, left, NOT.without_review("b: refusal")])
    assert both.unreviewed == ("a: silence", "b: refusal")


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        (JUDGED.without_review("a: silence"), "no reviewer gave a verdict (a: silence)"),
        (NOT, "no gate judged it (tests: could not start; lint: timed out), and `approvals"),
    ],
)
def test_a_refused_rule_approval_is_explained(judgement: Judgement, reason: str):
    assert why_by_hand(judgement).startswith(reason)


def test_the_reason_without_a_judgement_is_short():
    assert why_not_judged(JUDGED) == ""
    assert why_not_judged(NOT) == "tests: could not start; lint: timed out"
    assert why_not_judged(Judgement()) == "no gates"
    long = why_not_judged(Judgement(nothing=("x" * 300,)))
    assert (len(long), long[-3:]) == (200, "...")


def test_a_gate_that_judged_nothing_is_explained_with_details():
    assert why_nothing(unfinished()) == "timed out (time-out after 2 s)"
    assert why_nothing(unfinished(reason="")) == "timed out"
    assert why_nothing(failed()) == "judged nothing"
