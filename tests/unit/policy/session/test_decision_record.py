"""The record of decisions: who, what, when, what came of it; bounded, and judgements stay."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import JsonValue

from tests.unit.policy.examples import a_plan, a_task
from workflows.domain.gate import Judgement
from workflows.domain.ids import AgentId, Commit, SessionId, TaskId
from workflows.domain.pull_request import PullRequest, PullState, Remark
from workflows.domain.session.decision import UNNAMED, Decision
from workflows.domain.session.question import Question
from workflows.domain.session.session_config import Approvals, Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.decision import decisions
from workflows.policy.decision.plan_edits import plan_digest
from workflows.policy.session import (
    decision_record,
    phase_changes,
    scheduling,
    session_view,
    wave_outcomes,
)
from workflows.policy.session.effects import Applied, Sent

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
ASK = SessionConfig(routes=ROUTES)


def a_state(phase: SessionPhase = SessionPhase.AWAITING_PLAN) -> SessionState:
    empty = SessionState(started_at=NOON, cap_usd=Decimal(10), phase=phase)
    return scheduling.adopt(empty, a_plan(a_task("a"), a_task("b")), ASK)


def in_state(state: SessionState, task: str, where: TaskState) -> SessionState:
    record = next(each for name, each in state.records.items() if name == task)
    judged = Judgement(by=("tests",))
    facts = {"state": where, "commit": Commit("c" * 40), "judgement": judged}
    return wave_outcomes.put(state, record.model_copy(update=facts))


RUNNING = in_state(a_state(SessionPhase.RUNNING), "a", TaskState.DEVELOPING)
WAITING = scheduling.settle(
    in_state(a_state(SessionPhase.RUNNING), "a", TaskState.VALIDATED), ASK, NOON
)
DIGEST = str(next(each.digest for each in WAITING.changesets if each.id == "a"))
ASKED = RUNNING.evolve(
    questions=(Question(agent=AgentId("dev.a.0"), about="a", text="How?", asked_at=NOON),)
)
REVIEWED = in_state(RUNNING, "b", TaskState.MERGED).evolve(
    pulls=(
        PullRequest(
            key="session",
            branch="blueflame/s",
            target="main",
            number=1,
            url="https://hosting.example/1",
            state=PullState.OPEN,
            pushed=Commit("c"),
            remarks=(Remark(kind="check", id="lint@c", by="lint"),),
        ),
    )
)
PAUSED = phase_changes.pause(RUNNING, "paused").state


def worked_on(state: SessionState, task: str, where: TaskState) -> SessionState:
    """The session with a task that stands so after its first attempt."""
    state = in_state(state, task, where).evolve(head=Commit("e" * 40))
    record = state.records[TaskId(task)]
    return wave_outcomes.put(state, record.evolve(attempt=1, base=Commit("b" * 40)))


def say(state: SessionState, name: str, payload: JsonValue = None, at: datetime = NOON):
    return decisions.apply(state, ASK, decisions.Sent(name=name, payload=payload), at).state


@pytest.mark.parametrize(
    ("state", "name", "payload", "subject", "note"),
    [
        (a_state(), "approve_plan", {}, "", ""),
        (a_state(), "reject_plan", {"notes": "smaller"}, "", "smaller"),
        (
            a_state(),
            "replace_plan",
            {"plan": a_plan(a_task("z")).model_dump(mode="json")},
            "",
            "a plan of 1 task",
        ),
        (
            a_state().evolve(plan=a_plan(a_task("a"), a_task("b"))),
            "edit_plan",
            {
                "plan": a_plan(a_task("z")).model_dump(mode="json"),
                "digest": plan_digest(a_plan(a_task("a"), a_task("b"))),
            },
            "",
            "a plan of 1 task",
        ),
        (ASKED, "answer", {"id": "a", "text": "half up"}, "a", "half up"),
        (WAITING, "approve_changeset", {"id": "a", "digest": DIGEST}, "a", f"digest {DIGEST[:12]}"),
        (WAITING, "reject_changeset", {"id": "a", "reason": "ugly"}, "a", "ugly"),
        (RUNNING, "skip_task", {"id": "b"}, "b", ""),
        (
            RUNNING,
            "skip_task",
            {"id": "b", "satisfies": True},
            "b",
            "its dependants may start all the same",
        ),
        (
            in_state(RUNNING, "b", TaskState.FAILED),
            "retry_task",
            {"id": "b", "notes": "slowly"},
            "b",
            "slowly",
        ),
        (
            worked_on(RUNNING, "b", TaskState.FAILED),
            "rewind_task",
            {"id": "b", "turn": 3, "notes": "shorter"},
            "b",
            "turn 3 shorter",
        ),
        (
            worked_on(RUNNING, "b", TaskState.MERGED),
            "revert_task",
            {"id": "b", "reason": "not wanted"},
            "b",
            "not wanted",
        ),
        (RUNNING, "steer_task", {"id": "a", "text": "look there"}, "a", "look there"),
        (RUNNING, "set_priority", {"id": "a", "n": 5}, "a", "priority 5"),
        (RUNNING, "set_budget", {"usd": 12.5}, "", "$12.50"),
        (REVIEWED, "rework", {}, "session", ""),
        (RUNNING, "proceed", {}, "", ""),
        (RUNNING, "pause", {}, "", ""),
        (PAUSED, "resume", {}, "", ""),
        (RUNNING, "stop", {}, "", ""),
    ],
)
def test_each_signal_is_recorded_with_its_sender(
    state: SessionState, name: str, payload: dict[str, JsonValue], subject: str, note: str
) -> None:
    after = say(state, name, {**payload, "by": "ann@desk"}, LATER)
    assert after.decisions == (
        Decision(what=name, subject=subject, by="ann@desk", source="signal", at=LATER, note=note),
    )
    plain = say(state, name, payload, LATER)
    assert [each.by for each in plain.decisions] == [UNNAMED]


def test_each_signal_is_in_the_table_above() -> None:
    marks: Any = test_each_signal_is_recorded_with_its_sender
    rows = next(mark for mark in marks.pytestmark if mark.name == "parametrize").args[1]
    assert {row[1] for row in rows} == set(decisions.NAMES)


def test_two_rejections_of_a_plan_at_once_are_both_kept_with_their_notes() -> None:
    state = a_state()
    for who, notes in (("ann", "smaller"), ("bob", "other modules"), ("bob", "other modules")):
        state = say(state, "reject_plan", {"by": who, "notes": notes})
    first, second = state.decisions
    assert (first.by, first.note, first.refused, first.count) == ("ann", "smaller", "", 1)
    assert (second.by, second.note, second.count) == ("bob", "other modules", 2)
    assert "no plan waits" in second.refused
    assert state.plan_notes == ("smaller",)


@pytest.mark.parametrize(
    ("state", "name", "payload", "why"),
    [
        (RUNNING, "approve_plan", {}, "no plan waits for approval"),
        (RUNNING, "skip_task", {"id": "zz"}, "there is no task 'zz'"),
        (WAITING, "approve_changeset", {"id": "a", "digest": "0"}, "an approval names digest"),
        (RUNNING, "set_budget", {"usd": "much"}, "signal 'set_budget'"),
        (RUNNING, "resume", {}, "the session is not paused"),
    ],
)
def test_a_refused_decision_is_recorded_as_refused(
    state: SessionState, name: str, payload: dict[str, JsonValue], why: str
) -> None:
    (kept,) = say(state, name, {**payload, "by": "ann"}).decisions
    assert (kept.what, kept.by) == (name, "ann")
    assert kept.refused.startswith(why)


def test_approvals_by_a_rule_are_recorded_as_such() -> None:
    green = SessionConfig(routes=ROUTES, approvals=Approvals(changeset="auto_if_green"))
    state = decision_record.plan_by_rule(a_state(), NOON)
    state = in_state(state, "a", TaskState.VALIDATED)
    state = scheduling.settle(state, green, LATER)
    state = scheduling.settle(state, green, LATER)
    assert [(each.what, each.subject, each.by, each.source) for each in state.decisions] == [
        ("approve_plan", "", "rule auto", "rule"),
        ("approve_changeset", "a", "rule auto_if_green", "rule"),
    ]
    claimed = say(a_state(), "approve_plan", {"by": "rule auto"})
    assert claimed.decisions[0].source == "signal"


def test_the_view_names_who_approved_what() -> None:
    state = say(WAITING, "approve_changeset", {"id": "a", "digest": DIGEST, "by": "ann"})
    request = SessionRequest(session=SessionId("s"), goal="g", repository="/r", config=ASK)
    view = session_view.view(request, state.model_copy(update={"plan_approved_by": "bob"}))
    assert view.plan_approved_by == "bob"
    assert view.decisions == state.decisions
    assert {each.id: each.approved_by for each in view.changesets} == {"a": "ann", "b": ""}
    reopened = wave_outcomes.send_back(state, state.changesets[0].tasks[0], "")
    again = session_view.view(request, scheduling.settle(reopened, ASK, NOON))
    assert again.changesets[0].approved_by == ""
    assert "approve_changeset `a` by `ann`" in session_view.details(state)


def made(number: int, what: str, source: Any = "signal") -> Decision:
    return Decision(what=what, by=f"p{number}", source=source, at=NOON)


@pytest.mark.parametrize(
    ("kinds", "gone"),
    [
        ([("approve_plan", "signal"), ("steer_task", "signal"), ("approve_changeset", "rule")], 2),
        ([("approve_plan", "signal"), ("steer_task", "signal")], 1),
        ([("approve_plan", "signal"), ("reject_plan", "signal")], 0),
    ],
)
def test_beyond_the_limit_the_least_important_decision_is_dropped_first(
    kinds: list[tuple[str, str]], gone: int
) -> None:
    rest = range(len(kinds), decision_record.MOST)
    full = tuple(
        made(place, *kinds[place] if place < len(kinds) else ("approve_plan", "signal"))
        for place in (*range(len(kinds)), *rest)
    )
    kept, dropped = decision_record.add(full, made(1_000, "stop"))
    assert dropped == 1
    assert kept == (*full[:gone], *full[gone + 1 :], made(1_000, "stop"))


def test_a_storm_of_signals_stays_bounded_and_keeps_the_approval() -> None:
    state = say(a_state(), "approve_plan", {"by": "ann"})
    for number in range(300):
        state = say(state, "set_priority", {"id": "a", "n": number % 100, "by": "x" * 200})
    assert len(state.decisions) == decision_record.MOST
    assert state.decisions_dropped == 201
    assert state.decisions[0].what == "approve_plan"
    assert state.decisions[-1].note == "priority 99"


def test_a_storm_of_refused_approvals_keeps_the_one_that_was_taken_up() -> None:
    state = say(a_state(), "approve_plan", {"by": "ann"})
    for number in range(300):
        state = say(state, "approve_changeset", {"id": f"none-{number}", "digest": "0"})
    assert len(state.decisions) == decision_record.MOST
    assert (state.decisions[0].what, state.decisions[0].by) == ("approve_plan", "ann")


def test_an_amount_that_is_none_is_kept_as_it_was_said() -> None:
    (refused,) = say(RUNNING, "set_budget", {"usd": "lots"}, LATER).decisions
    assert (refused.note, "is text" in refused.refused) == ("lots", True)


def test_only_the_newest_answers_are_kept() -> None:
    state = SessionState(started_at=datetime(2026, 11, 28, tzinfo=UTC), cap_usd=Decimal(1))
    for number in range(decision_record.MOST + 5):
        applied = Applied(state=state, told="and more")
        applied, outcome = decision_record.remember(applied, f"u{number}", Sent("pause"))
        assert (outcome.decision, outcome.told) == ("pause", "and more")
        state = applied.state
    assert next(iter(state.answered)) == "u5"
    assert len(state.answered) == decision_record.MOST
