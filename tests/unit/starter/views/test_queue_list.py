"""`session_list`: what a queue works off, what waits and why, and what it has set aside."""

from datetime import UTC, datetime

from starter.views.session_list import failed, queues
from workflows.domain.ids import SessionId
from workflows.domain.session.queued_goal import QueuedGoal, QueueState, SetAside, ShownQueue
from workflows.domain.session.scheduled_goal import ScheduledGoal

AT = datetime(2026, 11, 30, 2, 5, tzinfo=UTC)


def entry(name: str, issue: str = "") -> QueuedGoal:
    goal = ScheduledGoal(name="queue", goal=f"do\n{name}", issue=issue, repository="/r")
    return QueuedGoal(id=f"{name:0>10}", key=name, goal=goal, added_at=AT)


def shown(**state: object) -> ShownQueue:
    return ShownQueue(repository="/r", state=QueueState.model_validate(state), since=AT)


def test_a_queue_shows_its_order_and_what_holds_it() -> None:
    found = shown(
        waiting=(entry("b", "https://x/issues/2"), entry("c")),
        current=entry("a"),
        session=SessionId("s1"),
        reason="session 'x' is open",
    )
    assert list(queues([found])) == [
        "/r",
        "  now   000000000a  do a",
        "        session s1",
        "  1     000000000b  do b  (https://x/issues/2)",
        "        waits: session 'x' is open",
        "  2     000000000c  do c",
    ]


def test_what_was_set_aside_has_its_reason_the_newest_first() -> None:
    older = SetAside(entry=entry("a"), session=SessionId("s1"), reason="its session ended", at=AT)
    newer = SetAside(entry=entry("b"), session=None, reason="no models", at=AT.replace(hour=3))
    found = shown(failed=(older, newer))
    assert list(queues([found]))[1:] == [
        "  nothing waits",
        "  2 set aside; `ls --failed` lists them",
    ]
    assert list(failed([found])) == [
        "000000000b  do b",
        "  2026-11-30 03:05 UTC, /r",
        "  no models",
        "000000000a  do a",
        "  2026-11-30 02:05 UTC, session s1, /r",
        "  its session ended",
        "`requeue ID` queues a goal again; `queue remove ID` forgets it",
    ]


def test_nothing_is_said_in_words_too() -> None:
    assert list(queues([])) == ["no queue yet; `run --queue GOAL` makes one"]
    assert list(failed([shown()])) == ["nothing was set aside"]
