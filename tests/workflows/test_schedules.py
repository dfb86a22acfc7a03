"""Schedules on the real server: they fire at their time, and never overlap on one repository."""

import uuid
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from starter.console.command_errors import CommandError
from starter.sessions.schedules import Schedules, ShownSchedule
from starter.sessions.session_client import Sessions
from tests.fakes.world import Making, World, planned
from tests.theatre import ASK, Theatre, light_theatre, request
from tests.waiting import ends, until
from workflows import queues
from workflows.contracts.land_contracts import FindTargets, TargetsFound, TargetsOutcome
from workflows.domain.ids import SessionId
from workflows.domain.session.scheduled_goal import (
    ScheduledGoal,
    ScheduledOutcome,
    SessionMade,
    SessionMaking,
    SessionNotMade,
)
from workflows.domain.session.session_start import SessionRequest
from workflows.schedules.repository_turn import turn_id

pytestmark = pytest.mark.asyncio(loop_scope="session")

EACH_SECOND = "* * * * * * *"
NEVER = "0 0 30 2 *"


class Scheduling:
    """The schedules of one test; all are removed at its end."""

    def __init__(self, theatre: Theatre) -> None:
        self.theatre = theatre
        self.schedules = Schedules(theatre.client)
        self.names: list[str] = []

    async def add(self, cron: str, scheduled: SessionMade | SessionNotMade | Making) -> str:
        """Add a schedule that is to start this."""
        name = uuid.uuid4().hex[:10]
        world = World(planned({"id": "a"}))
        world.scheduled = scheduled
        self.theatre.worlds[name] = world
        if isinstance(scheduled, SessionMade):
            self.theatre.worlds[scheduled.request.session] = world
        goal = ScheduledGoal(name=name, goal="a goal", repository="/r")
        await self.schedules.add(goal, cron, "UTC")
        self.names.append(name)
        return name

    async def until_last(self, name: str, kind: str) -> ShownSchedule:
        """Wait until the schedule has fired, with this outcome."""
        shown: list[ShownSchedule] = []

        async def is_there() -> bool:
            shown[:] = [await self.schedules.show(name)]
            return shown[0].last == kind

        await until(is_there, f"a firing that is {kind!r}", seen=lambda: shown)
        return shown[0]


@pytest.fixture
async def scheduling(theatre: Theatre) -> AsyncGenerator[Scheduling]:
    made = Scheduling(theatre)
    yield made
    for name in made.names:
        await made.schedules.remove(name)


def waiting_request() -> SessionRequest:
    """Return the request of a session that waits for approval, on a repository of its own."""
    wanted = request(approvals=ASK)
    return SessionRequest.model_validate({**dict(wanted), "repository": f"/{wanted.session}"})


async def stop(theatre: Theatre, wanted: SessionRequest) -> None:
    """Stop the session, and wait until its repository is free."""
    handle = theatre.client.get_workflow_handle(wanted.workflow_id)

    async def is_there() -> bool:
        try:
            await handle.describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    # A firing counts as started once the repository is taken, a moment before the session is there.
    await until(is_there, "the session has started")
    await handle.signal("stop", {})
    turn = theatre.client.get_workflow_handle(turn_id(wanted.repository))
    assert await ends(turn.result(), "the end of the repository's turn") == "stopped"


async def test_a_schedule_fires_by_itself_once_and_not_again_while_its_session_is_open(
    scheduling: Scheduling,
) -> None:
    wanted = waiting_request()
    name = await scheduling.add(EACH_SECOND, SessionMade(request=wanted))
    shown = await scheduling.until_last(name, "skipped")
    assert shown.last_reason == f"another schedule's session is open on {wanted.repository!r}"
    assert (shown.cron, shown.time_zone, shown.goal) == (EACH_SECOND, "UTC", "a goal")
    await scheduling.schedules.pause(name)
    assert (await scheduling.schedules.show(name)).next_at is None

    async def is_listed() -> bool:
        listed = await Sessions(scheduling.theatre.client).list(limit=1_000, is_open=True)
        return wanted.session in {each.session for each in listed}

    await until(is_listed, "it is listed like any other session")
    await stop(scheduling.theatre, wanted)


