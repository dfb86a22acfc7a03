"""`session_client`: ids, and what is over; what asks the server is in tests/e2e."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.taskqueue.v1 import PollerInfo
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueResponse,
    DescribeWorkflowExecutionResponse,
    ListWorkersResponse,
)
from temporalio.service import RPCError, RPCStatusCode

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.input.session_options import say_choice
from starter.sessions.ended_session import ended
from starter.sessions.sent_decisions import decider
from starter.sessions.session_client import Sessions, make_id
from starter.sessions.shown_session import SessionSummary
from tests.unit.starter.shown import changeset, session, task
from workflows.domain.changeset import ChangesetState
from workflows.domain.ids import SessionId
from workflows.domain.session.query_answers import SessionResult
from workflows.domain.task import TaskState
from workflows.policy.session import changeset_states, task_states

TIMES = st.floats(0, 2**47 / 1000, allow_nan=False)
CHANCES = st.integers(0, 2**80 - 1)


@given(TIMES, CHANCES)
def test_an_id_is_safe_in_a_ref_and_in_a_workflow_id(now: float, chance: int) -> None:
    assert re.fullmatch(r"[0-9a-hjkmnp-tv-z]{26}", make_id(now, chance))


@given(TIMES, CHANCES, CHANCES)
def test_ids_are_sorted_by_time(now: float, first: int, second: int) -> None:
    assert make_id(now, first) < make_id(now + 0.002, second)


def test_ids_of_one_moment_differ() -> None:
    assert len({make_id(1.0) for _ in range(1_000)}) == 1_000


def test_a_decider_is_a_user_on_a_host() -> None:
    assert re.fullmatch(r"[^@]+@.+", decider())
    assert len(decider()) <= 200


SEEN = session(
    tasks=tuple(task(str(each), each) for each in TaskState),
    changesets=tuple(changeset(str(each), str(each)) for each in ChangesetState),
)
RESULT = SessionResult(
    outcome="stopped",
    reason="a person said so",
    branch=None,
    head=None,
    spent_usd=Decimal(1),
    scripted=True,
    tasks=SEEN.tasks,
)


@pytest.mark.parametrize("result", [RESULT, "terminated"])
def test_nothing_is_open_in_a_session_that_is_over(result: SessionResult | str) -> None:
    over = ended(SEEN, result)
    assert over.outcome == ("failed" if isinstance(result, str) else "stopped")
    assert {each.state for each in over.tasks} == task_states.FINAL
    assert {each.state for each in over.changesets} == changeset_states.FINAL
    # What was final stays as it was.
    for was, now in zip(SEEN.tasks, over.tasks, strict=True):
        assert now.state == (was.state if was.state in task_states.FINAL else "cancelled")


class Busy:
    """A client whose worker answers the second query, as far as a session's plan needs it."""

    namespace = "default"

    def __init__(self, asked_ago: timedelta | None) -> None:
        """Args: when a worker last asked for work; None: none did."""
        self.queries = 0
        self._answer = DescribeTaskQueueResponse()
        if asked_ago is not None:
            poller = PollerInfo()
            poller.last_access_time.FromDatetime(datetime.now(UTC) - asked_ago)
            self._answer.pollers.append(poller)

    @property
    def workflow_service(self) -> "Busy":
        return self

    @property
    def raw_description(self) -> DescribeWorkflowExecutionResponse:
        return DescribeWorkflowExecutionResponse()

    async def describe(self) -> "Busy":
        return self

    async def list_workers(self, request: object) -> ListWorkersResponse:
        return ListWorkersResponse()

    async def describe_task_queue(self, request: object) -> DescribeTaskQueueResponse:
        return self._answer

    def get_workflow_handle(self, name: str) -> "Busy":
        return self

    async def query(self, *_: object, **__: object) -> None:
        self.queries += 1
        if self.queries == 1:
            raise RPCError("Timeout expired", RPCStatusCode.CANCELLED, b"")


async def test_a_worker_that_is_there_is_waited_for() -> None:
    busy: Any = Busy(timedelta())
    assert await Sessions(busy).plan(SEEN.session) is None
    assert busy.queries == 2


@pytest.mark.parametrize("asked_ago", [None, timedelta(minutes=3)])
async def test_a_worker_that_is_gone_is_not_waited_for(asked_ago: timedelta | None) -> None:
    gone: Any = Busy(asked_ago)
    with pytest.raises(CommandError, match="no worker answers"):
        await Sessions(gone).plan(SEEN.session)
    assert gone.queries == 1


class Listed(Sessions):
    """Sessions of which only the list is asked for, the newest first."""

    def __init__(self, *statuses: str) -> None:
        self._statuses = statuses

    async def list(self, limit: int, *, is_open: bool = False) -> list[SessionSummary]:
        return [
            SessionSummary(
                session=SessionId(f"{number}" * 26),
                goal=f"goal {number}",
                repository="/r",
                status=status,
                state=status,
                started_at=datetime(2026, 11, 28, tzinfo=UTC),
                closed_at=None,
            )
            for number, status in enumerate(self._statuses)
            if status == "running" or not is_open
        ][:limit]


@pytest.mark.parametrize(
    ("statuses", "acts", "expected"),
    [
        (("running",), True, "0"),
        (("completed", "running"), True, "1"),
        (("completed", "running", "running"), False, "1"),
        (("completed", "completed"), False, "0"),
    ],
)
async def test_a_session_left_out_is_found(
    statuses: tuple[str, ...], acts: bool, expected: str
) -> None:
    assert (await Listed(*statuses).find(None, acts=acts)).session == expected * 26


async def test_a_command_that_acts_does_not_guess_between_open_sessions() -> None:
    sessions = Listed("completed", "running", "running")
    with pytest.raises(CommandError) as refused:
        await sessions.find(None, acts=True)
    said = str(refused.value)
    assert said.startswith("2 sessions are open; name one of them:")
    assert f"{'1' * 26}  goal 1" in said
    assert f"{'2' * 26}  goal 2" in said
    assert (await sessions.find("2222", acts=True)).session == "2" * 26


async def test_a_command_that_acts_needs_an_open_session() -> None:
    sessions = Listed("completed", "failed")
    with pytest.raises(CommandError, match="no session is open; `ls` lists") as refused:
        await sessions.find(None, acts=True)
    assert refused.value.code is ExitCode.STALE
    # Named, it is found, and the command says what became of it.
    assert (await sessions.find("1111", acts=True)).session == "1" * 26


@pytest.mark.parametrize(
    ("statuses", "wanted", "said"),
    [
        (
            ("running", "completed", "running"),
            None,
            "2 sessions are open; this is the latest, 00",
        ),
        (("running", "running"), "1111", ""),
        (("running", "completed"), None, ""),
        (("completed", "completed"), None, ""),
    ],
)
async def test_says_which_of_several_open_sessions_was_chosen(
    statuses: tuple[str, ...], wanted: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    say_choice(await Listed(*statuses).find(wanted))
    out, err = capsys.readouterr()
    assert (out, err[: len(said)], bool(err)) == ("", said, bool(said))
