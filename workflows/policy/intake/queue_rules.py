"""What happens to the goals of a queue: each once, one at a time, and what failed set aside.

| an entry is      | `enqueue` with its key | `remove`           | `requeue`         |
|------------------|------------------------|--------------------|-------------------|
| not known        | waits, as the last one | refused            | refused           |
| waiting          | left out               | gone               | refused           |
| worked off now   | left out               | refused            | refused           |
| set aside        | left out               | gone               | waits, as the last one |
| done             | left out               | refused            | refused           |
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from workflows.domain.ids import SessionId
from workflows.domain.session.queued_goal import (
    EntryId,
    QueueAnswer,
    QueuedGoal,
    QueueState,
    SetAside,
)

MOST_WAITING: Final = 500
MOST_FAILED: Final = 200
MOST_DONE: Final = 2_000

Changed = tuple[QueueState, QueueAnswer]


def enqueued(state: QueueState, entries: Iterable[QueuedGoal]) -> Changed:
    """Put entries at the end, each key once."""
    keys, added, known = _keys(state), list[QueuedGoal](), list[str]()
    for each in entries:
        if each.key in keys:
            known.append(each.key)
        else:
            keys.add(each.key)
            added.append(each)
    if len(state.waiting) + len(added) > MOST_WAITING:
        text = f"the queue holds {len(state.waiting)} goals, and takes at most {MOST_WAITING}"
        return state, QueueAnswer(refused=text)
    answer = QueueAnswer(added=tuple(each.id for each in added), known=tuple(known))
    return state.evolve(waiting=(*state.waiting, *added)), answer


def removed(state: QueueState, entry: EntryId) -> Changed:
    """Take an entry out that waits or was set aside; its key may come again."""
    if state.current is not None and state.current.id == entry:
        open_ = state.session
        text = f"{entry!r} is the goal of open session {open_!r}; `stop {open_}` ends that session"
        return state, QueueAnswer(refused=text)
    waiting = tuple(each for each in state.waiting if each.id != entry)
    failed = tuple(each for each in state.failed if each.entry.id != entry)
    if (len(waiting), len(failed)) == (len(state.waiting), len(state.failed)):
        return state, QueueAnswer(refused=f"{entry!r} does not wait, and is not set aside")
    return state.evolve(waiting=waiting, failed=failed), QueueAnswer()


def requeued(state: QueueState, entry: EntryId) -> Changed:
    """Put an entry that was set aside at the end."""
    found = next((each.entry for each in state.failed if each.entry.id == entry), None)
    if found is None:
        return state, QueueAnswer(refused=f"{entry!r} is not set aside")
    failed = tuple(each for each in state.failed if each.entry.id != entry)
    changed = state.evolve(waiting=(*state.waiting, found), failed=failed)
    return changed, QueueAnswer(added=(entry,))


def held(state: QueueState, reason: str) -> QueueState:
    """Return the state whose first goal cannot begin yet."""
    return state.evolve(reason=reason[:2_000])


def begun(state: QueueState, entry: QueuedGoal, session: SessionId) -> QueueState:
    """Return the state in which a session works on an entry that waited."""
    waiting = tuple(each for each in state.waiting if each.id != entry.id)
    return state.evolve(waiting=waiting, current=entry, session=session, reason="")


def ended(state: QueueState, outcome: str, now: datetime, lost: str = "") -> QueueState:
    """Return the state after the session of the current entry has ended.

    Args:
        state: with a current entry.
        outcome: of the session: `complete` is done, all else is set aside.
        now: by the workflow's clock.
        lost: why the outcome is not known; empty: it is.
    """
    entry = state.current
    if entry is None:
        return state
    idle = state.evolve(current=None, session=None)
    if outcome == "complete":
        return idle.evolve(done=(*state.done, entry.key)[-MOST_DONE:])
    reason = f"its session ended as {outcome}"
    if lost:
        reason = f"its session ended, or is out of sight: {lost}"
    return set_aside(idle, entry, reason, now, state.session)


def set_aside(
    state: QueueState,
    entry: QueuedGoal,
    reason: str,
    now: datetime,
    session: SessionId | None = None,
) -> QueueState:
    """Return the state in which an entry is set aside; the oldest of too many are forgotten."""
    aside = SetAside(entry=entry, session=session, reason=reason[:2_000], at=now)
    waiting = tuple(each for each in state.waiting if each.id != entry.id)
    failed = (*state.failed, aside)[-MOST_FAILED:]
    return state.evolve(waiting=waiting, failed=failed, reason="")


def _keys(state: QueueState) -> set[str]:
    current = () if state.current is None else (state.current,)
    entries = (*state.waiting, *current, *(each.entry for each in state.failed))
    return {*(each.key for each in entries), *state.done}
