"""How the session changes its phase: entered, paused, resumed, stopped, closed."""

from datetime import datetime
from typing import Final

from workflows.domain.changeset import Changeset, ChangesetEvent
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskEvent, TaskState
from workflows.policy.session.changeset_states import FINAL, move_changeset, reopen
from workflows.policy.session.effects import Applied, EndHolds, TellWaves
from workflows.policy.session.task_states import can_move, move
from workflows.policy.session.wave_outcomes import notice, put, put_changeset

PAUSED_BY_A_PERSON: Final = "paused by a person"
"""The reason of a pause that needs no one's attention."""


def phase_beneath(state: SessionState) -> SessionPhase:
    """Return the session's phase or, if paused, the phase that it resumes to."""
    return state.resumes_to or state.phase


def enter(state: SessionState, phase: SessionPhase, reason: str = "") -> SessionState:
    """Return the state in another phase; a paused session stays paused and resumes to it."""
    if state.phase is SessionPhase.PAUSED:
        return state.evolve(resumes_to=phase)
    return state.evolve(phase=phase, reason=reason)


def pause(state: SessionState, reason: str) -> Applied:
    """Pause the session: nothing new starts, agents hold at their turn boundary."""
    if state.phase in {SessionPhase.PAUSED, SessionPhase.STOPPING, SessionPhase.ENDED}:
        return Applied(state=state)
    paused = state.evolve(resumes_to=state.phase, phase=SessionPhase.PAUSED, reason=reason)
    return Applied(state=paused, effects=(TellWaves(signal="pause"),))


def can_resume(state: SessionState, at: datetime) -> bool:
    """Tell whether something waits for a person to resume it, or would wait on without one."""
    is_paused = state.phase is SessionPhase.PAUSED and state.resumes_to is not None
    is_held = state.auto_paused_until is not None and at < state.auto_paused_until
    return is_paused or bool(state.holds) or is_held


def resume(state: SessionState) -> Applied:
    """Return a paused session to its earlier phase, and let agents that hold ask again.

    Leaves any other session unchanged. The cap counts as not reached until the ledger reports it
    again.
    """
    if state.resumes_to is None and not state.holds and state.auto_paused_until is None:
        return Applied(state=state)
    phase = state.resumes_to or state.phase
    resumed = state.evolve(
        phase=phase,
        resumes_to=None,
        reason="",
        is_cap_reached=False,
        holds=(),
        auto_paused_until=None,
    )
    # The ledger first: an agent that goes on must not be held again for what was before.
    ends = () if state.auto_paused_until is None else (EndHolds(),)
    return Applied(state=resumed, effects=(*ends, TellWaves(signal="resume")))


def stop(state: SessionState, reason: str) -> Applied:
    """Stop the session: running work is cancelled and kept, nothing new starts."""
    return Applied(state=state.evolve(phase=SessionPhase.STOPPING, reason=reason))


def halt(state: SessionState, config: SessionConfig, reason: str) -> Applied:
    """Pause the session until a person acts, or stop it under `on_cap: stop`."""
    state = state.evolve(halt="")
    return stop(state, reason) if config.on_cap == "stop" else pause(state, reason)


def close(state: SessionState, reason: str) -> SessionState:
    """Cancel every task that is not final, and drop every changeset that is not merged.

    Args:
        state: the session's last state; nothing runs any more.
        reason: one sentence for a person: why the session ended.
    """
    for record in state.records.values():
        if can_move(record, TaskEvent.CANCELLED):
            state = put(state, move(record, TaskEvent.CANCELLED, reason))
    for changeset in state.changesets:
        if changeset.state not in FINAL:
            state = put_changeset(state, _closed(state, changeset, reason))
    return state


def too_late(state: SessionState, name: str, at: datetime) -> SessionState:
    """Return the state with the notice that a signal came while the session was ending."""
    text = f"signal {name[:100]!r} came when the session was ending already: it changed nothing"
    return notice(state, NoticeKind.NOT_POSSIBLE, name[:100], text, at)


def _closed(state: SessionState, changeset: Changeset, reason: str) -> Changeset:
    if any(state.records[task].state is TaskState.MERGED for task in changeset.tasks):
        # Merged before; its retried tasks did not get this far.
        return move_changeset(reopen(changeset), ChangesetEvent.MERGED)
    return move_changeset(changeset, ChangesetEvent.DROPPED, reason=reason)
