"""A changeset's course, its digest, and whether an arriving approval counts.

An approval names the digest of the changeset's task commits. The same commits merged again on a
moved head need no second approval; new content does.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Literal, assert_never

from workflows.domain.changeset import Changeset, ChangesetItem
from workflows.domain.changeset import ChangesetEvent as On
from workflows.domain.changeset import ChangesetState as Is
from workflows.domain.ids import Digest
from workflows.policy.session.policy_errors import IllegalMoveError

FINAL: Final = frozenset({Is.MERGED, Is.DROPPED})
"""Final, except for tasks that a person retries."""

_COURSE: Final = {
    # the straight way
    (Is.COLLECTING, On.COMPLETED): Is.AWAITING_APPROVAL,
    (Is.AWAITING_APPROVAL, On.APPROVED): Is.APPROVED,
    (Is.APPROVED, On.QUEUED): Is.QUEUED,
    (Is.QUEUED, On.TAKEN): Is.TESTING,
    (Is.TESTING, On.MERGED): Is.MERGED,
    # the merge did not happen: put back as it is, or sent back for rework
    (Is.TESTING, On.QUEUED): Is.QUEUED,
    (Is.QUEUED, On.RETURNED): Is.COLLECTING,
    (Is.TESTING, On.RETURNED): Is.COLLECTING,
    # approved by a rule, but no gate judged the merged tree
    (Is.TESTING, On.UNJUDGED): Is.AWAITING_APPROVAL,
    # a person's no, and the rework after it
    (Is.AWAITING_APPROVAL, On.REJECTED): Is.REJECTED,
    (Is.REJECTED, On.REOPENED): Is.COLLECTING,
    # one of its tasks, or of the tasks it is based on, is reworked
    (Is.AWAITING_APPROVAL, On.REOPENED): Is.COLLECTING,
    (Is.APPROVED, On.REOPENED): Is.COLLECTING,
    (Is.QUEUED, On.REOPENED): Is.COLLECTING,
    (Is.TESTING, On.REOPENED): Is.COLLECTING,
    # a task that was left out of the merge was retried, and now has work
    (Is.MERGED, On.REOPENED): Is.COLLECTING,
    # and was left out after all
    (Is.COLLECTING, On.MERGED): Is.MERGED,
}
# the session ends before the changeset is merged
_DROPPED: Final = {(state, On.DROPPED): Is.DROPPED for state in frozenset(Is) - FINAL}
TABLE: Final[Mapping[tuple[Is, On], Is]] = MappingProxyType(_COURSE | _DROPPED)

Answer = Literal["accept", "repeat", "stale", "not_waiting"]


def can_move_changeset(changeset: Changeset, event: On) -> bool:
    """Tell whether a changeset can take an event in its state."""
    return (changeset.state, event) in TABLE


def reopen(changeset: Changeset) -> Changeset:
    """Return a changeset that collects its tasks' work again."""
    if changeset.state is Is.COLLECTING:
        return changeset
    return move_changeset(changeset, On.REOPENED)


def move_changeset(
    changeset: Changeset,
    event: On,
    *,
    items: Sequence[ChangesetItem] = (),
    by: str = "",
    reason: str = "",
) -> Changeset:
    """Move a changeset.

    Args:
        changeset: its current value.
        event: what happened.
        items: with `completed`, the validated commits that it is pinned to.
        by: with `approved`, who approved.
        reason: one sentence on the new state, for a person; replaces the old one.

    Returns:
        The changeset in its new state. Completing it pins it to a digest. Rework unpins it but
        keeps the last approved digest: the same commits need no second approval.

    Raises:
        IllegalMoveError: the state does not know this event.
    """
    target = TABLE.get((changeset.state, event))
    if target is None:
        raise IllegalMoveError(f"changeset {changeset.id!r}", changeset.state, event)
    moved = changeset.evolve(state=target, reason=reason)
    match event:
        case On.COMPLETED:
            return moved.evolve(items=tuple(items), digest=digest_of(items))
        case On.APPROVED:
            return moved.evolve(approved_digest=moved.digest, approved_by=by, needs_judged=False)
        case On.REJECTED | On.UNJUDGED:
            return moved.evolve(approved_digest=None, approved_by="")
        case On.RETURNED | On.REOPENED:
            return moved.evolve(items=(), digest=None, judgement=None)
        case On.QUEUED | On.TAKEN | On.MERGED | On.DROPPED:
            return moved
        case _:
            assert_never(event)


def approve_by_rule(changeset: Changeset, by: str, *, needs_judged: bool) -> Changeset:
    """Return a changeset as a rule approves it.

    Args:
        changeset: awaits approval.
        by: the rule, in words.
        needs_judged: it is merged only if a gate judges the merged tree too.
    """
    approved = move_changeset(changeset, On.APPROVED, by=by, reason=changeset.reason)
    return approved.evolve(needs_judged=needs_judged)


def digest_of(items: Sequence[ChangesetItem]) -> Digest:
    """Digest what an approval pins.

    Args:
        items: one for each task; titles and order do not count.

    Returns:
        SHA-256 over the canonical JSON (sorted keys, no spaces, ASCII) of task → commit.
    """
    commits = {item.task: item.commit for item in items}
    text = json.dumps(commits, sort_keys=True, separators=(",", ":"))
    return Digest(sha256(text.encode()).hexdigest())


def judge_approval(changeset: Changeset, digest: str) -> Answer:
    """Judge an arriving approval.

    | the changeset                  | names its digest | names another |
    | awaits approval                | accept           | stale         |
    | approved, queued, testing,     |                  |               |
    | merged                         | repeat           | stale         |
    | collecting, rejected,          |                  |               |
    | dropped                        | not_waiting      | not_waiting   |

    The first decision counts: nothing that arrives after an approval or rejection undoes it.
    """
    if changeset.state in {Is.COLLECTING, Is.REJECTED, Is.DROPPED}:
        return "not_waiting"
    if digest != changeset.digest:
        return "stale"
    return "accept" if changeset.state is Is.AWAITING_APPROVAL else "repeat"
