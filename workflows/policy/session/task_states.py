"""A task's course: which event leads from which state to which.

The table is the whole truth; `move` adds what a pause and a waiver keep beside the state. Does not
count attempts, keep notes or decide when an event happens: the session does.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from workflows.domain.task import TaskEvent as On
from workflows.domain.task import TaskRecord
from workflows.domain.task import TaskState as Is
from workflows.policy.session.policy_errors import IllegalMoveError

FINAL: Final = frozenset({Is.MERGED, Is.FAILED, Is.BLOCKED, Is.SKIPPED, Is.CANCELLED, Is.TIMED_OUT})
"""Final until a person acts."""

_COURSE: Final = {
    # the straight way
    (Is.PENDING, On.DEPENDENCIES_MET): Is.READY,
    (Is.READY, On.DEVELOPMENT_STARTED): Is.DEVELOPING,
    (Is.DEVELOPING, On.SUBMITTED): Is.DEVELOPED,
    (Is.DEVELOPED, On.VALIDATION_STARTED): Is.VALIDATING,
    (Is.VALIDATING, On.PASSED): Is.VALIDATED,
    (Is.VALIDATED, On.MERGE_STARTED): Is.MERGING,
    (Is.MERGING, On.MERGED): Is.MERGED,
    # the work is not good enough: the agent ended without any, a check, a reviewer, a person
    (Is.DEVELOPING, On.REJECTED): Is.REJECTED,
    (Is.DEVELOPED, On.REJECTED): Is.REJECTED,
    (Is.VALIDATING, On.REJECTED): Is.REJECTED,
    (Is.VALIDATED, On.REJECTED): Is.REJECTED,
    (Is.MERGING, On.RETURNED): Is.REJECTED,
    (Is.REJECTED, On.REWORK): Is.READY,
    (Is.REJECTED, On.GAVE_UP): Is.FAILED,
    (Is.DEVELOPED, On.REWORK): Is.READY,
    (Is.VALIDATING, On.REWORK): Is.READY,
    (Is.VALIDATED, On.REWORK): Is.READY,
    # the judgement or the merge did not happen, and not because of this task's work
    (Is.VALIDATING, On.HELD): Is.DEVELOPED,
    (Is.MERGING, On.HELD): Is.VALIDATED,
    # what the work stands on has moved away: it begins again, and lets go of its claims
    (Is.READY, On.RESET): Is.PENDING,
    (Is.DEVELOPING, On.RESET): Is.PENDING,
    (Is.DEVELOPED, On.RESET): Is.PENDING,
    (Is.VALIDATING, On.RESET): Is.PENDING,
    (Is.VALIDATED, On.RESET): Is.PENDING,
    (Is.MERGING, On.RESET): Is.PENDING,
    # time is over
    (Is.DEVELOPING, On.RAN_OUT): Is.TIMED_OUT,
    (Is.VALIDATING, On.RAN_OUT): Is.TIMED_OUT,
    (Is.REJECTED, On.RAN_OUT): Is.TIMED_OUT,
    # a dependency is lost, or found again
    (Is.PENDING, On.BLOCKED): Is.BLOCKED,
    (Is.READY, On.BLOCKED): Is.BLOCKED,
    (Is.BLOCKED, On.UNBLOCKED): Is.PENDING,
}
_OPEN: Final = frozenset(Is) - FINAL
_BY_A_PERSON: Final = {
    **{(state, On.SKIPPED): Is.SKIPPED for state in frozenset(Is) - {Is.MERGED}},
    **{(state, On.CANCELLED): Is.CANCELLED for state in _OPEN},
    **{(state, On.PAUSED): Is.PAUSED for state in _OPEN - {Is.PAUSED}},
    **{(state, On.RETRIED): Is.PENDING for state in (FINAL | {Is.REJECTED}) - {Is.MERGED}},
}
TABLE: Final[Mapping[tuple[Is, On], Is]] = MappingProxyType(_COURSE | _BY_A_PERSON)
"""Every move but those out of a pause: `resumed`, and what happens to a task while it pauses."""


def can_move(record: TaskRecord, event: On) -> bool:
    """Tell whether a task can take an event in its state."""
    return _target(record, event) is not None


def move(record: TaskRecord, event: On, reason: str = "") -> TaskRecord:
    """Move a task.

    Args:
        record: the task as it stands.
        event: what happened.
        reason: one sentence on the new state, for a person; replaces the old one.

    Returns:
        The record in its new state. A pause keeps where it returns to; what happens to a paused
        task (its agent submitted before it saw the pause) moves that state beneath the pause.

    Raises:
        IllegalMoveError: the state does not know this event.
    """
    target = _target(record, event)
    if target is None:
        raise IllegalMoveError(f"task {record.task.id!r}", record.state, event)
    state, returns_to = target
    waived = record.waived and state is Is.SKIPPED
    return record.evolve(state=state, returns_to=returns_to, reason=reason, waived=waived)


def _target(record: TaskRecord, event: On) -> tuple[Is, Is | None] | None:
    """Find the new state and where a pause then returns to; None where there is no such move."""
    direct = TABLE.get((record.state, event))
    if direct is Is.PAUSED:
        return direct, record.state
    if direct is not None:
        return direct, None
    if record.returns_to is None:
        return None
    if event is On.RESUMED:
        return record.returns_to, None
    beneath = TABLE.get((record.returns_to, event))
    if beneath is None or beneath is Is.PAUSED:
        return None
    return (beneath, None) if beneath in FINAL else (Is.PAUSED, beneath)
