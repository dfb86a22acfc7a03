"""Verdicts: an approval needs proof, and whatever is malformed is an abstention."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tests.unit.policy.examples import a_model
from workflows.domain.verdict import Evidence, EvidencePlace, Finding, Submission
from workflows.policy.review.verdict_rules import judge, read_submission

CRITERIA = ("The parser reads dates.", "The parser refuses times.", "Docs say so.")
REVIEWER = a_model("beta")


CHANGED, UNCHANGED, ABSENT = EvidencePlace


def cited(criterion: str, because: str = "") -> Evidence:
    return Evidence(
        criterion=criterion,
        path="a.py",
        line_start=1,
        line_end=2,
        quote="x = 1",
        unchanged_because=because,
    )


def approval(*criteria: str, because: str = "") -> Submission:
    evidence = tuple(cited(each, because) for each in criteria)
    return Submission(approve=True, summary="fine", evidence=evidence)


def verdict_on(submission: Submission, *holds: bool, criteria: tuple[str, ...] = CRITERIA):
    places = [CHANGED if each else ABSENT for each in holds]
    return judge(submission, criteria, places, REVIEWER)


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


def test_an_approval_with_proof_for_each_criterion_counts():
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
def test_evidence_for_no_or_several_criteria_proves_none(cited: str):
    verdict = verdict_on(approval(cited, "2", "3"), True, True, True)
    assert verdict.decision == "abstain"
    assert "there is no evidence for criterion 1" in verdict.reason


def test_looks_good_does_not_count():
    verdict = verdict_on(approval())
    assert (verdict.decision, verdict.reason) == ("abstain", "approval without evidence")


def test_invalid_evidence_is_reported():
    verdict = verdict_on(approval("1", "2", "3"), True, False, True)
    assert verdict.decision == "abstain"
    assert "the evidence does not hold for criterion 2, 'The parser refuses times.'" in (
        verdict.reason
    )


def test_one_valid_piece_of_evidence_suffices_for_a_criterion():
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


@pytest.mark.parametrize(
    ("place", "because", "decision", "unchanged", "reason"),
    [
        (CHANGED, "", "approve", (), ""),
        (CHANGED, "needless", "approve", (), ""),
        (UNCHANGED, "the old loop reads them already", "approve", (2,), ""),
        (UNCHANGED, "", "abstain", (), "did not change, and does not say why, for criterion 2"),
        (UNCHANGED, " \n", "abstain", (), "did not change, and does not say why, for criterion 2"),
        (ABSENT, "it is there", "abstain", (), "the evidence does not hold for criterion 2"),
    ],
)
def test_evidence_in_unchanged_lines_must_say_why_and_counts_less(
    place: EvidencePlace, because: str, decision: str, unchanged: tuple[int, ...], reason: str
):
    """Field report G46."""
    evidence = (cited("1"), cited("2", because), cited("3"))
    submission = Submission(approve=True, summary="fine", evidence=evidence)
    verdict = judge(submission, CRITERIA, (CHANGED, place, CHANGED), REVIEWER)
    assert (verdict.decision, verdict.unchanged) == (decision, unchanged)
    assert reason in verdict.reason


def test_a_criterion_with_changed_lines_too_counts_in_full():
    submission = approval("1", "1", "2", "3", because="as before")
    verdict = judge(submission, CRITERIA, (UNCHANGED, CHANGED, CHANGED, CHANGED), REVIEWER)
    assert (verdict.decision, verdict.unchanged) == ("approve", ())


def test_without_criteria_unchanged_lines_count_less_as_well():
    verdict = judge(approval("x", because="it is the config"), (), (UNCHANGED,), REVIEWER)
    assert (verdict.decision, verdict.unchanged) == ("approve", (1,))


def test_an_abstention_keeps_what_it_cites_to_itself():
    verdict = judge(approval("1", because="so"), CRITERIA, (UNCHANGED,), REVIEWER)
    assert (verdict.decision, verdict.unchanged) == ("abstain", ())
