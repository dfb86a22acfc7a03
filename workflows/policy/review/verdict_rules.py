"""What a reviewer's submission is worth.

An approval counts only if every acceptance criterion has valid evidence; anything malformed,
silent or unproven is an abstention, never a pass. The caller, which can see the files, checks
where the text of each piece of evidence is (path, lines, quote). `review_course` decides what
follows an abstention.
"""

import json
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue, ValidationError

from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.verdict import EvidencePlace, Submission, Verdict
from workflows.policy.plan.json_shape import shape_faults

_MAX_FAULTS: Final = 5
_LIST_MARK: Final = re.compile(r"^(?:\d+[.):]|[-*])\s+")
_NUMBER: Final = re.compile(r"#?(\d{1,4})[.):]?")


def read_submission(arguments: JsonValue) -> Submission | str:
    """Parse the arguments of `submit_verdict` strictly.

    Args:
        arguments: as the model gave them.

    Returns:
        The submission, or why it is an abstention: the text "false" is not a boolean.
    """
    try:
        return Submission.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as error:
        return f"malformed verdict: {'; '.join(shape_faults(error, _MAX_FAULTS))}"
    except RecursionError:
        return "malformed verdict: it is nested too deeply"


def made_by_git() -> Verdict:
    """Return the verdict on what git made of merged work alone: there is nothing to doubt in it."""
    summary = "made by git as the exact reverse of merged work, without a review"
    return Verdict(decision="approve", reviewer="git", family="git", summary=summary)


def judge(
    submission: Submission,
    criteria: Sequence[str],
    places: Sequence[EvidencePlace],
    reviewer: ModelFacts,
) -> Verdict:
    """Judge a submission by its evidence.

    A piece of evidence is valid if the work changed its lines, or if it says why unchanged lines
    prove the criterion. The second kind counts less.

    | says    | and                                                  | is                       |
    |---------|------------------------------------------------------|--------------------------|
    | approve | each criterion has a piece in changed lines          | approve                  |
    | approve | each has a valid piece, some only in unchanged lines | approve with `unchanged` |
    | approve | anything less                                        | abstain                  |
    | reject  | at least one finding                                 | reject                   |
    | reject  | no finding                                           | abstain                  |

    Args:
        submission: what the reviewer submitted.
        criteria: the acceptance criteria, in the order shown to the reviewer.
        places: for each piece of evidence, where it was found.
        reviewer: the reviewing model.

    Returns:
        The verdict, with a reason if it is an abstention.

    Raises:
        ValueError: `places` does not match the evidence.
    """
    if len(places) != len(submission.evidence):
        raise ValueError(
            f"{len(submission.evidence)} pieces of evidence, {len(places)} results: check each once"
        )
    decision: Literal["approve", "reject", "abstain"] = "reject"
    reason = "" if submission.findings else "rejection without a finding"
    unchanged: tuple[int, ...] = ()
    if submission.approve:
        decision = "approve"
        proof = _proof(submission, criteria, places)
        reason = _missing_evidence(submission, criteria, proof)
        unchanged = () if reason else proof.only_unchanged()
    return Verdict(
        decision="abstain" if reason else decision,
        reviewer=f"{reviewer.provider}/{reviewer.model}",
        family=reviewer.family,
        summary=submission.summary,
        findings=submission.findings,
        reason=reason,
        unchanged=unchanged,
    )


def abstention(reviewer: ModelFacts, reason: str) -> Verdict:
    """Return the abstention of a reviewer that gave no verdict, with the reason."""
    name = f"{reviewer.provider}/{reviewer.model}"
    return Verdict(decision="abstain", reviewer=name, family=reviewer.family, reason=reason)


class _Proof(NamedTuple):
    """What the evidence proves, as indexes into the list of criteria."""

    changed: set[int]
    """Proven in changed lines."""
    unchanged: set[int]
    """Proven by unchanged lines, with the reason why."""
    unexplained: set[int]
    """Cited in unchanged lines, without a reason."""
    refuted: set[int]

    def only_unchanged(self) -> tuple[int, ...]:
        """Return the numbers, from 1, of the criteria that only unchanged lines prove."""
        return tuple(place + 1 for place in sorted(self.unchanged - self.changed))


def _proof(
    submission: Submission, criteria: Sequence[str], places: Sequence[EvidencePlace]
) -> _Proof:
    proof = _Proof(set(), set(), set(), set())
    for piece, place in zip(submission.evidence, places, strict=True):
        # Without criteria all evidence is about the work as a whole.
        number = _criterion_number(piece.criterion, criteria) if criteria else 0
        if number is None:
            continue
        match place:
            case EvidencePlace.CHANGED:
                proof.changed.add(number)
            case EvidencePlace.UNCHANGED:
                is_explained = bool(piece.unchanged_because.strip())
                (proof.unchanged if is_explained else proof.unexplained).add(number)
            case EvidencePlace.ABSENT:
                proof.refuted.add(number)
    return proof


def _missing_evidence(submission: Submission, criteria: Sequence[str], proof: _Proof) -> str:
    """Say what an approval lacks; empty if nothing."""
    if not submission.evidence:
        return "approval without evidence"
    for number, criterion in enumerate(criteria or ("the work as a whole",)):
        if number not in proof.changed | proof.unchanged:
            lack = _lack(number, proof)
            return f"approval unproven: {lack} for criterion {number + 1}, {criterion[:200]!r}"
    return ""


def _lack(number: int, proof: _Proof) -> str:
    if number in proof.unexplained:
        return "the evidence is in lines that the work did not change, and does not say why,"
    return "the evidence does not hold" if number in proof.refuted else "there is no evidence"


def _criterion_number(cited: str, criteria: Sequence[str]) -> int | None:
    """Find the criterion cited by its text, its number from 1, or an unambiguous beginning."""
    texts = [_plain(criterion) for criterion in criteria]
    wanted = _plain(cited)
    if wanted in texts:
        return texts.index(wanted)
    if number := _NUMBER.fullmatch(wanted):
        return int(number[1]) - 1 if 1 <= int(number[1]) <= len(texts) else None
    begun = [place for place, text in enumerate(texts) if wanted and text.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None


def _plain(text: str) -> str:
    """Remove what quoting changes: case, white space, the mark of a list."""
    return _LIST_MARK.sub("", " ".join(text.split())).casefold()
