"""Too many errors of a provider: the agents that ask it wait, a person learns of it and resumes."""

import asyncio
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
from workflows.domain.session.notice import NoticeKind

pytestmark = pytest.mark.asyncio(loop_scope="session")


def is_hold(event: HistoryEvent) -> bool:
    said = event.workflow_execution_signaled_event_attributes
    return said.signal_name == "hold"


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


@pytest.mark.slow
async def test_a_session_that_switched_it_off_counts_nothing(theatre: Theatre) -> None:
    world = Failing()
    world.is_told.set()
    async with theatre.session(world, auto_pause_percent=0) as session:
        result, view = await session.result(), await session.view()
    assert result.outcome == "complete"
    assert [each for each in view.notices if each.kind is NoticeKind.AUTO_PAUSE] == []
