"""Remarks in one form, from what the services' APIs give."""

from collections.abc import Iterable
from typing import Final, Literal

from workflows.domain.pull_request import MOST_REMARKS, Remark
from workflows.policy.text.secret_patterns import without_secrets

_TEXT: Final = 1_000


def remark(
    kind: Literal["check", "review"],
    name: str,
    by: str,
    text: str,
    place: tuple[str, int] = ("", 0),
) -> Remark:
    """Return one remark, with its texts cut to what a session keeps.

    Args:
        kind: of a check or of a review.
        name: what names it on the service.
        by: the check's name, or the reviewer's.
        text: its words.
        place: a file and the line in it, from 1; 0: the whole file.
    """
    return Remark(
        kind=kind,
        id=name[:300],
        by=by[:200] or "?",
        text=without_secrets(text.strip())[:_TEXT],
        path=place[0][:500],
        line=max(place[1], 0),
    )


def bounded(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Return the first remarks that a session keeps."""
    return tuple(remarks)[:MOST_REMARKS]
