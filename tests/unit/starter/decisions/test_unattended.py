"""`starter.decisions.unattended`: each question is decided once, as the file says."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from starter.decisions.decisions_file import Decisions
from starter.decisions.unattended import Unattended
from starter.sessions.shown_session import ShownSession
from starter.views import session_words
from tests.unit.starter.shown import changeset, sent_back, session, task
from workflows.domain.ids import SessionId
from workflows.domain.plan import Task
from workflows.domain.session.notice import Notice, NoticeKind
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskRecord, TaskState

APPROVE = {"decide": "approve"}
PLAN = session(phase=SessionPhase.AWAITING_PLAN, tasks=(task("a"),))
READY = session(
    tasks=(task("a", TaskState.VALIDATED),), changesets=(changeset("a", "awaiting_approval"),)
)
STUCK = session(
    reason="not done: a (failed), b (blocked); retry, skip or stop",
    tasks=(task("a", TaskState.FAILED), task("b", TaskState.BLOCKED)),
)
_AT = session().started_at
CAPPED = session(
    phase=SessionPhase.PAUSED,
    reason="the cap is reached",
    notices=(
        Notice(
            kind=NoticeKind.CAP_REACHED,
            subject="",
            text="the cap is reached",
            first_at=_AT,
            last_at=_AT,
        ),
    ),
)


class Heard:
    """A session that answers for its tasks and keeps what it is told."""

    def __init__(self, *, answers: bool = True) -> None:
        self.signals: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers

    async def task(self, session: SessionId, name: str) -> TaskRecord | None:
        if not self._answers:
            return None
        facts = {"title": name, "acceptance_criteria": ["c"], "claims": ["src"]}
        return TaskRecord(task=Task.model_validate({"id": name, **facts}))

    async def decide(
        self, session: SessionId, name: str, content: BaseModel | Mapping[str, Any]
    ) -> None:
        plain = content.model_dump() if isinstance(content, BaseModel) else dict(content)
        self.signals.append((name, plain))


async def told(
    file: dict[str, Any], *looks: ShownSession, heard: Heard | None = None
) -> list[tuple[str, dict[str, Any]]]:
    heard = heard or Heard()
    decisions = Decisions.model_validate({"version": 1, **file})
    unattended = Unattended(heard, looks[0].session, decisions, "night.yaml")  # pyright: ignore[reportArgumentType] (a stand-in)
    for look in looks:
        await unattended.act(look)
    return heard.signals


async def test_a_plan_and_a_changeset_are_approved_once_and_by_name() -> None:
    signals = await told({"plan": [APPROVE], "changesets": [APPROVE]}, PLAN, PLAN, READY, READY)
    assert [name for name, _ in signals] == ["approve_plan", "approve_changeset"]
    assert signals[0][1]["by"].startswith("night.yaml of ")
    assert signals[1][1]["digest"] == READY.changesets[0].digest


@pytest.mark.parametrize(
    ("unjudged", "decide", "sent"),
    [
        ("ask", "approve", []),
        ("ask", "reject", ["reject_changeset"]),
        ("allow", "approve", ["approve_changeset"]),
    ],
)
async def test_what_no_gate_judged_is_left_to_a_person(
    unjudged: str, decide: str, sent: list[str]
) -> None:
    facts = {"judged_by": (), "not_judged": "no gates"}
    line = READY.changesets[0].model_copy(update=facts)
    look = READY.model_copy(update={"changesets": (line,), "unjudged": unjudged})
    signals = await told({"changesets": [{"decide": decide}]}, look, look)
    assert [name for name, _ in signals] == sent
    assert all(content.get("by_rule", True) for _, content in signals)


@pytest.mark.parametrize(("decide", "sent"), [("approve", []), ("reject", ["reject_changeset"])])
async def test_what_no_reviewer_judged_is_left_to_a_person(decide: str, sent: list[str]) -> None:
    facts = {"judged_by": ("tests",), "not_reviewed": "a: m/x: silence"}
    line = READY.changesets[0].model_copy(update=facts)
    look = READY.model_copy(update={"changesets": (line,), "unjudged": "allow"})
    signals = await told({"changesets": [{"decide": decide}]}, look, look)
    assert [name for name, _ in signals] == sent


async def test_the_same_changeset_with_other_commits_is_decided_again() -> None:
    again = session(changesets=(changeset("a", "awaiting_approval", "f" * 64),))
    signals = await told({"changesets": [APPROVE]}, READY, again)
    assert [content["digest"] for _, content in signals] == [
        READY.changesets[0].digest,
        "f" * 64,
    ]


async def test_a_third_plan_is_not_sent_back() -> None:
    file = {"plan": [{"decide": "reject", "reason": "smaller"}]}
    looks = [
        session(phase=SessionPhase.AWAITING_PLAN, tasks=(task(name),)) for name in ("a", "b", "c")
    ]
    signals = await told(file, *looks)
    assert [(name, content["notes"]) for name, content in signals] == [
        ("reject_plan", "smaller"),
        ("reject_plan", "smaller"),
    ]


async def test_a_plan_that_was_sent_back_is_another_one_even_with_the_same_titles() -> None:
    file = {"plan": [{"decide": "reject", "reason": "smaller"}]}
    signals = await told(file, PLAN, PLAN, sent_back(PLAN), sent_back(PLAN))
    assert [name for name, _ in signals] == ["reject_plan", "reject_plan"]


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ("wait", []),
        ("retry", [("retry_task", "a")]),
        ("skip", [("skip_task", "a"), ("skip_task", "b")]),
        ("stop", [("stop", None)]),
    ],
)
async def test_failed_tasks(failed: str, expected: list[tuple[str, str | None]]) -> None:
    signals = await told({"failed": failed}, STUCK, STUCK)
    assert [(name, content.get("id")) for name, content in signals] == expected


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ({}, ["stop"]),
        ({"cap": "wait"}, []),
        ({"raise_cap_to_usd": 20}, ["set_budget", "stop"]),
        ({"raise_cap_to_usd": 20, "cap": "wait"}, ["set_budget"]),
        ({"raise_cap_to_usd": 5, "cap": "wait"}, []),
    ],
)
async def test_the_cap_is_raised_once_and_then_holds(
    file: dict[str, Any], expected: list[str]
) -> None:
    assert [name for name, _ in await told(file, CAPPED, CAPPED, CAPPED)] == expected


async def test_another_pause_is_not_the_caps() -> None:
    paused = CAPPED.model_copy(update={"reason": "paused by a person"})
    assert await told({"raise_cap_to_usd": 20}, paused) == []


@pytest.mark.parametrize("file", [{}, {"plan": [{"decide": "wait"}]}])
async def test_what_is_left_open_stays_open(file: dict[str, Any]) -> None:
    assert await told(file, PLAN, READY) == []


async def test_nothing_is_decided_by_a_part_of_the_plan() -> None:
    file = {"plan": [APPROVE], "changesets": [APPROVE]}
    assert await told(file, PLAN, READY, heard=Heard(answers=False)) == []


async def test_nothing_is_sent_to_what_has_ended_or_does_not_answer() -> None:
    ended = PLAN.model_copy(update={"outcome": "stopped"})
    silent = PLAN.model_copy(update={"live": False})
    assert await told({"plan": [APPROVE]}, ended, silent) == []


def test_a_session_that_is_stuck_names_the_ways_out() -> None:
    assert session_words.is_stuck(STUCK)
    assert session_words.asks(STUCK, "blueflame") == [
        f"  blueflame retry a --session {STUCK.session}",
        f"  blueflame skip a --session {STUCK.session}",
        f"  blueflame stop {STUCK.session}",
    ]
    assert not session_words.is_stuck(READY)
    assert not session_words.is_stuck(STUCK.model_copy(update={"reason": ""}))
