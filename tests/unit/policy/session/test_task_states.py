"""The task state table: what DESIGN.md says of it, and that no state is a dead end."""

import pytest

from tests.unit.policy.examples import a_record, a_task
from workflows.domain.task import TaskEvent as On
from workflows.domain.task import TaskState as Is
from workflows.policy.session.policy_errors import IllegalMoveError
from workflows.policy.session.task_states import FINAL, TABLE, can_move, move

OPEN = sorted(frozenset(Is) - FINAL)
VALIDATED = "dependencies_met development_started submitted validation_started passed"


@pytest.mark.parametrize(
    ("events", "end"),
    [
        (
            f"{VALIDATED} merge_started merged",
            Is.MERGED,
        ),
        ("dependencies_met development_started rejected rework", Is.READY),
        ("dependencies_met development_started rejected gave_up", Is.FAILED),
        ("dependencies_met development_started ran_out", Is.TIMED_OUT),
        ("dependencies_met development_started submitted validation_started rejected", Is.REJECTED),
        (
            f"{VALIDATED} merge_started returned rework",
            Is.READY,
        ),
        (
            f"{VALIDATED} merge_started held",
            Is.VALIDATED,
        ),
        ("dependencies_met development_started reset", Is.PENDING),
        ("blocked unblocked dependencies_met", Is.READY),
        ("dependencies_met blocked retried", Is.PENDING),
        ("skipped retried", Is.PENDING),
        ("dependencies_met development_started rewound", Is.PENDING),
        (f"{VALIDATED} rewound", Is.PENDING),
        ("dependencies_met development_started rejected retried", Is.PENDING),
    ],
)
def test_a_course(events: str, end: Is):
    record = a_record(a_task("a"))
    for event in events.split():
        record = move(record, On(event))
    assert record.state is end


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize(
    ("event", "target"), [(On.SKIPPED, Is.SKIPPED), (On.CANCELLED, Is.CANCELLED)]
)
def test_whatever_is_not_final_can_be_skipped_and_cancelled(state: Is, event: On, target: Is):
    assert move(a_record(a_task("a"), state), event).state is target


@pytest.mark.parametrize("state", sorted(FINAL - {Is.MERGED}))
def test_a_task_that_ended_unmerged_can_be_retried(state: Is):
    assert move(a_record(a_task("a"), state), On.RETRIED).state is Is.PENDING


@pytest.mark.parametrize("event", sorted(On))
def test_nothing_moves_a_merged_task(event: On):
    assert not can_move(a_record(a_task("a"), Is.MERGED), event)


def test_only_a_person_or_a_dependency_found_again_moves_what_is_final():
    leaving = {event for (state, event) in TABLE if state in FINAL}
    assert leaving == {On.RETRIED, On.REWOUND, On.REVIEW, On.SKIPPED, On.UNBLOCKED}


def test_every_state_can_reach_a_merge():
    reached = {Is.MERGED}
    while more := {state for (state, _), to in TABLE.items() if to in reached} - reached:
        reached |= more
    assert reached == frozenset(Is)


def test_a_move_keeps_its_reason_and_drops_the_old_one():
    blocked = move(a_record(a_task("a")), On.BLOCKED, "depends on 'b', which failed")
    assert blocked.reason == "depends on 'b', which failed"
    assert move(blocked, On.UNBLOCKED).reason == ""


def test_a_retry_forgets_that_a_skip_was_waived():
    skipped = a_record(a_task("a"), Is.SKIPPED, waived=True)
    assert move(skipped, On.SKIPPED).waived
    assert not move(skipped, On.RETRIED).waived


@pytest.mark.parametrize(("state", "event"), [(Is.PENDING, On.MERGED), (Is.READY, On.SUBMITTED)])
def test_an_illegal_move_names_task_state_and_event(state: Is, event: On):
    record = a_record(a_task("parser"), state)
    assert not can_move(record, event)
    with pytest.raises(IllegalMoveError) as caught:
        move(record, event)
    assert all(word in str(caught.value) for word in ("'parser'", repr(state.value), event.value))
