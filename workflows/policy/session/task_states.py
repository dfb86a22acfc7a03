"""A task's course: which event leads from which state to which.

The table holds every move; `move` also keeps a waiver beside the state. Does not count attempts,
keep notes or decide when an event happens: the session does.
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
    (Is.VALIDATING, On.ABSTAINED): Is.VALIDATED,
    (Is.VALIDATED, On.MERGE_STARTED): Is.MERGING,
    (Is.MERGING, On.MERGED): Is.MERGED,
    # the work is not good enough: none delivered, or refused by a gate, a reviewer or a person
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
    # the judgement or the merge did not happen, for reasons outside this task's work
    (Is.VALIDATING, On.HELD): Is.DEVELOPED,
    (Is.MERGING, On.HELD): Is.VALIDATED,
    # a person wants the same work reviewed again
    (Is.VALIDATED, On.REVIEW): Is.DEVELOPED,
    (Is.FAILED, On.REVIEW): Is.DEVELOPED,
    # the base of the work is gone: it starts over, and releases its claims
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
    **{(state, On.RETRIED): Is.PENDING for state in (FINAL | {Is.REJECTED}) - {Is.MERGED}},
    **{(state, On.REWOUND): Is.PENDING for state in frozenset(Is) - {Is.MERGED, Is.MERGING}},
}
TABLE: Final[Mapping[tuple[Is, On], Is]] = MappingProxyType(_COURSE | _BY_A_PERSON)
"""Every move that exists."""


def can_move(record: TaskRecord, event: On) -> bool:
    """Tell whether a task can take an event in its state."""
    return (record.state, event) in TABLE


def move(record: TaskRecord, event: On, reason: str = "") -> TaskRecord:
    """Move a task.

    record: the task's current record.
        record: the task as it stands.
        event: what happened.
        reason: one sentence on the new state, for a person; replaces the old one.

    Returns:
        The record in its new state.

    Raises:
        IllegalMoveError: the state does not know this event.
    """
    state = TABLE.get((record.state, event))
    if state is None:
        raise IllegalMoveError(f"task {record.task.id!r}", record.state, event)
    waived = record.waived and state is Is.SKIPPED
    return record.evolve(state=state, reason=reason, waived=waived)
