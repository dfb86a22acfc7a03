"""`rewind_task`: the next attempt starts from what one turn of an earlier attempt left.

| the task                              | effect                                           |
|---------------------------------------|--------------------------------------------------|
| merged, or being merged               | refused                                          |
| has not started                       | refused                                          |
| its agent or its validation runs      | that ends; its result moves nothing              |
| validated                             | its approval falls; work based on it starts over |
| ended, waiting, or rejected           | it is worked on again                            |

The attempt is counted and paid for like any other, and is allowed even if none was left.
"""

from workflows.domain.session.decision_inputs import RewindTask
from workflows.domain.session.earlier_work import FindTurn, NotFound, TurnFound
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskEvent, TaskRecord, TaskState
from workflows.policy.money.amounts_in_words import counted
from workflows.policy.session import wave_outcomes
from workflows.policy.session.decision_record import Case
from workflows.policy.session.effects import Applied
from workflows.policy.session.task_states import move


def rewind(case: Case, signal: RewindTask) -> Applied:
    """Have the task worked on again from a turn; the host is asked for the checkpoint first."""
    record = case.record(signal.id)
    if record is None:
        return case.unknown("task", signal.id)
    attempt = signal.attempt or record.attempt
    if reason := _refusal(record, attempt):
        return case.not_possible(signal.id, reason)
    match case.found:
        case TurnFound() as found:
            return Applied(state=_rewound(case.state, record, signal, found))
        case NotFound(reason=reason):
            return case.not_possible(signal.id, reason)
        case _:
            asks = FindTurn(task=record.task.id, attempt=attempt, turn=signal.turn)
            return Applied(state=case.state, asks=asks)


def _refusal(record: TaskRecord, attempt: int) -> str:
    name = record.task.id
    if record.state is TaskState.MERGED:
        return f"task {name!r} is merged; `revert {name}` takes its work back"
    if record.state is TaskState.MERGING:
        return f"task {name!r} is being merged: too late to rewind it"
    if record.attempt == 0:
        return f"task {name!r} has not started ({record.state}): there is no turn to go back to"
    if attempt > record.attempt:
        made = counted(record.attempt, "attempt")
        return f"task {name!r} has no attempt {attempt}; it has had {made}"
    return ""


def _rewound(
    state: SessionState, record: TaskRecord, signal: RewindTask, found: TurnFound
) -> SessionState:
    place = f"turn {signal.turn} of attempt {found.attempt}"
    said = f", and says: {signal.notes}" if signal.notes else ""
    note = f"a person rewound the work to {place}{said}"
    again = record.evolve(
        base=found.base,
        restart_from=found.commit,
        notes=(*record.notes, note),
        attempts_allowed=max(record.attempts_allowed, record.attempt + 1),
        reworks=0,
        waived=False,
    )
    again = move(again, TaskEvent.REWOUND, f"rewound by a person to {place}")
    state = wave_outcomes.put(state, again)
    if record.commit is not None:  # others may be based on it
        return wave_outcomes.reset_dependants(state, record.task.id, "was rewound")
    if record.waived:
        return wave_outcomes.reset_dependants(state, record.task.id, "is to be done after all")
    return state
