"""The ledger alone, and what a session does upon its word: warn, pause, stop, go on."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from temporalio.client import WorkflowHandle

from tests.fakes.world import Hold, World, planned
from tests.theatre import Theatre, states
from tests.waiting import until
from workflows.contracts.host_contracts import RunTools
from workflows.domain.budget import (
    AccountClosed,
    Ask,
    CapChanged,
    Caps,
    Grant,
    LedgerEvent,
    LedgerView,
)
from workflows.domain.ids import AgentId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView

pytestmark = pytest.mark.asyncio(loop_scope="session")

_Heard = TypeVar("_Heard", Grant, LedgerEvent)

Handle = WorkflowHandle[Any, Any]


def ask(listener: Handle, number: int = 1, agent: str = "dev.a.1", **facts: Any) -> Ask:
    amounts = {"least_usd": 1, "want_usd": 1, "settled_usd": 0, **facts}
    return Ask.model_validate(
        {"agent": agent, "workflow_id": listener.id, "number": number, **amounts}
    )


async def grants(listener: Handle, least: int) -> list[Grant]:
    """Return what was granted, once so many grants have come."""
    return await heard(listener, "grants", Grant, least)


async def events(listener: Handle, least: int) -> list[LedgerEvent]:
    return await heard(listener, "events", LedgerEvent, least)


async def heard(listener: Handle, kind: str, of: type[_Heard], least: int) -> list[_Heard]:
    found: list[_Heard] = []

    async def are_enough() -> bool:
        found[:] = await listener.query(kind, result_type=list[of])
        return len(found) >= least

    await until(are_enough, f"{least} {kind} are heard", seen=lambda: found)
    return found


@pytest.mark.slow
async def test_a_steady_stream_is_served_once_and_in_order_across_continuations(theatre: Theatre):
    """Field report R51."""
    async with theatre.ledger(Caps(stop_usd=Decimal(30)), messages_per_run=3) as (
        _,
        ledger,
        listener,
    ):
        for number in range(1, 41):
            await ledger.signal("ask", ask(listener, number))
        heard = await grants(listener, 40)
        view = await ledger.query("state", result_type=LedgerView)
        first = await ledger.describe()
    assert [grant.number for grant in heard] == list(range(1, 41))
    assert [grant.usd for grant in heard] == [1] * 30 + [0] * 10
    assert (view.committed_usd, view.settled_usd) == (30, 0)
    assert first.raw_description.workflow_execution_info.first_run_id != first.run_id


@pytest.mark.slow
async def test_the_last_of_many_caps_counts_across_continuations(theatre: Theatre):
    """Field report R51."""
    async with theatre.ledger(Caps(), messages_per_run=5) as (_, ledger, listener):
        for usd in range(1, 51):
            await ledger.signal("set_cap", CapChanged(usd=Decimal(usd)))
        await ledger.signal("ask", ask(listener, want_usd=50))
        await grants(listener, 1)
        assert (await ledger.query("state", result_type=LedgerView)).cap_usd == 50


async def test_who_ended_without_a_report_has_spent_its_grant(theatre: Theatre):
    async with theatre.ledger(Caps()) as (_, ledger, listener):
        await ledger.signal("ask", ask(listener, want_usd=3))
        await ledger.signal("ask", ask(listener, agent="dev.b.1", want_usd=3))
        for agent, settled in (("dev.a.1", None), ("dev.b.1", Decimal("0.5"))):
            closed = AccountClosed(agent=AgentId(agent), settled_usd=settled)
            await ledger.signal("close_account", closed)
        await ledger.signal("ask", ask(listener, agent="dev.c.1"))
        granted = await grants(listener, 3)
        view = await ledger.query("state", result_type=LedgerView)
    lost = granted[0].usd
    assert view.settled_usd == lost + Decimal("0.5")
    assert view.committed_usd == view.settled_usd + granted[2].usd


async def test_the_warning_comes_once_also_after_a_continuation(theatre: Theatre):
    caps = Caps(warn_usd=Decimal(2), burn_usd_per_minute=Decimal(100))
    async with theatre.ledger(caps, messages_per_run=1) as (_, ledger, listener):
        for number in range(1, 6):
            await ledger.signal("ask", ask(listener, number, settled_usd=number))
        await grants(listener, 5)
        await ledger.signal("finish")
        heard = await events(listener, 2)
    assert [event.kind for event in heard] == ["warning", "closed"]
    assert "$2.00 is spent" in heard[0].text


# --- the session ----------------------------------------------------------------------------


def kinds(view: SessionView) -> list[str]:
    return [notice.kind for notice in view.notices]


def is_in(phase: str) -> Callable[[SessionView], bool]:
    return lambda view: view.phase == phase


@pytest.mark.slow
async def test_fast_spending_pauses_the_session_and_resume_goes_on(theatre: Theatre):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.30"))
    caps = Caps(burn_usd_per_minute=Decimal("0.01"), warn_usd=Decimal(5))
    async with theatre.session(world, budget=caps) as session:
        view = await session.until(is_in("paused"))
        assert "above the limit of $0.01" in view.reason
        assert NoticeKind.BURN_RATE in kinds(view)
        while view.phase != "ended":
            told = times_told(view)
            await session.say("resume")
            view = await session.until(
                lambda view, told=told: view.phase == "ended" or times_told(view) > told
            )
    assert states(await session.result()) == {"a": ("merged", 1)}


def times_told(view: SessionView) -> int:
    """Return how often the session was told of its burn rate; each time it is paused."""
    return sum(each.count for each in view.notices if each.kind is NoticeKind.BURN_RATE)


@pytest.mark.slow
async def test_the_warning_is_a_notice(theatre: Theatre):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.10"))
    async with theatre.session(world, budget=Caps(warn_usd=Decimal("0.05"))) as session:
        await session.result()
        assert kinds(await session.view()).count(NoticeKind.CAP_WARNING) == 1


CAP = Caps(stop_usd=Decimal("0.25"), warn_usd=Decimal(5))


@pytest.mark.parametrize("stop_usd", ["0.20", "0.25"])  # exactly at it, and near it
@pytest.mark.slow
async def test_r44_at_the_cap_an_unattended_session_stops_once(theatre: Theatre, stop_usd: str):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.10"))
    caps = CAP.model_copy(update={"stop_usd": Decimal(stop_usd)})
    async with theatre.session(world, budget=caps, on_cap="stop") as session:
        result = await session.result()
        told = [n.count for n in (await session.view()).notices if n.kind == NoticeKind.CAP_REACHED]
    assert result.outcome == "stopped"
    assert f"cap of ${stop_usd}" in result.reason
    assert result.spent_usd == world.spent == Decimal("0.20")
    assert told == [1]


async def test_at_the_cap_a_session_pauses_and_more_money_resumes_it(theatre: Theatre):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.10"))
    async with theatre.session(world, budget=CAP) as session:
        view = await session.until(is_in("paused"))
        assert NoticeKind.CAP_REACHED in kinds(view)
        assert world.spent == Decimal("0.20")
        await session.say("set_budget", {"usd": 5})
        result = await session.result()
    # The attempt that met the cap is not its fault: the work goes on from its checkpoint.
    assert states(result) == {"a": ("merged", 2)}


@pytest.mark.slow
async def test_an_agent_that_is_lost_costs_its_grant_and_is_tried_again(theatre: Theatre):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.10"))

    async def unreadable(asked: RunTools) -> Any:
        """Answer what fails the agent's workflow: no one reports what it spent."""
        return {"no": "outcome"} if asked.worktree.agent == "dev.a.1" else None

    world.on_tools = unreadable
    async with theatre.session(world) as session:
        result = await session.result()
    assert states(result) == {"a": ("merged", 2)}
    assert result.spent_usd == world.spent + Decimal("0.20")  # it was granted three calls


@pytest.mark.slow
async def test_a_denied_ask_ahead_is_not_reported(theatre: Theatre):
    async with theatre.ledger(Caps(stop_usd=Decimal(1))) as (_, ledger, listener):
        await ledger.signal("ask", ask(listener, least_usd=2, is_ahead=True))
        await ledger.signal("ask", ask(listener, 2, least_usd=2))
        assert [grant.usd for grant in await grants(listener, 2)] == [0, 0]
        assert [event.kind for event in await events(listener, 1)] == ["cap_reached"]


@pytest.mark.slow
async def test_a_report_of_a_cap_raised_since_pauses_nothing(theatre: Theatre):
    world = World(planned({"id": "a"}))
    hold = Hold()
    world.on_call = hold
    async with theatre.session(world) as session:
        await hold.arrived()
        old = LedgerEvent(kind="cap_reached", settled_usd=Decimal(1), cap_usd=Decimal(9), text="!")
        await session.handle.signal("ledger_event", old)
        view = await session.until(lambda view: view.spent_usd == 1)
        assert view.phase == "planning"
        assert NoticeKind.CAP_REACHED not in kinds(view)
        hold.release()
        assert (await session.result()).outcome == "complete"
