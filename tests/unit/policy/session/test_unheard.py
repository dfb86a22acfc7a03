"""What a person said and an attempt's agent had ended before it heard."""

import pytest

from tests.unit.policy.session.test_decision_record import NOON, RUNNING, in_state
from workflows.domain.ids import TaskId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.wave_values import DevelopResult, TaskWord
from workflows.domain.task import TaskState
from workflows.policy.session import wave_outcomes


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (TaskState.READY, "the next one will"),
        (TaskState.PENDING, "the next one will"),
        (TaskState.DEVELOPED, "another will only if the work is rejected"),
        (TaskState.FAILED, "there is none to come"),
        (TaskState.SKIPPED, "there is none to come"),
    ],
)
def test_it_is_said_whether_another_agent_will_hear_it(state: TaskState, words: str) -> None:
    before = in_state(RUNNING, "a", state)
    word = TaskWord(task=TaskId("a"), text="mind the tests")
    after = wave_outcomes.take(before, DevelopResult(items=(), unheard=(word,)), NOON)
    (notice,) = after.notices
    assert (notice.kind, notice.subject) == (NoticeKind.NOT_POSSIBLE, "a")
    assert notice.text.endswith(f"has not heard 'mind the tests'; {words}")
    assert after.records == before.records
