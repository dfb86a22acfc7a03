"""What a reviewer's submission is worth, and who may review whom.

An approval counts only when every acceptance criterion has evidence that holds; all that is
malformed, silent or unproven is an abstention, never a pass. Whether a piece of evidence holds
(path, lines, quote) is checked by who can see the files.
"""

import json
import re
from collections.abc import Sequence
from typing import Final, Literal

from pydantic import JsonValue, ValidationError

from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.verdict import Submission, Verdict
from workflows.policy.plan.json_shape import shape_faults

_MAX_FAULTS: Final = 5
_LIST_MARK: Final = re.compile(r"^(?:\d+[.):]|[-*])\s+")
_NUMBER: Final = re.compile(r"#?(\d{1,4})[.):]?")


def read_submission(arguments: JsonValue) -> Submission | str:
    """Read the arguments of `submit_verdict`, strictly.

    Args:
        arguments: as the model gave them.

    Returns:
        The submission, or why it is an abstention: the text "false" is no truth value.
    """
    try:
        return Submission.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as error:
        return f"malformed verdict: {'; '.join(shape_faults(error, _MAX_FAULTS))}"
    except RecursionError:
        return "malformed verdict: it is nested too deeply"


def judge(
    submission: Submission, criteria: Sequence[str], holds: Sequence[bool], reviewer: ModelFacts
) -> Verdict:
    """Judge a submission by its evidence.

    | says    | and                                                 | is      |
    | approve | each criterion has at least one piece that holds    | approve |
    | approve | anything less                                       | abstain |
    | reject  | at least one finding                                | reject  |
    | reject  | no finding                                          | abstain |

    Args:
        submission: what the reviewer submitted.
        criteria: the acceptance criteria, in the order in which it was shown them.
        holds: for each piece of evidence, whether it was found where it says.
        reviewer: the model that spoke.

    Returns:
        The verdict, with the reason where it is an abstention.

    Raises:
        ValueError: `holds` does not match the evidence.
    """
    if len(holds) != len(submission.evidence):
        raise ValueError(
            f"{len(submission.evidence)} pieces of evidence, {len(holds)} results: check each once"
        )
    decision: Literal["approve", "reject", "abstain"] = "reject"
    reason = "" if submission.findings else "rejection without a finding"
    if submission.approve:
        decision = "approve"
        reason = _missing_evidence(submission, criteria, holds)
    return Verdict(
        decision="abstain" if reason else decision,
        reviewer=f"{reviewer.provider}/{reviewer.model}",
        family=reviewer.family,
        summary=submission.summary,
        findings=submission.findings,
        reason=reason,
    )


def pick_reviewer(route: Sequence[ModelFacts], author_family: str) -> ModelFacts | None:
    """Pick the first model of a route that is of another family than the author; None: no such."""
    author = author_family.casefold()
    return next((model for model in route if model.family.casefold() != author), None)


def route_fault(developers: Sequence[ModelFacts], reviewers: Sequence[ModelFacts]) -> str | None:
    """Say whose work no one could review.

    Args:
        developers: the developers' route.
        reviewers: the reviewers' route.

    Returns:
        The reason in words, or None where each developer has a reviewer of another family.
    """
    for author in developers:
        if pick_reviewer(reviewers, author.family) is None:
            return (
                f"no reviewer is of another family than the developer"
                f" {author.provider}/{author.model} (family {author.family!r}):"
                " add a model of another family to routes.reviewer"
            )
    return None


def _missing_evidence(
    submission: Submission, criteria: Sequence[str], holds: Sequence[bool]
) -> str:
    """Say what an approval lacks; empty where it stands."""
    if not submission.evidence:
        return "approval without evidence"
    proven: set[int] = set()
    refuted: set[int] = set()
    for piece, stands in zip(submission.evidence, holds, strict=True):
        number = _criterion_number(piece.criterion, criteria)
        if number is not None:
            (proven if stands else refuted).add(number)
    for number, criterion in enumerate(criteria):
        if number not in proven:
            lack = "the evidence does not hold" if number in refuted else "there is no evidence"
            return f"approval unproven: {lack} for criterion {number + 1}, {criterion[:200]!r}"
    return "" if any(holds) else "approval unproven: the evidence does not hold"


def _criterion_number(cited: str, criteria: Sequence[str]) -> int | None:
    """Find the criterion cited by its text, its number from 1, or a beginning of only it."""
    texts = [_plain(criterion) for criterion in criteria]
    wanted = _plain(cited)
    if wanted in texts:
        return texts.index(wanted)
    if number := _NUMBER.fullmatch(wanted):
        return int(number[1]) - 1 if 1 <= int(number[1]) <= len(texts) else None
    begun = [place for place, text in enumerate(texts) if wanted and text.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None


def _plain(text: str) -> str:
    """Take away what quoting changes: case, white space, the mark of a list."""
    return _LIST_MARK.sub("", " ".join(text.split())).casefold()
