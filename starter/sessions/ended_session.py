"""The view of a session that is over, from its last view and its result."""

from starter.sessions.shown_session import ShownSession
from workflows.domain.changeset import ChangesetState
from workflows.domain.session.query_answers import (
    ChangesetLine,
    SessionResult,
    SessionView,
    TaskLine,
)
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState
from workflows.policy.session import changeset_states, task_states


def ended(known: SessionView, result: SessionResult | str) -> ShownSession:
    """Return the view of a session that is over: nothing in it is open any more.

    The session says why it failed, if it could; the server may only know that it was cancelled.

    Args:
        known: its last view.
        result: its result, or why it left none.
    """
    facts = dict(known)
    if isinstance(result, str):
        outcome = "failed"
        facts["reason"] = (known.reason if known.phase is SessionPhase.ENDED else "") or result
    else:
        outcome = result.outcome
        facts |= {key: value for key, value in result if key in SessionView.model_fields}
    facts["phase"] = SessionPhase.ENDED
    facts["tasks"] = tuple(map(_left_task, facts["tasks"]))
    facts["changesets"] = tuple(map(_left_changeset, known.changesets))
    return ShownSession.model_validate({**facts, "live": False, "outcome": outcome})


def _left_task(task: TaskLine) -> TaskLine:
    if task.state in task_states.FINAL:
        return task
    left = {"state": TaskState.CANCELLED, "reason": "unfinished when it was last seen"}
    return TaskLine.model_validate({**dict(task), **left})


def _left_changeset(changeset: ChangesetLine) -> ChangesetLine:
    if changeset.state in changeset_states.FINAL:
        return changeset
    dropped = {"state": str(ChangesetState.DROPPED), "digest": None}
    return ChangesetLine.model_validate({**dict(changeset), **dropped})