@pytest.mark.slow
async def test_a_schedule_fires_within_a_second_of_its_time(scheduling: Scheduling) -> None:
    name = await scheduling.add(EACH_SECOND, SessionNotMade(kind="busy", reason="it is open"))
    handle = scheduling.theatre.client.get_schedule_handle(f"schedule/{name}")
    lates: list[timedelta] = []

    async def has_fired() -> bool:
        fired = (await handle.describe()).info.recent_actions
        lates[:] = [each.started_at - each.scheduled_at for each in fired]
        return len(lates) >= 5

    await until(has_fired, "five firings", seen=lambda: lates)
    await scheduling.schedules.pause(name)
    # By the server's own record; the middle one, because a busy machine may delay any of them.
    assert timedelta(0) <= sorted(lates)[len(lates) // 2] < timedelta(seconds=1)


async def test_a_person_is_told_of_a_firing_in_vain(scheduling: Scheduling) -> None:
    open_session, told = SessionId("01m8mkncfaz8ezhtphsg7j0m3r"), "session is open on '@r'"
    for made, command in (
        (
            SessionNotMade(kind="busy", reason=told, session=open_session, is_told=True),
            f"blueflame status {open_session}",
        ),
        (SessionNotMade(kind="refused", reason=told, is_told=True), "blueflame schedule list"),
    ):
        name = await scheduling.add(NEVER, made)
        messages = scheduling.theatre.worlds[name].messages
        messages.targets = _phone
        await scheduling.schedules.trigger(name)
        await until(lambda sent=messages.sent: bool(sent), "a message")
        (sent,) = messages.sent
        assert sent.notification.kind == "schedule"
        assert sent.notification.title.startswith(f"Blue Flame: schedule did not start: {name}-")
        (item,) = sent.notification.items
        assert (item.text, item.command) == ("session is open on '@\u200br'", command)


async def _phone(_: FindTargets) -> TargetsOutcome:
    return TargetsFound(targets=("phone",))


async def test_a_person_is_told_of_a_firing_whose_session_could_not_be_made(
    scheduling: Scheduling,
) -> None:
    def fail(_: ScheduledGoal) -> SessionMaking:
        raise ApplicationError("the configuration cannot be read", non_retryable=True)

    name = await scheduling.add(NEVER, fail)
    messages = scheduling.theatre.worlds[name].messages
    messages.targets = _phone
    await scheduling.schedules.trigger(name)
    await until(lambda: bool(messages.sent), "a message")
    (item,) = messages.sent[0].notification.items
    assert "the configuration cannot be read" in item.text


@pytest.mark.slow
async def test_a_firing_that_is_answered_hours_later_is_left_out() -> None:
    wanted, asked = request(approvals=ASK), list[ScheduledGoal]()

    def make(goal: ScheduledGoal) -> SessionMaking:
        asked.append(goal)
        if len(asked) == 1:
            raise ApplicationError("no worker yet", next_retry_delay=timedelta(hours=2))
        return SessionMade(request=wanted)

    world = World(planned({"id": "a"}))
    world.scheduled = make
    async with light_theatre() as theatre:
        theatre.worlds |= {"nightly": world, wanted.session: world}
        outcome = await theatre.client.execute_workflow(
            "ScheduledRun",
            ScheduledGoal(name="nightly", goal="a goal", repository="/r"),
            id="schedule/nightly",
            task_queue=queues.WORKFLOWS,
            result_type=ScheduledOutcome,
        )
    assert (outcome.kind, outcome.session) == ("skipped", None)
    assert outcome.reason == "no worker answered within an hour, so this time is left out"


async def test_a_goal_that_would_be_kept_as_a_blob_is_refused(scheduling: Scheduling) -> None:
    goal = ScheduledGoal(name="long", goal="数" * 40_000, repository="/r")
    with pytest.raises(CommandError, match="may have 100,000 bytes, not 120,"):
        await scheduling.schedules.add(goal, NEVER, "UTC")


async def test_two_schedules_of_one_repository_do_not_overlap(scheduling: Scheduling) -> None:
    wanted = waiting_request()
    also = SessionRequest.model_validate({**dict(wanted), "session": uuid.uuid4().hex[:10]})
    first = await scheduling.add(NEVER, SessionMade(request=wanted))
    second = await scheduling.add(NEVER, SessionMade(request=also))
    await scheduling.schedules.trigger(first)
    await scheduling.until_last(first, "started")
    await scheduling.schedules.trigger(second)
    shown = await scheduling.until_last(second, "skipped")
    assert shown.last_reason == f"another schedule's session is open on {wanted.repository!r}"

    await stop(scheduling.theatre, wanted)
    await scheduling.schedules.trigger(second)
    await scheduling.until_last(second, "started")
    await stop(scheduling.theatre, also)


async def test_what_would_be_refused_is_shown_with_its_reason(scheduling: Scheduling) -> None:
    name = await scheduling.add(NEVER, SessionNotMade(kind="refused", reason="no models"))
    await scheduling.schedules.trigger(name)
    assert (await scheduling.until_last(name, "refused")).last_reason == "no models"


async def test_an_open_session_of_the_repository_is_a_reason_to_skip(
    scheduling: Scheduling,
) -> None:
    name = await scheduling.add(NEVER, SessionNotMade(kind="busy", reason="it is open"))
    await scheduling.schedules.trigger(name)
    assert (await scheduling.until_last(name, "skipped")).last_reason == "it is open"


async def test_a_name_is_given_once_and_unknown_names_are_refused(scheduling: Scheduling) -> None:
    name = await scheduling.add(NEVER, SessionNotMade(kind="busy", reason="x"))
    goal = ScheduledGoal(name=name, goal="a goal", repository="/r")
    with pytest.raises(CommandError, match="is there already"):
        await scheduling.schedules.add(goal, NEVER, "UTC")
    with pytest.raises(CommandError, match="there is no schedule 'other'"):
        await scheduling.schedules.trigger("other")


@pytest.mark.parametrize(("cron", "zone"), [("soon", "UTC"), (NEVER, "Mars/Olympus")])
async def test_a_time_that_the_server_cannot_read_is_refused(
    scheduling: Scheduling, cron: str, zone: str
) -> None:
    goal = ScheduledGoal(name="never", goal="a goal", repository="/r")
    with pytest.raises(CommandError, match=r"an example is '0 2 \* \* 1-5'"):
        await scheduling.schedules.add(goal, cron, zone)
