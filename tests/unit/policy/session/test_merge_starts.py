"""Which approved changesets one merge wave takes."""

from datetime import UTC, datetime
from decimal import Decimal

from tests.unit.policy.examples import a_record, a_task
from tests.unit.policy.session.test_ending import CONFIG
from workflows.domain.changeset import Changeset, ChangesetItem, ChangesetState
from workflows.domain.ids import ChangesetId, Commit, TaskId
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import MergedChangeset, MergeResult
from workflows.domain.task import TaskState
from workflows.policy.session import scheduling, wave_outcomes
from workflows.policy.session.changeset_states import digest_of
from workflows.policy.session.scheduling import MERGED_TOGETHER, Running, StageStart, next_starts

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
COUNT = MERGED_TOGETHER + 5
COMMIT = Commit("c" * 40)
NAMES = [f"t{number}" for number in range(COUNT)]


def approved(task: str) -> Changeset:
    item = ChangesetItem(task=TaskId(task), commit=COMMIT, title=f"do {task}")
    digest = digest_of((item,))
    return Changeset(
        id=ChangesetId(task),
        tasks=(item.task,),
        items=(item,),
        state=ChangesetState.APPROVED,
        digest=digest,
        approved_digest=digest,
    )


def all_approved() -> SessionState:
    """Return a session in which every task's changeset was approved at the same moment."""
    return SessionState(
        started_at=NOON,
        cap_usd=Decimal(1),
        phase=SessionPhase.RUNNING,
        records={
            TaskId(task): a_record(a_task(task), TaskState.VALIDATED, attempt=1, commit=COMMIT)
            for task in NAMES
        },
        changesets=tuple(approved(task) for task in NAMES),
    )


def test_a_merge_wave_takes_the_first_ones_and_the_next_wave_takes_the_rest() -> None:
    state = all_approved()
    (first,) = next_starts(state, CONFIG, Running())
    assert first == StageStart(stage="merge", changesets=_ids(NAMES[:MERGED_TOGETHER]))
    state = scheduling.start(state, first)
    assert next_starts(state, CONFIG, Running(merge=1)) == ()
    items = tuple(MergedChangeset(id=each, head=Commit("h" * 40)) for each in first.changesets)
    result = MergeResult(items=items, head=Commit("h" * 40), delivered=None, branch=None)
    state = scheduling.settle(wave_outcomes.take(state, result, NOON), CONFIG, NOON)
    (second,) = next_starts(state, CONFIG, Running())
    assert second == StageStart(stage="merge", changesets=_ids(NAMES[MERGED_TOGETHER:]))


def _ids(names: list[str]) -> tuple[ChangesetId, ...]:
    return tuple(ChangesetId(name) for name in names)
