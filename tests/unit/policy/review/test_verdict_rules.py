"""Verdicts: an approval needs proof, and whatever is malformed is an abstention."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tests.unit.policy.examples import a_model
from workflows.domain.verdict import Evidence, Finding, Submission
from workflows.policy.review.verdict_rules import judge, pick_reviewer, read_submission, route_fault

CRITERIA = ("The parser reads dates.", "The parser refuses times.", "Docs say so.")
REVIEWER = a_model("beta")


def approval(*cited: str) -> Submission:
    evidence = tuple(
        Evidence(criterion=c, path="a.py", line_start=1, line_end=2, quote="x = 1") for c in cited
    )
    return Submission(approve=True, summary="fine", evidence=evidence)


def verdict_on(submission: Submission, *holds: bool, criteria: tuple[str, ...] = CRITERIA):
    return judge(submission, criteria, holds, REVIEWER)


def a_submission(**fields: JsonValue) -> dict[str, JsonValue]:
    piece: JsonValue = {
        "criterion": "1",
        "path": "a.py",
        "line_start": 1,
        "line_end": 1,
        "quote": "x",
    }
    return {"approve": True, "summary": "fine", "evidence": [piece], **fields}


def test_a_good_submission_is_read():
    read = read_submission(a_submission(findings=[{"text": "a nit"}]))
    assert isinstance(read, Submission)
    assert read.evidence[0].line_start == 1
    assert read.findings == (Finding(text="a nit"),)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (None, "the whole"),
        ([], "the whole"),
        ("{}", "the whole"),
        ({}, "approve: is missing"),
        (a_submission(approve="false"), "approve"),
        (a_submission(approve="true"), "approve"),
        (a_submission(approve=1), "approve"),
        (a_submission(summary=""), "summary"),
        (a_submission(summary="\ud83d"), "the whole"),
        (a_submission(summary=float("nan")), "summary"),
        (a_submission(evidence="[]"), "evidence: must be a list"),
        (a_submission(evidence=[{"criterion": "1"}]), "evidence[0].path: is missing"),
        (a_submission(colour="red"), "colour: is not a field here"),
        (a_submission(findings=[{"text": "x", "line": "3"}]), "findings[0].line"),
    ],
)
def test_a_malformed_one_says_why_it_abstains(arguments: JsonValue, words: str):
    read = read_submission(arguments)
    assert isinstance(read, str)
    assert read.startswith("malformed verdict: ")
    assert words in read


def test_an_absurdly_nested_one_abstains():
    nested: JsonValue = []
    for _ in range(100_000):
        nested = [nested]
    assert read_submission(nested) == "malformed verdict: it is nested too deeply"


def test_an_approval_with_proof_for_each_criterion_stands():
    verdict = verdict_on(approval(*CRITERIA), True, True, True)
    assert verdict.decision == "approve"
    assert (verdict.reviewer, verdict.family) == ("scripted/beta-1", "beta")
    assert verdict.reason == ""


@pytest.mark.parametrize(
    "cited",
    [
        ("1", "2", "3"),
        ("1.", "#2", "3)"),
        ("the parser  READS dates.", "The parser refuses", "docs"),
        ("1. The parser reads dates.", "- The parser refuses times.", "3"),
    ],
)
def test_a_criterion_may_be_cited_by_number_or_beginning(cited: tuple[str, ...]):
    assert verdict_on(approval(*cited), True, True, True).decision == "approve"


def test_an_exact_text_goes_before_a_number():
    assert verdict_on(approval("2"), True, criteria=("2",)).decision == "approve"


@pytest.mark.parametrize("cited", ["The parser", "0", "4", "99999", "something else", "- ", "."])
def test_what_names_no_criterion_or_several_proves_none(cited: str):
    verdict = verdict_on(approval(cited, "2", "3"), True, True, True)
    assert verdict.decision == "abstain"
    assert "there is no evidence for criterion 1" in verdict.reason


def test_looks_good_does_not_count():
    verdict = verdict_on(approval())
    assert (verdict.decision, verdict.reason) == ("abstain", "approval without evidence")


def test_evidence_that_does_not_hold_is_told():
    verdict = verdict_on(approval("1", "2", "3"), True, False, True)
    assert verdict.decision == "abstain"
    assert "the evidence does not hold for criterion 2, 'The parser refuses times.'" in (
        verdict.reason
    )


def test_one_piece_that_holds_is_enough_for_a_criterion():
    assert verdict_on(approval("1", "1", "2", "3"), False, True, True, True).decision == "approve"


def test_without_criteria_some_evidence_must_hold():
    assert verdict_on(approval("x"), True, criteria=()).decision == "approve"
    assert verdict_on(approval("x"), False, criteria=()).decision == "abstain"


def test_a_rejection_needs_a_finding():
    bare = Submission(approve=False, summary="no")
    assert verdict_on(bare).decision == "abstain"
    assert verdict_on(bare).reason == "rejection without a finding"
    found = Submission(approve=False, summary="no", findings=(Finding(text="wrong"),))
    assert verdict_on(found).decision == "reject"
    assert verdict_on(found).findings == found.findings


def test_evidence_must_be_checked_piece_by_piece():
    with pytest.raises(ValueError, match="2 pieces of evidence, 1 results"):
        verdict_on(approval("1", "2"), True)


@given(st.lists(st.tuples(st.sampled_from(["1", "2", "3", "x"]), st.booleans()), max_size=8))
def test_no_approval_without_proof_for_every_criterion(pieces: list[tuple[str, bool]]):
    verdict = verdict_on(approval(*(c for c, _ in pieces)), *(holds for _, holds in pieces))
    proven = {cited for cited, holds in pieces if holds}
    assert (verdict.decision == "approve") is (proven >= {"1", "2", "3"})
    assert (verdict.reason == "") is (verdict.decision == "approve")


def test_the_reviewer_is_the_first_of_another_family():
    route = (a_model("alpha"), a_model("beta"), a_model("gamma"))
    assert pick_reviewer(route, "Alpha") == route[1]
    assert pick_reviewer(route, "beta") == route[0]
    assert pick_reviewer(route[:1], "alpha") is None
    assert pick_reviewer((), "alpha") is None


def test_a_route_is_at_fault_where_somebody_cannot_be_reviewed():
    alpha, beta = a_model("alpha"), a_model("beta")
    assert route_fault([alpha], [beta]) is None
    assert route_fault([alpha, beta], [alpha, beta]) is None
    fault = route_fault([alpha, beta], [beta])
    assert fault is not None
    assert "scripted/beta-1 (family 'beta')" in fault
    assert route_fault([alpha], []) is not None
