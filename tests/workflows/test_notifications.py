"""What a person is told of a session, as it arrives over HTTP at the real targets."""

from collections.abc import Generator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import SecretStr
from temporalio.exceptions import ApplicationError

from activities.adapters.notifiers.targets import targets_of
from activities.land.notifying import NotificationActivities
from activities.ports.land.notification_port import NotificationSettings, WebhookEntry
from tests.fakes.world import World, name_of, planned, tool
from tests.receiver import Receiver, receiving
from tests.theatre import ASK, Playing, Theatre, played
from tests.waiting import until
from workflows import queues
from workflows.contracts.land_contracts import (
    FindTargets,
    NotificationHeld,
    NotificationSent,
    SendNotification,
    TargetsFound,
    TargetsOutcome,
)
from workflows.contracts.model_contracts import CallModel
from workflows.domain.agent.messages import ToolCall
from workflows.domain.budget import Caps
from workflows.domain.ids import SessionId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.notification import (
    Need,
    Needs,
    NotificationKind,
    NotifierRequest,
    NotifierState,
)
from workflows.domain.session.session_modes import SessionPhase

pytestmark = pytest.mark.asyncio(loop_scope="session")

ALL = tuple(NotificationKind)
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def receiver() -> Generator[Receiver]:
    with receiving() as receiver:
        yield receiver


def real_targets(world: World, receiver: Receiver, folder: Path) -> NotificationSettings:
    """Let the real activity send a world's messages to Apprise's JSON target and to a webhook."""
    key = folder / "ops.key"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    at = f"127.0.0.1:{receiver.port}"
    settings = NotificationSettings(
        targets={"phone": SecretStr(f"json://{at}/phone")},
        webhooks={"ops": WebhookEntry(url=SecretStr(f"http://{at}/ops"), secret_file=key)},
    )
    activities = NotificationActivities(lambda: settings, targets_of, lambda: NOON)
    world.messages.targets, world.messages.on_message = activities.find, activities.send
    return settings


def told(receiver: Receiver) -> list[tuple[str, list[str], list[str]]]:
    """Return kind, texts and commands of each message, without the session's id."""
    found: list[tuple[str, list[str], list[str]]] = []
    for each in (post.json for post in receiver.to("/ops")):
        commands = [item["command"].replace(each["session"], "SESSION") for item in each["items"]]
        found.append((each["kind"], [item["text"] for item in each["items"]], commands))
    return found


async def arrives(receiver: Receiver, count: int) -> None:
    def have_come() -> bool:
        return len(receiver.to("/ops")) >= count

    await until(have_come, f"message {count}", seen=lambda: told(receiver))


def session_of(playing: Playing) -> str:
    return playing.handle.id.removeprefix("session/")


async def notifier_ends(theatre: Theatre, playing: Playing) -> NotifierState:
    handle = theatre.client.get_workflow_handle(
        f"{playing.handle.id}/notifier", result_type=NotifierState
    )
    return await handle.result()


async def test_a_session_tells_each_kind_of_need_once_with_the_command_that_answers_it(
    theatre: Theatre, receiver: Receiver, tmp_path: Path
) -> None:
    world = World(planned({"id": "a"}, {"id": "b"}))
    real_targets(world, receiver, tmp_path)

    def script(call: CallModel) -> Sequence[ToolCall]:
        if call.agent == "dev.a.1" and call.turn == 1:
            return [tool("ask", question="Which rounding?")]
        return world.usual(call)

    world.script = script
    world.gate_fails = lambda request: request.commit == name_of("task", "b", 1, name_of("base"))
    async with theatre.session(world, approvals=ASK, attempts=1, notify=ALL) as playing:
        await arrives(receiver, 1)
        await playing.say("approve_plan", {})
        await arrives(receiver, 2)
        await playing.say("answer", {"id": "a", "text": "Half up."})
        await arrives(receiver, 3)
        await playing.until(lambda view: "waits for approval" in view.reason)
        await playing.say("stop")
        await playing.result()
        state = await notifier_ends(theatre, playing)
    # The changeset waits too. It is told only if a minute has passed since the plan was.
    late = [each for each in told(receiver) if "changeset" in each[1][0]]
    assert len(late) <= 1
    assert [each for each in told(receiver) if each not in late] == [
        (
            "approval",
            ["the plan waits for approval: 2 tasks"],
            ["blueflame approve plan --session SESSION"],
        ),
        (
            "question",
            ["task 'a' asks: Which rounding?"],
            ['blueflame answer SESSION a "TEXT"'],
        ),
        (
            "failed",
            ["task 'b' failed: 1 attempt used; the last: attempt 1 was refused by the gate"],
            ["blueflame retry b --session SESSION"],
        ),
        (
            "done",
            ["the session ended as stopped: stopped by a person"],
            ["blueflame report SESSION"],
        ),
    ]
    assert state.sent == len(told(receiver))
    phone, session = receiver.to("/phone"), session_of(playing)
    titles = {
        "approval": (f"Blue Flame: approval needed: {session}", "info"),
        "question": (f"Blue Flame: question asked: {session}", "info"),
        "failed": (f"Blue Flame: failed: {session}", "failure"),
        "done": (f"Blue Flame: done: {session}", "success"),
    }
    assert [(post.json["title"], post.json["type"]) for post in phone] == [
        titles[kind] for kind, _, _ in told(receiver)
    ]
    assert phone[0].json["message"] == (
        f"a goal\n\nthe plan waits for approval: 2 tasks\n"
        f"  blueflame approve plan --session {session}"
    )
    assert [post.headers["webhook-id"] for post in receiver.to("/ops")] == [
        f"{session}/{number}" for number in range(1, state.sent + 1)
    ]


