"""`queue_rules`: each key is one entry, one at a time, and what failed is set aside until asked."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from workflows.domain.ids import SessionId
from workflows.domain.session.queued_goal import QueuedGoal, QueueState
from workflows.domain.session.scheduled_goal import ScheduledGoal
from workflows.policy.intake import queue_rules

NOW = datetime(2026, 11, 30, 2, tzinfo=UTC)
SESSION = SessionId("s1")


def entry(name: str, key: str = "") -> QueuedGoal:
    goal = ScheduledGoal(name="queue", goal=name, repository="/r")
    return QueuedGoal(id=f"{name:0>12}", key=key or name, goal=goal, added_at=NOW)


A, B = entry("a"), entry("b")


def waiting(*entries: QueuedGoal) -> QueueState:
    return QueueState(waiting=entries)


def failed() -> QueueState:
    return queue_rules.ended(queue_rules.begun(waiting(A), A, SESSION), "stopped", NOW)


def test_a_session_that_is_out_of_sight_is_set_aside_with_the_reason() -> None:
    begun = queue_rules.begun(waiting(A), A, SESSION)
    (aside,) = queue_rules.ended(begun, "", NOW, "Terminated").failed
    assert aside.reason == "its session ended, or is out of sight: Terminated"


@pytest.mark.parametrize(
    "state",
    [
        waiting(A),
        queue_rules.begun(waiting(A), A, SESSION),
        failed(),
        queue_rules.ended(queue_rules.begun(waiting(A), A, SESSION), "complete", NOW),
    ],
    ids=["waiting", "worked off now", "set aside", "done"],
)
def test_a_known_key_is_left_out_wherever_its_entry_is(state: QueueState) -> None:
    again = entry("again", key=A.key)
    changed, answer = queue_rules.enqueued(state, (again, B))
    assert (answer.added, answer.known) == ((B.id,), (A.key,))
    assert changed.waiting == (*state.waiting, B)


def test_two_entries_of_one_key_in_one_request_are_one() -> None:
    changed, answer = queue_rules.enqueued(QueueState(), (A, entry("again", key=A.key)))
    assert changed.waiting == (A,)
    assert answer.known == (A.key,)


def test_a_full_queue_takes_nothing_and_says_so() -> None:
    full = waiting(*(entry(f"e{number}") for number in range(queue_rules.MOST_WAITING)))
    changed, answer = queue_rules.enqueued(full, (A,))
    assert changed == full
    assert answer.refused == "the queue holds 500 goals, and takes at most 500"


def test_a_complete_session_is_done_and_any_other_is_set_aside_with_its_outcome() -> None:
    begun = queue_rules.begun(waiting(A, B), A, SESSION)
    assert (begun.waiting, begun.current, begun.session) == ((B,), A, SESSION)
    done = queue_rules.ended(begun, "complete", NOW)
    assert (done.done, done.failed, done.current, done.session) == ((A.key,), (), None, None)
    (aside,) = queue_rules.ended(begun, "incomplete", NOW).failed
    assert (aside.entry, aside.session) == (A, SESSION)
    assert aside.reason == "its session ended as incomplete"


def test_what_was_set_aside_waits_again_as_the_last_one() -> None:
    state = failed().evolve(waiting=(B,))
    changed, answer = queue_rules.requeued(state, A.id)
    assert (changed.waiting, changed.failed, answer.added) == ((B, A), (), (A.id,))


def test_what_waits_or_was_set_aside_can_be_removed_and_may_come_again() -> None:
    for state in (waiting(A, B), failed().evolve(waiting=(B,))):
        changed, answer = queue_rules.removed(state, A.id)
        assert (changed.waiting, changed.failed, answer.refused) == ((B,), (), "")
        assert queue_rules.enqueued(changed, (A,))[0].waiting == (B, A)


Rule = Callable[[QueueState, str], queue_rules.Changed]


@pytest.mark.parametrize(
    ("rule", "state", "said"),
    [
        (queue_rules.requeued, waiting(A), "is not set aside"),
        (queue_rules.removed, QueueState(), "does not wait, and is not set aside"),
        (
            queue_rules.removed,
            queue_rules.begun(waiting(A), A, SESSION),
            "is the goal of open session 's1'; `stop s1` ends that session",
        ),
    ],
)
def test_what_cannot_be_changed_is_refused_and_stays(
    rule: Rule, state: QueueState, said: str
) -> None:
    changed, answer = rule(state, A.id)
    assert changed == state
    assert answer.refused.endswith(said)
    assert answer.refused.startswith(repr(A.id))


def test_lists_are_bounded_and_the_oldest_go() -> None:
    state = QueueState(done=tuple(f"k{number}" for number in range(queue_rules.MOST_DONE)))
    done = queue_rules.ended(queue_rules.begun(state, A, SESSION), "complete", NOW).done
    assert (len(done), done[-1]) == (queue_rules.MOST_DONE, A.key)
    for number in range(queue_rules.MOST_FAILED + 1):
        state = queue_rules.set_aside(state, entry(f"f{number}"), "x", NOW)
    assert len(state.failed) == queue_rules.MOST_FAILED
    assert state.failed[-1].entry.key == f"f{queue_rules.MOST_FAILED}"
