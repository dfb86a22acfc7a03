"""What a look at all sessions and workers means: who waits for whom, what stands still, and why.

Pure: a `Fleet` in, findings out.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from workers.telemetry.fleet import RECENT, Fleet, OpenSession, PendingWork, Poller, QueueState
from workers.telemetry.metric_table import WaitKind
from workflows.contracts.model_contracts import CALL_MODEL
from workflows.domain.changeset import ChangesetState
from workflows.domain.session.session_modes import SessionPhase


class PersonWait(NamedTuple):
    """Something that a person must decide."""

    kind: WaitKind
    subject: str
    """A changeset's or task's id, `plan`, or why the session is paused."""


def waits_for_person(session: OpenSession) -> list[PersonWait]:
    """Return what a session waits for a person to decide; nothing if no worker answers."""
    view = session.view
    if view is None:
        return []
    waits = [
        PersonWait(WaitKind.CHANGESET, each.id)
        for each in view.changesets
        if each.state == ChangesetState.AWAITING_APPROVAL
    ]
    waits += [PersonWait(WaitKind.QUESTION, each.about) for each in view.questions]
    if view.phase is SessionPhase.AWAITING_PLAN:
        waits.append(PersonWait(WaitKind.PLAN, "plan"))
    if view.phase is SessionPhase.PAUSED:
        waits.append(PersonWait(WaitKind.PAUSED, view.reason))
    return waits


def is_parked(work: PendingWork) -> bool:
    """Tell whether it is a model call that waits for its provider now."""
    return work.activity == CALL_MODEL.name and work.again_at is not None


def parked_calls(sessions: Iterable[OpenSession]) -> list[PendingWork]:
    """Return the model calls that wait for their provider now."""
    return [work for each in sessions for work in each.pending if is_parked(work)]


def alive(queue: QueueState, fleet: Fleet) -> list[Poller]:
    """Return the workers that asked a queue for work recently."""
    return [each for each in queue.pollers if each.last_seen > fleet.at - RECENT]


def waited(session: OpenSession, fleet: Fleet) -> timedelta:
    """Return for how long at least a session that waits for a person has done so."""
    return max(fleet.at - session.last_own_event, timedelta())


def idle(session: OpenSession, fleet: Fleet) -> timedelta:
    """Return the time since anything happened in a session."""
    return max(fleet.at - session.last_event, timedelta())
