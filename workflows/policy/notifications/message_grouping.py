"""When a notifier sends which message: one group at a time, none in quiet hours."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from workflows.domain.session.notification import (
    Item,
    Need,
    Needs,
    Notification,
    NotificationKind,
    NotifierRequest,
    NotifierState,
)

MOST_ITEMS: Final = 10
_TITLES: Final = {
    NotificationKind.APPROVAL: "approval needed",
    NotificationKind.QUESTION: "question asked",
    NotificationKind.PAUSED: "paused",
    NotificationKind.FAILED: "failed",
    NotificationKind.DONE: "done",
    NotificationKind.SCHEDULE: "schedule did not start",
}


class Send(NamedTuple):
    """Send the needs of one kind now."""

    kind: NotificationKind


class Wait(NamedTuple):
    """Do nothing until this time, or until the needs change."""

    until: datetime | None
    """None: only a change can make something due."""


def next_step(state: NotifierState, now: datetime, interval: timedelta) -> Send | Wait:
    """Return what a notifier does next.

    | needs that were not told         | step                                         |
    |----------------------------------|----------------------------------------------|
    | none                             | wait for others                              |
    | some, in quiet hours             | wait for their end                           |
    | of a kind that was sent less     | wait until `interval` is over                |
    | than `interval` ago              |                                              |
    | of another kind                  | send all of this kind, in the order of kinds |

    Args:
        state: the notifier's.
        now: by the workflow's clock.
        interval: the least time between two messages of a kind.
    """
    untold = untold_kinds(state)
    if not untold:
        return Wait(until=None)
    if state.quiet_until is not None and now < state.quiet_until:
        return Wait(until=state.quiet_until)
    due = {kind: _due(state, kind, now, interval) for kind in untold}
    ready = [kind for kind in untold if due[kind] <= now]
    return Send(ready[0]) if ready else Wait(until=min(due.values()))


def untold_kinds(state: NotifierState) -> tuple[NotificationKind, ...]:
    """Return the kinds of all needs that were not told, in the order of kinds."""
    found = {need.kind for need in state.needs if need.key not in state.told}
    return tuple(kind for kind in NotificationKind if kind in found)


def changed(state: NotifierState, news: Needs) -> NotifierState:
    """Return the state with other needs. What was met is forgotten: if it returns, it is told."""
    keys = {need.key for need in news.needs}
    told = tuple(key for key in state.told if key in keys)
    return state.evolve(needs=news.needs, told=told, is_finished=state.is_finished or news.is_last)


def message(
    request: NotifierRequest, state: NotifierState, kind: NotificationKind, now: datetime
) -> Notification:
    """Return the next message of a kind: every need of it that was not told.

    Args:
        request: names the session.
        state: before the message.
        kind: of which there is such a need.
        now: by the workflow's clock.
    """
    untold = _untold(state, kind)
    shown = untold[:MOST_ITEMS]
    count = f" ({len(untold)})" if len(untold) > 1 else ""
    return Notification(
        id=f"{request.about}/{state.sent + 1}",
        kind=kind,
        session=request.session,
        goal=request.goal,
        title=f"Blue Flame: {_TITLES[kind]}{count}: {request.about}"[:200],
        items=tuple(Item(text=need.text, command=need.command) for need in shown),
        more=len(untold) - len(shown),
        at=now,
    )


def told(
    before: NotifierState, now: NotifierState, kind: NotificationKind, at: datetime
) -> NotifierState:
    """Return the state after a message was sent, or given up.

    Args:
        before: when the message was written.
        now: after it was sent; needs may have changed since.
        kind: the message's.
        at: when the message was written.
    """
    keys = {need.key for need in now.needs}
    said = (need.key for need in _untold(before, kind) if need.key in keys)
    return now.evolve(
        told=tuple(dict.fromkeys((*now.told, *said))),
        sent=before.sent + 1,
        sent_at={**now.sent_at, kind: at},
        quiet_until=None,
    )


def held(state: NotifierState, until: datetime) -> NotifierState:
    """Return the state in quiet hours that last until this time."""
    return state.evolve(quiet_until=until)


def finished(state: NotifierState) -> NotifierState:
    """Return the state to which no more needs come."""
    return state.evolve(is_finished=True)


def as_text(notification: Notification) -> str:
    """Return a message as plain text, for services without a format of their own."""
    lines = [notification.goal]
    for item in notification.items:
        lines += ["", item.text, f"  {item.command}"]
    if notification.more:
        lines += [
            "",
            f"and {notification.more} more:",
            f"  blueflame status {notification.session}",
        ]
    return "\n".join(lines)


def _untold(state: NotifierState, kind: NotificationKind) -> Sequence[Need]:
    return [need for need in state.needs if need.kind is kind and need.key not in state.told]


def _due(
    state: NotifierState, kind: NotificationKind, now: datetime, interval: timedelta
) -> datetime:
    last = state.sent_at.get(kind)
    return now if last is None else last + interval
