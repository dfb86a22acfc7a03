"""Queues of goals on the real server: one session at a time, each key once."""

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import (
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateHandle,
    WorkflowUpdateStage,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from starter.console.command_errors import CommandError
from starter.sessions.goal_queues import GoalQueues
from tests.fakes.held_queue import HeldQueue
from tests.fakes.world import World, planned
from tests.theatre import ASK, Theatre, light_theatre, request
from tests.waiting import ends, until
from workers import wiring
from workers.roles import Role as WorkerRole
from workflows import queues
from workflows.contracts.contract import PATIENT
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.queued_goal import (
    NamedEntry,
    QueueAnswer,
    QueuedGoal,
    QueueRequest,
    QueueState,
    SetAside,
)
from workflows.domain.session.scheduled_goal import (
    ScheduledGoal,
    SessionMade,
    SessionMaking,
    SessionNotMade,
)
from workflows.domain.session.session_start import SessionRequest
from workflows.errors import FailureType
from workflows.schedules.goal_queue import GoalQueue
from workflows.schedules.repository_turn import queue_id, turn_id

pytestmark = pytest.mark.asyncio(loop_scope="session")

Make = Callable[[ScheduledGoal], SessionMaking | Awaitable[SessionMaking]]


class Queue:
    """The queue of one repository, whose goals start sessions that wait for approval."""

    def __init__(self, theatre: Theatre) -> None:
        self.theatre = theatre
        self.repository = f"/{uuid.uuid4().hex}"
        self.queues = GoalQueues(theatre.client)
        self.started: dict[str, SessionRequest] = {}
        """The session of each goal that was asked for."""
        self.instead: Make | None = None
        self.world = World(planned({"id": "a"}))
        self.world.scheduled = self._make
        theatre.worlds[self.id.partition("/")[2]] = self.world

    @property
    def id(self) -> str:
        return queue_id(self.repository)

    @property
    def handle(self) -> WorkflowHandle[Any, Any]:
        return self.theatre.client.get_workflow_handle(self.id)

    def _make(self, goal: ScheduledGoal) -> SessionMaking | Awaitable[SessionMaking]:
        if self.instead is not None:
            return self.instead(goal)
        return SessionMade(request=self.request(goal.goal))

    def request(self, goal: str) -> SessionRequest:
        """Return the request of a session of this goal that waits for the plan's approval."""
        wanted = request(approvals=ASK)
        made = SessionRequest.model_validate({**dict(wanted), "repository": self.repository})
        self.theatre.worlds[made.session] = self.world
        self.started[goal] = made
        return made

    async def start(self, task_queue: str = queues.WORKFLOWS, **facts: Any) -> None:
        """Start the queue as the first `enqueue` would, with other times."""
        facts = {"busy_wait": timedelta(milliseconds=50), **facts}
        await self.theatre.client.start_workflow(
            "GoalQueue",
            QueueRequest(repository=self.repository, **facts),
            id=self.id,
            task_queue=task_queue,
            memo={"repository": self.repository},
        )

    async def add(self, *goals: str, issue: str = "") -> tuple[int, int]:
        """Put goals into the queue; return how many were added, and known."""
        wanted = [
            ScheduledGoal(name="queue", goal=goal, issue=issue, repository=self.repository)
            for goal in goals
        ]
        answer = await self.queues.enqueue(self.repository, wanted)
        return len(answer.added), len(answer.known)

    async def state(self) -> QueueState:
        return await self.handle.query("state", result_type=QueueState)

    async def until(self, holds: Callable[[QueueState], bool], what: str) -> QueueState:
        """Wait until the queue is as wanted."""
        seen: list[QueueState] = []

        async def is_there() -> bool:
            seen[:] = [await self.state()]
            return holds(seen[0])

        await until(is_there, what, seen=lambda: seen)
        return seen[0]

    async def until_plan(self, goal: str) -> WorkflowHandle[Any, Any]:
        """Wait until a goal's session asks for the plan's approval."""
        await self.until(
            lambda state: bool(state.current and state.current.goal.goal == goal), goal
        )
        session = self.theatre.client.get_workflow_handle(self.started[goal].workflow_id)

        async def asks() -> bool:
            # The repository is taken a moment before the session is there.
            with suppress(RPCError):
                view = await session.query("state", result_type=SessionView)
                return view.phase == "awaiting_plan"
            return False

        await until(asks, f"the session of {goal!r} asks for approval")
        return session

    async def complete(self, goal: str) -> None:
        """Approve all that a goal's session asks."""
        session = await self.until_plan(goal)
        await session.signal("approve_plan", {"by": "t"})
        view: list[SessionView] = []

        async def asks() -> bool:
            view[:] = [await session.query("state", result_type=SessionView)]
            return any(each.digest for each in view[0].changesets)

        await until(asks, f"the work of {goal!r} waits for approval", seen=lambda: view)
        (changeset,) = view[0].changesets
        said = {"id": changeset.id, "digest": changeset.digest, "by": "t"}
        await session.signal("approve_changeset", said)
        await ends(session.result(), f"the end of {goal!r}")


@pytest_asyncio.fixture(loop_scope="session")
async def queue(theatre: Theatre) -> AsyncGenerator[Queue]:
    made = Queue(theatre)
    yield made
    with suppress(RPCError):  # a test may have ended it
        await made.handle.terminate("the test is over")
    for each in list(made.started.values()):  # a session may still be made; it never starts
        session = theatre.client.get_workflow_handle(each.workflow_id)
        with suppress(RPCError):  # it has ended, or was never started
            await session.signal("stop", {})
            await ends(session.result(), "the session ends")


@pytest.mark.slow
async def test_goals_are_worked_off_one_after_the_other_and_what_failed_waits_for_a_person(
    queue: Queue,
) -> None:
    assert await queue.add("first", "second") == (2, 0)
    first = await queue.until_plan("first")
    assert [each.goal.goal for each in (await queue.state()).waiting] == ["second"]
    assert "second" not in queue.started
    await first.signal("stop", {})
    await queue.until_plan("second")
    (aside,) = (await queue.state()).failed
    assert aside.session == queue.started["first"].session
    assert aside.reason == "its session ended as stopped"

    with pytest.raises(CommandError, match="is the goal of open session"):
        await queue.queues.remove(queue.started["second"].session)
    again = await queue.queues.requeue(aside.session or "")
    assert again.goal.goal == "first"
    with pytest.raises(CommandError, match="is not set aside"):
        await queue.queues.requeue(again.id)
    await queue.complete("second")
    await queue.until_plan("first")
    state = await queue.state()
    assert (state.failed, state.waiting, len(state.done)) == ((), (), 1)
    assert queue.started["first"].session != aside.session
    (shown,) = [each for each in await queue.queues.list() if each.repository == queue.repository]
    assert shown.state == state


@pytest.mark.slow
async def test_an_issue_is_one_entry_however_often_it_comes(queue: Queue) -> None:
    url = "https://github.com/acme/shop/issues/1"
    assert await queue.add("one", issue=url) == (1, 0)
    assert await queue.add("one", issue=url) == (0, 1)
    await queue.complete("one")
    assert (await queue.until(lambda state: not state.current, "idle")).done == (url,)
    assert await queue.add("one", issue=url) == (0, 1)
    assert await queue.add("two", "two") == (2, 0)


@pytest.mark.slow
async def test_while_the_repository_is_taken_the_queue_waits_and_says_why(queue: Queue) -> None:
    await queue.start()
    queue.instead = lambda _: SessionNotMade(kind="busy", reason="session 'x' is open")
    await queue.add("goal")
    await queue.until(lambda state: state.reason == "session 'x' is open", "the reason")

    # A schedule's session is not in the list yet, and holds the repository.
    queue.instead = None
    other = queue.request("other")
    turn = await queue.theatre.client.start_workflow(
        "RepositoryTurn", other, id=turn_id(queue.repository), task_queue=queues.WORKFLOWS
    )
    await queue.until(lambda state: "a schedule's session" in state.reason, "the other reason")
    session = queue.theatre.client.get_workflow_handle(other.workflow_id)
    await session.signal("stop", {})
    await ends(turn.result(), "the end of the other session")
    await queue.until_plan("goal")
    assert (await queue.state()).reason == ""


@pytest.mark.slow
async def test_what_cannot_be_started_is_set_aside_and_the_next_one_begins(queue: Queue) -> None:
    def make(goal: ScheduledGoal) -> SessionMaking:
        if goal.goal == "wrong":
            return SessionNotMade(kind="refused", reason="no models")
        return SessionMade(request=queue.request(goal.goal))

    queue.instead = make
    await queue.add("wrong", "right")
    await queue.until_plan("right")
    (aside,) = (await queue.state()).failed
    assert (aside.session, aside.reason) == (None, "no models")
    await queue.queues.remove(aside.entry.id)
    assert (await queue.state()).failed == ()


async def test_what_is_removed_while_its_session_is_made_is_not_set_aside(queue: Queue) -> None:
    async def refuse(goal: ScheduledGoal) -> SessionMaking:
        (entry,) = [each for each in (await queue.state()).waiting if each.goal == goal]
        await queue.queues.remove(entry.id)
        return SessionNotMade(kind="refused", reason="no models")

    def make(goal: ScheduledGoal) -> SessionMaking | Awaitable[SessionMaking]:
        wanted = SessionMade(request=queue.request(goal.goal))
        return refuse(goal) if goal.goal == "wrong" else wanted

    queue.instead = make
    await queue.add("wrong", "right")
    await queue.until_plan("right")
    assert (await queue.state()).failed == ()


async def set_aside_before_another(make: Callable[[], SessionMaking]) -> list[SetAside]:
    """Return what was set aside when the goal after this one gets its turn; time is skipped."""
    seen: list[SetAside] = []

    async def look() -> SessionMaking:
        seen[:] = (await queue.query("state", result_type=QueueState)).failed
        await queue.terminate("seen")
        return SessionNotMade(kind="refused", reason="unseen")

    world = World(planned({"id": "a"}))
    world.scheduled = lambda goal: look() if goal.goal == "another" else make()
    async with light_theatre() as theatre:
        theatre.worlds["lone"] = world
        queue = await theatre.client.start_workflow(
            "GoalQueue",
            QueueRequest(
                repository="/r", carried=QueueState(waiting=(entry("goal"), entry("another")))
            ),
            id="queue/lone",
            task_queue=queues.WORKFLOWS,
        )
        with pytest.raises(WorkflowFailureError):
            await ends(queue.result(), "the goal is set aside")
    return seen


def entry(goal: str) -> QueuedGoal:
    """Return a goal in a queue."""
    wanted = ScheduledGoal(name="queue", goal=goal, repository="/r")
    return QueuedGoal(id=f"{goal:0>10}", key=goal, goal=wanted, added_at=datetime.now(UTC))


@pytest.mark.parametrize("kind", [FailureType.PROVIDER_UNAVAILABLE, FailureType.RATE_LIMITED])
async def test_a_goal_waits_however_long_nothing_answers(kind: str) -> None:
    tries = list[str]()

    def make() -> SessionMaking:
        tries.append(kind)
        if len(tries) <= PATIENT + 5:
            raise ApplicationError("no answer", type=kind)
        return SessionNotMade(kind="refused", reason="no models")

    assert [each.reason for each in await set_aside_before_another(make)] == ["no models"]
    assert len(tries) == PATIENT + 6


async def test_an_internal_error_that_repeats_sets_a_goal_aside() -> None:
    tries = list[str]()

    def make() -> SessionMaking:
        tries.append("a key")
        raise LookupError("a key")

    reasons = [each.reason for each in await set_aside_before_another(make)]
    assert reasons == ["the session could not be made: LookupError: a key"]
    assert len(tries) == PATIENT


@asynccontextmanager
async def removing_while_a_session_starts(
    queue: Queue,
) -> AsyncGenerator[WorkflowUpdateHandle[QueueAnswer]]:
    """Ask for the removal of a goal while its session is being started, then let it start."""
    honest = [each for each in wiring.workflows_for(WorkerRole.WORKFLOWS) if each != GoalQueue]
    async with Worker(
        queue.theatre.client,
        task_queue="held",
        workflows=[*honest, HeldQueue],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        await queue.start("held", carried=QueueState(waiting=(entry("goal"),)))
        await until(lambda: queue.handle.query("is_held"), "a session is being started")
        removal = await queue.handle.start_update(
            "remove",
            NamedEntry(id=entry("goal").id),
            wait_for_stage=WorkflowUpdateStage.ACCEPTED,
            result_type=QueueAnswer,
        )
        await queue.handle.signal("go")
        try:
            yield removal
        finally:
            await queue.handle.terminate("its worker ends")


async def test_a_removal_while_the_session_starts_names_the_session_to_stop(queue: Queue) -> None:
    async with removing_while_a_session_starts(queue) as removal:
        answer = await ends(removal.result(), "the answer")
        session = await queue.until_plan("goal")
        await session.signal("stop", {})
        await ends(session.result(), "the session ends")
        name = session.id.partition("/")[2]
        assert f"`stop {name}` ends that session" in answer.refused


async def test_a_removal_while_the_start_fails_holds(queue: Queue) -> None:
    other = queue.request("other")
    turn = await queue.theatre.client.start_workflow(
        "RepositoryTurn", other, id=turn_id(queue.repository), task_queue=queues.WORKFLOWS
    )
    async with removing_while_a_session_starts(queue) as removal:
        assert (await ends(removal.result(), "the answer")).refused == ""
        state = await queue.state()
        assert (state.waiting, state.current, state.failed) == ((), None, ())
    await turn.terminate("the test is over")


@pytest.mark.slow
async def test_a_turn_that_is_ended_by_hand_does_not_end_the_queue(queue: Queue) -> None:
    await queue.add("one", "two")
    await queue.until_plan("one")
    turn = queue.theatre.client.get_workflow_handle(turn_id(queue.repository))
    await turn.terminate("by hand")
    await queue.until_plan("two")
    (aside,) = (await queue.state()).failed
    assert aside.session == queue.started["one"].session
    assert aside.reason.startswith("its session ended, or is out of sight: ")


@pytest.mark.slow
async def test_a_queue_continues_as_new_with_all_that_it_holds(queue: Queue) -> None:
    await queue.start(goals_per_run=1)
    before = (await queue.handle.describe()).run_id
    await queue.add("one", "two")
    await (await queue.until_plan("one")).signal("stop", {})
    await queue.until_plan("two")
    assert (await queue.handle.describe()).run_id != before
    state = await queue.state()
    assert [each.entry.goal.goal for each in state.failed] == ["one"]


@pytest.mark.slow
async def test_an_idle_queue_renews_its_history(queue: Queue) -> None:
    await queue.start(renewed_after=timedelta(milliseconds=50))
    before = (await queue.handle.describe()).run_id

    async def is_renewed() -> bool:
        return (await queue.handle.describe()).run_id != before

    await until(is_renewed, "another run")
    assert await queue.add("goal") == (1, 0)
    await queue.until_plan("goal")