@pytest.mark.slow
async def test_a_pause_at_the_cap_is_told_with_the_command_that_raises_it(
    theatre: Theatre, receiver: Receiver, tmp_path: Path
) -> None:
    world = World(planned({"id": "a"}), usd_per_call=Decimal(1))
    real_targets(world, receiver, tmp_path)
    caps = Caps(warn_usd=Decimal(0), stop_usd=Decimal("1.5"))
    async with theatre.session(world, budget=caps, notify=ALL) as playing:
        await arrives(receiver, 1)
        (pause,) = told(receiver)
        assert (pause[0], pause[2]) == ("paused", ["blueflame budget USD --session SESSION"])
        await playing.say("set_budget", {"usd": 50})
        assert (await playing.result()).outcome == "complete"
        await notifier_ends(theatre, playing)
    assert [kind for kind, _, _ in told(receiver)] == ["paused", "done"]


@pytest.mark.slow
async def test_a_pause_by_a_person_and_kinds_that_no_one_wants_are_not_told(
    theatre: Theatre, receiver: Receiver, tmp_path: Path
) -> None:
    world = World(planned({"id": "a"}))
    real_targets(world, receiver, tmp_path)
    wanted = (NotificationKind.PAUSED, NotificationKind.DONE)
    async with theatre.session(world, approvals=ASK, notify=wanted) as playing:
        await playing.until(lambda view: view.phase is SessionPhase.AWAITING_PLAN)
        await playing.say("pause")
        await playing.until(lambda view: view.phase is SessionPhase.PAUSED)
        await playing.say("stop")
        await playing.result()
        await notifier_ends(theatre, playing)
    assert [kind for kind, _, _ in told(receiver)] == ["done"]


@pytest.mark.slow
async def test_a_message_sent_again_after_a_lost_answer_has_the_same_id(
    theatre: Theatre, receiver: Receiver, tmp_path: Path
) -> None:
    world = World(planned({"id": "a"}))
    real_targets(world, receiver, tmp_path)
    send, dead = world.messages.on_message, set[str]()

    async def dies_once(request: SendNotification) -> NotificationSent:
        waits = send(request)
        assert waits is not None
        outcome = await waits
        if request.target == "ops" and not dead:
            dead.add(request.target)
            raise ApplicationError("the worker was killed after it sent")
        return outcome

    world.messages.on_message = dies_once
    async with theatre.session(world, notify=ALL) as playing:
        await playing.result()
        state = await notifier_ends(theatre, playing)
    first, second = receiver.to("/ops")
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    assert len(receiver.to("/phone")) == 1
    assert state.sent == 1


async def test_only_the_target_that_failed_is_tried_again(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    tries = world.messages.sent

    async def two(_: FindTargets) -> TargetsOutcome:
        return TargetsFound(targets=("phone", "ops"))

    async def answer(request: SendNotification) -> NotificationSent:
        is_first = [each.target for each in tries].count("ops") == 1
        return NotificationSent(fault="no answer" if request.target == "ops" and is_first else "")

    world.messages.targets, world.messages.on_message = two, answer
    need = Need(kind=NotificationKind.DONE, key="end", text="it ended", command="blueflame report")
    async with theatre.session(world, approvals=ASK) as playing:
        request = NotifierRequest(
            session=SessionId(session_of(playing)), goal="", retry_after=timedelta(milliseconds=50)
        )
        notifier = await theatre.client.start_workflow(
            "SessionNotifier",
            request,
            id=f"{playing.handle.id}/notifier",
            task_queue=queues.WORKFLOWS,
        )
        await notifier.signal("needs_changed", Needs(needs=(need,), is_last=True))
        await notifier_ends(theatre, playing)
    assert sorted(each.target for each in tries) == ["ops", "ops", "phone"]
    assert len({each.notification.id for each in tries}) == 1


async def test_a_notifier_that_cannot_send_delays_nothing_and_becomes_a_notice(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}))

    async def refuse(_: FindTargets) -> TargetsOutcome:
        raise ApplicationError("the file is wrong", type="SettingsInvalid", non_retryable=True)

    world.messages.targets = refuse
    async with theatre.session(world, approvals=ASK, notify=ALL) as playing:
        view = await playing.until(
            lambda view: NoticeKind.NOTIFICATION in {each.kind for each in view.notices}
        )
        (notice,) = [each for each in view.notices if each.kind is NoticeKind.NOTIFICATION]
        assert "approval needed" in notice.text
        assert notice.text.endswith("the file is wrong")
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"


@pytest.mark.slow
async def test_what_is_held_in_quiet_hours_is_told_after_them_even_if_the_session_has_ended(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}))
    looks: list[str] = []

    async def night(request: FindTargets) -> TargetsOutcome:
        looks.append(request.title)
        if len(looks) == 1:
            return NotificationHeld(until=datetime.now(UTC) + timedelta(seconds=1))
        return TargetsFound(targets=("phone",))

    world.messages.targets = night
    async with theatre.session(world, notify=ALL) as playing:
        assert (await playing.result()).outcome == "complete"
        state = await notifier_ends(theatre, playing)
    assert [each.notification.kind for each in world.messages.sent] == ["done"]
    assert (len(looks), state.sent) == (2, 1)


@pytest.mark.slow
async def test_a_session_without_notifications_starts_no_notifier(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    result = await played(theatre, world)
    assert result.outcome == "complete"
    assert world.messages.sent == []
