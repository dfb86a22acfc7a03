"""Decides when work is green, and says in words what judged it.

Green is a positive statement: at least one gate judged the work, and none that judged it found
something new. A rule (`auto_if_green`, a decisions file) approves only green work.

| the work                    | `approvals.unjudged` | by a rule | by hand |
|-----------------------------|----------------------|-----------|---------|
| judged by at least one gate | any                  | yes       | yes     |
| judged by none              | `allow`              | yes       | yes     |
| judged by none              | `ask`                | no        | yes     |
| no reviewer gave a verdict  | any                  | no        | yes     |
"""

from collections.abc import Iterable
from typing import Final, Literal

from workflows.domain.gate import GateResult, Judgement

NO_GATES: Final = "no gates"
NOTHING_MERGES: Final = (
    "nothing merges by itself; approve by hand, or set `approvals.unjudged: allow` in your own "
    "configuration"
)
_CHARACTERS: Final = 200


def may_approve_by_rule(judgement: Judgement, unjudged: Literal["ask", "allow"]) -> bool:
    """Tell whether a rule may approve work, by the table above."""
    return not judgement.unreviewed and (bool(judgement.by) or unjudged == "allow")


def joined(judgements: Iterable[Judgement]) -> Judgement:
    """Join the judgements of work that is approved together.

    The result names the gates that judged every piece. If no gate judged all of them, but each was
    judged by some gate (its package's), it names all of these.

    Args:
        judgements: at least one.
    """
    every = list(judgements)
    shared = set[str](every[0].by).intersection(*(each.by for each in every[1:]))
    nothing = dict.fromkeys(line for each in every for line in each.nothing)
    unreviewed = tuple(line for each in every for line in each.unreviewed)
    by = tuple(name for name in every[0].by if name in shared)
    if not by and all(each.by for each in every):
        by = tuple(dict.fromkeys(name for each in every for name in each.by))
    return Judgement(by=by, nothing=tuple(nothing), unreviewed=unreviewed)


def why_less(judgement: Judgement) -> str:
    """Say which gates did not judge some work, and why; empty if all did."""
    return "; ".join(judgement.nothing) or ("" if judgement.by else NO_GATES)


def why_not_judged(judgement: Judgement) -> str:
    """Say why no gate judged some work, in at most 200 characters; empty if one did."""
    text = "" if judgement.by else why_less(judgement)
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 3]}..."


def why_by_hand(judgement: Judgement) -> str:
    """Say why a rule may not approve some work, and which setting would allow it, if any."""
    if judgement.unreviewed:
        return f"no reviewer gave a verdict ({judgement.unreviewed[0]})"
    return f"no gate judged it ({why_not_judged(judgement)}), and `approvals.unjudged` is `ask`"


def why_nothing(result: GateResult) -> str:
    """Say why a gate judged nothing: what happened, and the details in brackets."""
    why = str(result.why or "judged nothing")
    return f"{why} ({result.reason})" if result.reason else why
