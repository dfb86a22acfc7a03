"""Changesets: their course, their digest, and the first decision that counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.changeset import Changeset, ChangesetItem
from workflows.domain.changeset import ChangesetEvent as On
from workflows.domain.changeset import ChangesetState as Is
from workflows.domain.ids import ChangesetId, Commit, TaskId
from workflows.policy.session.changeset_states import (
    FINAL,
    TABLE,
    can_move_changeset,
    digest_of,
    judge_approval,
    move_changeset,
)
from workflows.policy.session.policy_errors import IllegalMoveError


def an_item(task: str, commit: str) -> ChangesetItem:
    return ChangesetItem(task=TaskId(task), commit=Commit(commit))


EMPTY = Changeset(id=ChangesetId("c"), tasks=(TaskId("a"), TaskId("b")))
ITEMS = (an_item("a", "1" * 40), an_item("b", "2" * 40))
AWAITING = move_changeset(EMPTY, On.COMPLETED, items=ITEMS)
APPROVED = move_changeset(AWAITING, On.APPROVED, by="lead")


def test_completing_pins_and_approving_keeps_the_digest():
    assert AWAITING.state is Is.AWAITING_APPROVAL
    assert AWAITING.items == ITEMS
    assert AWAITING.digest == digest_of(ITEMS)
    assert APPROVED.approved_digest == AWAITING.digest
    assert APPROVED.approved_by == "lead"


def test_the_straight_way_ends_merged():
    changeset = APPROVED
    for event in (On.QUEUED, On.TAKEN, On.MERGED):
        changeset = move_changeset(changeset, event)
    assert changeset.state is Is.MERGED
    assert changeset.digest == AWAITING.digest


def test_a_return_unpins_it_and_remembers_what_was_approved():
    testing = move_changeset(move_changeset(APPROVED, On.QUEUED), On.TAKEN)
    returned = move_changeset(testing, On.RETURNED, reason="conflict in a.py")
    assert returned.state is Is.COLLECTING
    assert (returned.items, returned.digest) == ((), None)
    assert returned.approved_digest == AWAITING.digest
    assert returned.reason == "conflict in a.py"


def test_a_rejection_forgets_what_was_approved():
    again = AWAITING.model_copy(update={"approved_digest": "d", "approved_by": "lead"})
    rejected = move_changeset(again, On.REJECTED, reason="no")
    assert (rejected.state, rejected.approved_digest, rejected.approved_by) == (
        Is.REJECTED,
        None,
        "",
    )


@pytest.mark.parametrize("state", sorted(frozenset(Is) - FINAL))
def test_whatever_is_not_final_can_be_dropped(state: Is):
    changeset = EMPTY.model_copy(update={"state": state})
    assert move_changeset(changeset, On.DROPPED).state is Is.DROPPED


def test_only_a_retry_of_what_was_left_out_leaves_a_final_state():
    assert [move for move in TABLE if move[0] in FINAL] == [(Is.MERGED, On.REOPENED)]


def test_every_state_can_reach_a_merge():
    reached = {Is.MERGED}
    while more := {state for (state, _), to in TABLE.items() if to in reached} - reached:
        reached |= more
    assert reached == frozenset(Is) - {Is.DROPPED}


def test_an_illegal_move_names_changeset_state_and_event():
    assert not can_move_changeset(EMPTY, On.QUEUED)
    assert can_move_changeset(EMPTY, On.COMPLETED)
    with pytest.raises(IllegalMoveError, match=r"changeset 'c' is 'collecting'.*'queued'"):
        move_changeset(EMPTY, On.QUEUED)


def test_the_digest_is_the_one_that_was_published():
    # Persons and CI compare digests over releases: the canonical form must never change.
    assert digest_of(ITEMS) == "3818cca32f9c6feef869d182e4fe3de55dd0c2e21593cae9801107580e5ddb09"


@given(st.permutations(ITEMS), st.text())
def test_order_and_titles_do_not_change_the_digest(items: list[ChangesetItem], title: str):
    titled = [item.model_copy(update={"title": title}) for item in items]
    assert digest_of(titled) == digest_of(ITEMS)


def test_any_other_commit_or_task_changes_the_digest():
    others = [
        ITEMS[:1],
        (ITEMS[0], an_item("b", "3" * 40)),
        (ITEMS[0], an_item("c", "2" * 40)),
        (an_item("a", "2" * 40), an_item("b", "1" * 40)),
    ]
    assert len({digest_of(items) for items in (ITEMS, *others)}) == 5


@pytest.mark.parametrize(
    ("state", "same", "other"),
    [
        (Is.AWAITING_APPROVAL, "accept", "stale"),
        (Is.APPROVED, "repeat", "stale"),
        (Is.QUEUED, "repeat", "stale"),
        (Is.TESTING, "repeat", "stale"),
        (Is.MERGED, "repeat", "stale"),
        (Is.COLLECTING, "not_waiting", "not_waiting"),
        (Is.REJECTED, "not_waiting", "not_waiting"),
        (Is.DROPPED, "not_waiting", "not_waiting"),
    ],
)
def test_what_an_approval_is_worth(state: Is, same: str, other: str):
    changeset = AWAITING.model_copy(update={"state": state})
    assert judge_approval(changeset, digest_of(ITEMS)) == same
    assert judge_approval(changeset, digest_of(ITEMS[:1])) == other
    assert judge_approval(changeset, "") == other


def test_the_same_digest_twice_is_one_approval():
    assert judge_approval(AWAITING, digest_of(ITEMS)) == "accept"
    assert judge_approval(APPROVED, digest_of(ITEMS)) == "repeat"


def test_an_approval_after_a_rejection_is_refused():
    rejected = move_changeset(AWAITING, On.REJECTED)
    assert judge_approval(rejected, digest_of(ITEMS)) == "not_waiting"
    assert not can_move_changeset(APPROVED, On.REJECTED)
