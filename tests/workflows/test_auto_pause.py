"""Too many errors of a provider: the agents that ask it wait, a person learns of it and resumes."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHandle

from tests.fakes.world import World, answered, model, planned, tool
from tests.theatre import Theatre, result_of, states, until_in_history
from tests.waiting import ends
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.budget import Ask, Caps
from workflows.domain.error_count import CallCount, Counted, Hold, HoldsEnded
from workflows.domain.ids import AgentId
from workflows.domain.session.notice import NoticeKind
from workflows.policy.agent.error_windows import WINDOW

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
"""Before any resume."""
pytestmark = pytest.mark.asyncio(loop_scope="session")


def is_hold(event: HistoryEvent) -> bool:
    said = event.workflow_execution_signaled_event_attributes
    return said.signal_name == "hold"


def is_grant(event: HistoryEvent) -> bool:
    said = event.workflow_execution_signaled_event_attributes
    return said.signal_name == "granted"


def counts(workflow: str, agent: str, errors: int, since: datetime | None = None) -> Counted:
    """Return an agent's report of 50 calls to a provider."""
    count = CallCount(subject="provider scripted", calls=50, errors=errors)
    return Counted(agent=AgentId(agent), workflow_id=workflow, counts=(count,), since=since)


def is_timer(event: HistoryEvent) -> bool:
    return event.event_type == EventType.EVENT_TYPE_TIMER_STARTED


class Failing(World):
    """The developer's first call fails 30 times, then succeeds; its second waits for the test."""

    def __init__(self) -> None:
        super().__init__(planned({"id": "a"}))
        self.has_begun = asyncio.Event()
        self.is_told = asyncio.Event()
        self.on_call = self._developer

    def _developer(self, call: CallModel) -> Any:
        return self._play(call) if call.agent.startswith("dev.") else None

    async def _play(self, call: CallModel) -> ModelOutcome | None:
        self.has_begun.set()
        command = tool("bash", command=f"echo {call.turn}")
        if call.turn == 1:
            return answered(call, command, failures=30)
        if call.turn == 2:
            await ends(self.is_told.wait(), "the hold")
            return answered(call, command)
        return None

    def turns(self) -> list[int]:
        return [call.turn for call in self.calls if call.agent.startswith("dev.")]


async def held(theatre: Theatre, agent: WorkflowHandle[Any, Any], world: Failing) -> None:
    """Let the agent go on once it has its hold, and wait until it waits."""
    await until_in_history(agent, is_hold)
    world.is_told.set()
    await until_in_history(agent, is_timer)
    assert world.turns() == [1, 2]


async def test_agents_wait_and_a_person_lets_them_go_on(theatre: Theatre) -> None:
    world = Failing()
    async with theatre.session(world) as session:
        await ends(world.has_begun.wait(), "the developer's first call")
        cycle = (await session.view()).cycle
        agent = theatre.client.get_workflow_handle(f"{session.handle.id}/{cycle}/develop/dev.a.1")
        await held(theatre, agent, world)
        view = await session.view()
        assert view.phase == "running"
        (told,) = [each for each in view.notices if each.kind is NoticeKind.AUTO_PAUSE]
        assert told.subject == "provider scripted"
        assert told.text.startswith("provider scripted: 30 errors in 31 calls in 5 minutes, so ")
        name = session.handle.id.partition("/")[2]
        assert told.text.endswith(f"; `blueflame resume {name}` lets them go on now")
        await session.say("resume")
        result = await session.result()
    assert states(result) == {"a": ("merged", 1)}
    assert result.outcome == "complete"


async def test_an_agent_asks_the_next_provider_of_its_route(theatre: Theatre) -> None:
    world = Failing()
    other = model("scripted/beta", provider="other")
    async with theatre.agent(
        world, route=(model("scripted/alpha"), other), auto_pause_percent=10
    ) as agent:
        await until_in_history(agent, is_hold)
        world.is_told.set()
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.SUBMITTED
    assert [call.model.provider for call in world.calls] == ["scripted", "scripted", "other"]


