"""When which message is sent: one group at a time, at most one of a kind in a minute."""

from datetime import UTC, datetime, timedelta

import pytest

from workflows.domain.ids import SessionId
from workflows.domain.session.notification import (
    INTERVAL,
    Need,
    Needs,
    NotificationKind,
    NotifierRequest,
    NotifierState,
)
from workflows.policy.notifications.message_grouping import (
    MOST_ITEMS,
    Send,
    Wait,
    as_text,
    changed,
    held,
    message,
    next_step,
    told,
)

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
SOON = timedelta(seconds=20)
REQUEST = NotifierRequest(session=SessionId("s1"), goal="a goal")
APPROVAL, QUESTION, DONE = (
    NotificationKind.APPROVAL,
    NotificationKind.QUESTION,
    NotificationKind.DONE,
)


def need(key: str, kind: NotificationKind = APPROVAL) -> Need:
    return Need(kind=kind, key=key, text=f"{key} waits", command=f"blueflame approve {key}")


PLAN, WHICH = need("plan"), need("which", QUESTION)


@pytest.mark.parametrize(
    ("state", "step"),
    [
        (NotifierState(), Wait(None)),
        (NotifierState(needs=(PLAN,), told=("plan",)), Wait(None)),
        (NotifierState(needs=(PLAN,)), Send(APPROVAL)),
        (NotifierState(needs=(WHICH, PLAN)), Send(APPROVAL)),
        (NotifierState(needs=(PLAN,), quiet_until=NOON + SOON), Wait(NOON + SOON)),
        (NotifierState(needs=(PLAN,), quiet_until=NOON), Send(APPROVAL)),
        (
            NotifierState(needs=(PLAN,), sent_at={APPROVAL: NOON - SOON}),
            Wait(NOON - SOON + INTERVAL),
        ),
        (NotifierState(needs=(PLAN,), sent_at={APPROVAL: NOON - INTERVAL}), Send(APPROVAL)),
        (NotifierState(needs=(PLAN, WHICH), sent_at={APPROVAL: NOON - SOON}), Send(QUESTION)),
        (
            NotifierState(needs=(PLAN, WHICH), sent_at={APPROVAL: NOON, QUESTION: NOON - SOON}),
            Wait(NOON - SOON + INTERVAL),
        ),
    ],
)
def test_the_next_step_follows_from_what_was_not_told(
    state: NotifierState, step: Send | Wait
) -> None:
    assert next_step(state, NOON, INTERVAL) == step


def test_a_need_that_was_met_before_it_was_told_is_never_told() -> None:
    state = changed(NotifierState(needs=(PLAN,), sent_at={APPROVAL: NOON}), Needs())
    assert next_step(state, NOON + INTERVAL, INTERVAL) == Wait(None)


def test_a_need_that_was_met_and_returns_is_told_again() -> None:
    met = changed(NotifierState(needs=(PLAN,), told=("plan",)), Needs())
    again = changed(met, Needs(needs=(PLAN,)))
    assert next_step(again, NOON, INTERVAL) == Send(APPROVAL)


def test_what_was_told_is_not_told_again_beside_something_new() -> None:
    state = NotifierState(needs=(PLAN, need("c1")), told=("plan",))
    found = message(REQUEST, state, APPROVAL, NOON)
    assert [item.text for item in found.items] == ["c1 waits"]
    assert (found.id, found.title) == ("s1/1", "Blue Flame: approval needed: s1")


def test_a_message_lists_all_that_is_new_and_counts_what_is_too_much() -> None:
    many = tuple(need(f"c{number}") for number in range(MOST_ITEMS + 2))
    found = message(REQUEST, NotifierState(needs=(*many, WHICH), sent=4), APPROVAL, NOON)
    assert (len(found.items), found.more, found.id) == (MOST_ITEMS, 2, "s1/5")
    assert found.title == f"Blue Flame: approval needed ({MOST_ITEMS + 2}): s1"
    assert as_text(found).endswith("\n\nand 2 more:\n  blueflame status s1")


def test_what_came_while_a_message_was_sent_is_still_untold() -> None:
    before = NotifierState(needs=(PLAN,), quiet_until=NOON)
    now = changed(before, Needs(needs=(PLAN, need("c1"))))
    after = told(before, now, APPROVAL, NOON)
    assert (after.told, after.sent, after.sent_at, after.quiet_until) == (
        ("plan",),
        1,
        {APPROVAL: NOON},
        None,
    )
    assert next_step(after, NOON, INTERVAL) == Wait(NOON + INTERVAL)


def test_what_was_met_while_a_message_was_sent_is_forgotten() -> None:
    before = NotifierState(needs=(PLAN,))
    assert told(before, changed(before, Needs()), APPROVAL, NOON).told == ()


def test_the_last_needs_end_the_notifier_once_they_are_told() -> None:
    ended = changed(NotifierState(needs=(PLAN,)), Needs(needs=(need("end", DONE),), is_last=True))
    assert ended.is_finished
    assert [each.key for each in ended.needs] == ["end"]
    assert held(ended, NOON + SOON).is_finished
