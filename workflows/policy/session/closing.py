"""The end of a session: nothing in it stays open for ever.

Says nothing of how the session ended, and moves nothing that is final.
"""

from workflows.domain.changeset import Changeset, ChangesetEvent
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskEvent, TaskState
from workflows.policy.session.changeset_states import FINAL, move_changeset, reopen
from workflows.policy.session.task_states import can_move, move
from workflows.policy.session.wave_outcomes import put, put_changeset


def close(state: SessionState, reason: str) -> SessionState:
    """Cancel every task that is not final, and drop every changeset that is not merged.

    Args:
        state: as the session leaves it; nothing runs any more.
        reason: one sentence for a person, why it was left.
    """
    for record in state.records.values():
        if can_move(record, TaskEvent.CANCELLED):
            state = put(state, move(record, TaskEvent.CANCELLED, reason))
    for changeset in state.changesets:
        if changeset.state not in FINAL:
            state = put_changeset(state, _closed(state, changeset, reason))
    return state


def _closed(state: SessionState, changeset: Changeset, reason: str) -> Changeset:
    if any(state.records[task].state is TaskState.MERGED for task in changeset.tasks):
        # Merged once already; what was retried of it did not come so far.
        return move_changeset(reopen(changeset), ChangesetEvent.MERGED)
    return move_changeset(changeset, ChangesetEvent.DROPPED, reason=reason)
