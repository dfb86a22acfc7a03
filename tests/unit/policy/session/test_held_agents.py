"""Agents that hold until a person acts: who still does, what goes on, and when nothing does."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tests.theatre import request
from tests.unit.policy.examples import a_record, a_task
from workflows.domain.budget import LedgerEvent, ProviderFault
from workflows.domain.ids import AgentId, TaskId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.notification import MessageLost
from workflows.domain.session.session_config import Concurrency, SessionConfig
from workflows.domain.session.session_modes import Pacing, SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState as Is
from workflows.policy.decision import decisions
from workflows.policy.session import phase_changes, reported_events
from workflows.policy.session.effects import EndHolds, Sent, TellWaves
from workflows.policy.session.readiness import held, is_at_work, standstill
from workflows.policy.session.scheduling import Running, StageStart, next_starts

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
LIMITS = Concurrency(develop=2, validation=1)


def config(pacing: Pacing = Pacing.WAVE, on_cap: str = "pause") -> SessionConfig:
    return request(pacing=pacing, on_cap=on_cap, concurrency=LIMITS).config


def fault(agent: str, *, holds: bool = True) -> ProviderFault:
    return ProviderFault(
        agent=AgentId(agent), kind="key", model="p/m", text="no key", at=NOON, holds=holds
    )


def session(*holding: str, phase: SessionPhase = SessionPhase.RUNNING, **tasks: Is) -> SessionState:
    """A session whose tasks, each at its first attempt, are in these states."""
    return SessionState(
        started_at=NOON,
        cap_usd=Decimal(1),
        phase=phase,
        records={TaskId(name): a_record(a_task(name), at, attempt=1) for name, at in tasks.items()},
        holds=tuple(fault(agent) for agent in holding),
    )


@pytest.mark.parametrize(
    ("agent", "state", "holds"),
    [
        ("dev.a.1", Is.DEVELOPING, True),
        ("dev.a.1", Is.DEVELOPED, False),
        ("dev.a.2", Is.DEVELOPING, False),
        ("dev.b.1", Is.DEVELOPING, False),
        ("review.a.1.3", Is.VALIDATING, True),
        ("review.a.1.3", Is.DEVELOPING, False),
        ("plan.1", Is.DEVELOPING, False),
    ],
)
def test_an_agent_holds_as_long_as_its_attempt_is_at_work(
    agent: str, state: Is, holds: bool
) -> None:
    assert held(session(agent, a=state)) == ((TaskId("a"),) if holds else ())


HELD = ("dev.a.1",)
BOTH = ("dev.a.1", "dev.b.1")


@pytest.mark.parametrize(
    ("state", "at_work", "reason"),
    [
        (session(*HELD, a=Is.DEVELOPING), False, "no key"),
        (session(*HELD, a=Is.DEVELOPING, b=Is.DEVELOPING), True, ""),
        (session(*HELD, a=Is.DEVELOPING, b=Is.VALIDATING), True, ""),
        (session(*HELD, a=Is.DEVELOPING, b=Is.MERGING), False, ""),
        (session(*HELD, a=Is.DEVELOPING, b=Is.READY), False, "no key"),
        (session(*BOTH, a=Is.DEVELOPING, b=Is.DEVELOPING, c=Is.DEVELOPING), False, "no key"),
        (session("review.a.1.1", a=Is.VALIDATING, b=Is.VALIDATING), False, "no key"),
        (session(a=Is.MERGED), False, ""),
    ],
)  # fmt: skip
def test_nothing_moves_once_all_slots_are_held(
    state: SessionState, at_work: bool, reason: str
) -> None:
    assert (is_at_work(state, config()), standstill(state, config())) == (at_work, reason)


def test_in_waves_finished_work_is_judged_beside_an_agent_that_holds() -> None:
    running = Running(develop=3)
    busy = session(a=Is.DEVELOPING, b=Is.DEVELOPED)
    assert next_starts(busy, config(), running) == ()
    holding = session(*HELD, a=Is.DEVELOPING, b=Is.DEVELOPED)
    (start,) = next_starts(holding, config(), running)
    assert start == StageStart(stage="validate", tasks=(TaskId("b"),))


def told(state: SessionState, event: ProviderFault, on_cap: str = "pause"):
    reported = LedgerEvent(
        kind="provider_fault",
        settled_usd=Decimal(0),
        cap_usd=Decimal(1),
        text=event.text,
        fault=event,
    )
    return reported_events.take(state, config(on_cap=on_cap), reported, NOON)


def test_a_hold_pauses_nothing_at_once_and_waves_report_what_they_finish() -> None:
    applied = told(session(a=Is.DEVELOPING, b=Is.DEVELOPING), fault("dev.a.1"))
    assert applied.effects == (TellWaves(signal="report"),)
    assert applied.state.phase is SessionPhase.RUNNING
    assert held(applied.state) == (TaskId("a"),)
    again = told(applied.state, fault("dev.a.1"))
    assert len(again.state.holds) == 1
    (notice,) = again.state.notices
    assert (notice.kind, notice.subject, notice.count) == (NoticeKind.PROVIDER, "p/m", 2)


def test_a_fault_for_which_there_is_another_model_is_only_told() -> None:
    applied = told(session(a=Is.DEVELOPING), fault("dev.a.1", holds=False))
    assert (applied.effects, applied.state.holds) == ((), ())
    assert len(applied.state.notices) == 1


@pytest.mark.parametrize(
    ("on_cap", "phase"), [("pause", SessionPhase.PAUSED), ("stop", SessionPhase.STOPPING)]
)
def test_a_planner_that_holds_halts_the_session(on_cap: str, phase: SessionPhase) -> None:
    applied = told(session(phase=SessionPhase.PLANNING), fault("plan.1"), on_cap)
    assert (applied.state.phase, applied.state.reason) == (phase, "no key")


@pytest.mark.parametrize("is_paused", [False, True])
def test_resume_lets_agents_that_hold_ask_again(is_paused: bool) -> None:
    state = session(*HELD, a=Is.DEVELOPING)
    if is_paused:
        state = phase_changes.pause(state, "no key").state
    applied = decisions.apply(state, config(), Sent("resume"), NOON)
    assert applied.refused == ""
    assert (applied.state.holds, applied.state.phase) == ((), SessionPhase.RUNNING)
    assert applied.effects == (TellWaves(signal="resume"),)


def test_resume_ends_holds_in_the_ledger_before_agents_go_on() -> None:
    state = session(a=Is.DEVELOPING).evolve(auto_paused_until=NOON + timedelta(minutes=1))
    applied = decisions.apply(state, config(), Sent("resume"), NOON)
    assert applied.effects == (EndHolds(), TellWaves(signal="resume"))
    assert applied.state.auto_paused_until is None


def test_the_last_figure_of_the_ledger_and_lost_messages_count_at_the_end() -> None:
    event = LedgerEvent(kind="closed", settled_usd=Decimal(3), cap_usd=Decimal(5), text="end")
    ended = reported_events.last_words(session(), [event, MessageLost(text="no host")], NOON)
    assert (ended.ledger_usd, [each.text for each in ended.notices]) == (Decimal(3), ["no host"])
    assert reported_events.last_words(session(), [], NOON) == session()
    assert reported_events.has_closed([event])
    assert not reported_events.has_closed([])