class Late(Failing):
    """Another developer's first call fails 30 times too, and is answered after the resume."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = planned({"id": "a"}, {"id": "b"})
        self.other_has_begun = asyncio.Event()
        self.is_resumed = asyncio.Event()

    async def _play(self, call: CallModel) -> ModelOutcome | None:
        if call.agent == "dev.a.1":
            return await super()._play(call)
        if call.turn != 1:
            return None
        self.other_has_begun.set()
        await ends(self.is_resumed.wait(), "the resume")
        return answered(call, tool("bash", command="echo 1"), failures=30)

    def turns(self) -> list[int]:
        return [call.turn for call in self.calls if call.agent == "dev.a.1"]


async def test_errors_from_before_a_resume_do_not_hold_agents_again(theatre: Theatre) -> None:
    world = Late()
    async with theatre.session(world) as session:
        await ends(world.has_begun.wait(), "the developer's first call")
        await ends(world.other_has_begun.wait(), "the other developer's first call")
        cycle = (await session.view()).cycle
        agent = theatre.client.get_workflow_handle(f"{session.handle.id}/{cycle}/develop/dev.a.1")
        await held(theatre, agent, world)
        await session.say("resume")
        world.is_resumed.set()
        result = await session.result()
        view = await session.view()
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 1)}
    assert [each.count for each in view.notices if each.kind is NoticeKind.AUTO_PAUSE] == [1]


async def test_a_hold_that_arrives_after_the_resume_is_over(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    has_begun, is_told = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        has_begun.set()
        await ends(is_told.wait(), "the hold")

    world.on_call = lambda call: wait() if call.turn == 1 else None
    async with theatre.agent(world, auto_pause_percent=10) as agent:
        await ends(has_begun.wait(), "the first call")
        hold = Hold(subject="provider scripted", until=datetime.now(UTC) + WINDOW)
        await agent.signal("hold", hold)
        await agent.signal("resume")
        await agent.signal("hold", hold)
        is_told.set()
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.SUBMITTED
    assert not [each async for each in agent.fetch_history_events() if is_timer(each)]


async def test_the_ledger_forgets_a_hold_that_a_person_ended(theatre: Theatre) -> None:
    async with theatre.ledger(Caps()) as (_, ledger, listener):
        await ledger.signal("counted", counts(listener.id, "dev.a.1", errors=40))
        await until_in_history(listener, is_hold)
        await ledger.signal("end_holds", HoldsEnded(at=datetime.now(UTC)))
        await ledger.signal("counted", counts(listener.id, "dev.b.1", errors=0))
        await ledger.signal("counted", counts(listener.id, "dev.a.1", errors=40, since=BEGAN))
        ask = Ask(
            agent=AgentId("dev.b.1"),
            workflow_id=listener.id,
            number=1,
            least_usd=Decimal(1),
            want_usd=Decimal(1),
            settled_usd=Decimal(0),
        )
        await ledger.signal("ask", ask)
        await until_in_history(listener, is_grant)
        holds = [each async for each in listener.fetch_history_events() if is_hold(each)]
        assert len(holds) == 1
        await ledger.signal(
            "counted", counts(listener.id, "dev.a.1", errors=40, since=datetime.now(UTC))
        )
        await until_in_history(
            listener, lambda event: is_hold(event) and event.event_id > holds[0].event_id
        )


@pytest.mark.slow
async def test_a_session_that_switched_it_off_counts_nothing(theatre: Theatre) -> None:
    world = Failing()
    world.is_told.set()
    async with theatre.session(world, auto_pause_percent=0) as session:
        result, view = await session.result(), await session.view()
    assert result.outcome == "complete"
    assert [each for each in view.notices if each.kind is NoticeKind.AUTO_PAUSE] == []
