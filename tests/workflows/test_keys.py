"""A key or its credit that is refused: every agent that needs it holds until a person resumes."""

import asyncio
from collections.abc import Callable
from decimal import Decimal

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ApplicationError

from tests.fakes.world import World, planned
from tests.theatre import Theatre, result_of, states, until_in_history
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.agent_values import AgentEnd, AgentState
from workflows.domain.agent.model_values import Role
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView
from workflows.errors import FailureType

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEY_KINDS = [FailureType.AUTHENTICATION_FAILED, FailureType.CREDIT_EXHAUSTED]


class Refusing(World):
    """A world in which the calls that `needs` names are refused until the key is fixed.

    The first are refused once there is one for each task: a refusal pauses the session, and who
    has not asked by then would hold for that.
    """

    def __init__(self, kind: str, needs: Callable[[CallModel], bool], *tasks: str) -> None:
        plan = planned(*[{"id": task} for task in tasks or ("a",)])
        super().__init__(plan, Decimal("0.01"))
        self.is_mended = False
        self._expected = len(tasks) or 1
        self._have_asked = asyncio.Event()
        self._kind = kind
        self._needs = needs
        self.on_call = lambda call: None if self.is_mended or not needs(call) else self._refuse()

    async def _refuse(self) -> ModelOutcome | None:
        if len(self.refused()) >= self._expected:
            self._have_asked.set()
        await self._have_asked.wait()
        raise ApplicationError(f"it said {self._kind}", type=self._kind)

    def refused(self) -> list[str]:
        return [str(call.agent) for call in self.calls if self._needs(call)]


def is_paused(view: SessionView) -> bool:
    return view.phase == "paused"


def _tells_of_the_key(event: HistoryEvent) -> bool:
    told = event.signal_external_workflow_execution_initiated_event_attributes
    return told.signal_name == "provider_fault"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KEY_KINDS)
async def test_an_agent_holds_with_its_conversation_and_goes_on_with_the_same_call(
    theatre: Theatre, kind: str
) -> None:
    world = Refusing(kind, lambda call: call.turn == 2)
    async with theatre.agent(world) as agent:
        await until_in_history(agent, _tells_of_the_key)
        state = await agent.query("state", result_type=AgentState)
        assert (state.is_paused, state.turn) == (True, 1)
        world.is_mended = True
        await agent.signal("resume")
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.SUBMITTED
    assert [call.turn for call in world.calls] == [1, 2, 2]
    assert world.calls[1] == world.calls[2]
    assert outcome.bill.usd == Decimal("0.02"), "what is refused is not billed"


async def test_a_held_agent_can_be_stopped(theatre: Theatre) -> None:
    world = Refusing(FailureType.AUTHENTICATION_FAILED, lambda _: True)
    async with theatre.agent(world) as agent:
        await until_in_history(agent, _tells_of_the_key)
        await agent.signal("stop", "enough")
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.STOPPED


@pytest.mark.slow
async def test_a_key_that_is_refused_again_holds_again(theatre: Theatre) -> None:
    world = Refusing(FailureType.AUTHENTICATION_FAILED, lambda call: call.role is Role.DEVELOPER)
    async with theatre.session(world) as session:
        await session.until(is_paused)
        await session.say("resume")
        await session.until(lambda view: is_paused(view) and times_told(view) == 2)
        world.is_mended = True
        await session.say("resume")
        result = await session.result()
    assert states(result) == {"a": ("merged", 1)}


def times_told(view: SessionView) -> int:
    return sum(each.count for each in view.notices if each.kind is NoticeKind.PROVIDER)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("role", list(Role))
async def test_the_session_pauses_and_a_person_resumes_it(theatre: Theatre, role: Role) -> None:
    """Field report R13."""
    world = Refusing(FailureType.AUTHENTICATION_FAILED, lambda call: call.role is role)
    async with theatre.session(world) as session:
        view = await session.until(is_paused)
        assert "no model can be asked: scripted: AuthenticationFailed" in view.reason
        assert NoticeKind.PROVIDER in {notice.kind for notice in view.notices}
        world.is_mended = True
        await session.say("resume")
        result = await session.result()
    assert result.outcome == "complete"
    assert states(result) == {"a": ("merged", 1)}, "no attempt is used up"


@pytest.mark.slow
async def test_all_agents_that_need_the_key_hold(theatre: Theatre) -> None:
    """Field report R13."""
    world = Refusing(
        FailureType.AUTHENTICATION_FAILED, lambda call: call.role is Role.DEVELOPER, "a", "b", "c"
    )
    async with theatre.session(world) as session:
        await session.until(lambda view: times_told(view) == 3)
        world.is_mended = True
        await session.say("resume")
        result = await session.result()
    assert result.outcome == "complete"
    assert states(result) == dict.fromkeys(("a", "b", "c"), ("merged", 1))
    assert sorted(world.refused()[:3]) == ["dev.a.1", "dev.b.1", "dev.c.1"]


@pytest.mark.slow
async def test_with_on_cap_stop_a_session_without_credit_stops(theatre: Theatre) -> None:
    world = Refusing(FailureType.CREDIT_EXHAUSTED, lambda call: call.role is Role.DEVELOPER)
    async with theatre.session(world, on_cap="stop") as session:
        result = await session.result()
    assert result.outcome == "stopped"
    assert "CreditExhausted" in result.reason
    assert world.refused() == ["dev.a.1"]
