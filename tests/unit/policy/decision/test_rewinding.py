"""A task rewound to a turn: when, what the next attempt starts from, and who starts over."""

import pytest

from tests.unit.policy.session.test_rework import CONFIG, HEAD, NOON, WORK, A, B, session
from workflows.domain.ids import Commit
from workflows.domain.session.earlier_work import FindTurn, HostAnswer, NotFound, TurnFound
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.decision.decisions import ASKING, NAMES, apply
from workflows.policy.session import scheduling, wave_outcomes
from workflows.policy.session.effects import Applied, Sent
from workflows.policy.session.wave_requests import assignment

THEN, THEN_BASE = Commit("c" * 40), Commit("d" * 40)
FOUND = TurnFound(attempt=1, commit=THEN, base=THEN_BASE)
REFUSED = frozenset({TaskState.MERGED, TaskState.MERGING})


def rewound(state: SessionState, found: HostAnswer | None = FOUND, **more: object) -> Applied:
    payload = {"id": "a", "turn": 2, **more}
    return apply(state, CONFIG, Sent("rewind_task", payload, found=found), NOON)  # pyright: ignore[reportArgumentType] (JSON)


@pytest.mark.parametrize("state", sorted(frozenset(TaskState) - REFUSED))
def test_the_next_attempt_starts_from_the_turn_whatever_became_of_the_last_one(
    state: TaskState,
) -> None:
    applied = rewound(session(state, attempt=2, attempts_allowed=2), notes="shorter")
    record = applied.state.records[A]
    assert (applied.refused, record.state) == ("", TaskState.PENDING)
    assert (record.restart_from, record.base, record.attempts_allowed) == (THEN, THEN_BASE, 3)
    assert record.notes[-1] == (
        "a person rewound the work to turn 2 of attempt 1, and says: shorter"
    )
    assert record.reason == "rewound by a person to turn 2 of attempt 1"
    again = assignment(applied.state, A)
    assert (again.attempt, again.restart_from, again.base) == (3, THEN, THEN_BASE)


def test_the_host_is_asked_first_and_nothing_changes_until_it_answers() -> None:
    before = session(TaskState.DEVELOPING, attempt=2)
    latest, named = rewound(before, None), rewound(before, None, attempt=1)
    assert latest.asks == FindTurn(task=A, attempt=2, turn=2)
    assert named.asks == FindTurn(task=A, attempt=1, turn=2)
    assert latest.state.records == before.records
    assert {"rewind_task", "revert_task"} == ASKING <= set(NAMES)


@pytest.mark.parametrize(
    ("state", "facts", "content", "said"),
    [
        (TaskState.MERGED, {}, {}, "task 'a' is merged; `revert a` takes its work back"),
        (TaskState.MERGING, {}, {}, "task 'a' is being merged: too late to rewind it"),
        (TaskState.PENDING, {"attempt": 0}, {}, "task 'a' has not started (pending)"),
        (TaskState.FAILED, {}, {"attempt": 2}, "no attempt 2; it has had 1 attempt"),
        (TaskState.FAILED, {}, {"id": "z"}, "there is no task 'z'"),
        (TaskState.FAILED, {}, {"turn": 0}, "was not understood"),
    ],
)
def test_what_cannot_be_rewound_is_refused_with_the_reason(
    state: TaskState, facts: dict[str, object], content: dict[str, object], said: str
) -> None:
    for found in (None, FOUND):
        applied = rewound(session(state, **facts), found, **content)
        assert said in applied.refused
        assert applied.asks is None


def test_a_turn_that_the_host_does_not_have_is_refused_in_its_words() -> None:
    before = session(TaskState.FAILED)
    applied = rewound(before, NotFound(reason="a clean-up removed them"))
    assert applied.refused == "a clean-up removed them"
    assert applied.state.records == before.records


def test_work_that_is_based_on_it_starts_over_and_its_approval_falls() -> None:
    state = session(TaskState.VALIDATED)
    dependant = state.records[B].evolve(state=TaskState.VALIDATED, attempt=1, commit=WORK)
    state = scheduling.settle(wave_outcomes.put(state, dependant), CONFIG, NOON)
    assert [each.digest is not None for each in state.changesets] == [True]
    after = scheduling.settle(rewound(state).state, CONFIG, NOON)
    assert after.records[B].state is TaskState.PENDING
    assert "on which it stands, was rewound" in after.records[B].reason
    assert [each.digest for each in after.changesets] == [None]


def test_a_waived_task_is_to_be_done_after_all() -> None:
    state = session(TaskState.SKIPPED, waived=True)
    state = wave_outcomes.put(
        state, state.records[B].evolve(state=TaskState.DEVELOPING, attempt=1, base=HEAD)
    )
    after = rewound(state).state
    assert (after.records[A].waived, after.records[B].state) == (False, TaskState.PENDING)
