"""Two families of claims, each with a variant that has the mechanism taken out and must fail.

**Linear history**: what an agent adds to its history with each turn does not grow with the turns.
**Caps**: agents that run at once never spend more than the session's cap.
"""

import asyncio
from decimal import Decimal

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.fakes.generous_ledger import GenerousLedger
from tests.fakes.world import World, planned, tool
from tests.theatre import Theatre, light_theatre, result_of
from workers import wiring
from workers.roles import Role as WorkerRole
from workflows.contracts.host_contracts import Observation, RunTools, ToolsOutcome
from workflows.contracts.model_contracts import CallModel, ModelOutcome, PrefixLost
from workflows.domain.agent.agent_values import AgentLimits
from workflows.domain.agent.model_values import Role
from workflows.domain.budget import Caps
from workflows.domain.ids import Tree
from workflows.domain.session.session_config import Concurrency
from workflows.ledger import SessionLedger

pytestmark = pytest.mark.asyncio(loop_scope="session")

# --- linear history -------------------------------------------------------------------------

TURNS = 40
OBSERVATION = "0123456789abcde\n" * 256


def bytes_of_turns(history: WorkflowHistory) -> list[int]:
    """Return the bytes that lie between one model call and the next, repeats of a call included."""
    sizes: list[int] = []
    for event in history.events:
        asked = event.activity_task_scheduled_event_attributes
        if asked.activity_type.name == "models.call" and b'"prefix":null' not in (
            asked.input.payloads[0].data
        ):
            sizes.append(0)
        if sizes:
            sizes[-1] += event.ByteSize()
    return sizes


class Wordy(World):
    """A world with long observations; without the store no call can extend a prefix."""

    def __init__(self, *, has_store: bool) -> None:
        super().__init__(planned({"id": "a"}))
        self.script = lambda call: [tool("bash", command=f"work {call.turn:03}")]
        self.on_tools = self.observe
        if not has_store:
            self.on_call = self.forget

    async def observe(self, asked: RunTools) -> ToolsOutcome:
        seen = Observation(call_id=asked.calls[0].id, name="bash", text=OBSERVATION)
        return ToolsOutcome(
            observations=(seen,), checkpoint=asked.checkpoint, tree=Tree(f"{asked.turn:040}")
        )

    async def _lost(self) -> ModelOutcome | None:
        return PrefixLost()

    def forget(self, call: CallModel):
        return self._lost() if call.prefix is not None else None


async def growth(world: World) -> float:
    """Return what turn 40 adds to the history over what turn 10 adds, where nothing compresses."""
    limits = AgentLimits.model_validate({"turns": TURNS, "wall": "PT1H", "usd": 3})
    async with light_theatre() as theatre, theatre.agent(world, limits=limits) as agent:
        assert (await result_of(agent)).turns == TURNS
        history = await agent.fetch_history()
    sizes = bytes_of_turns(history)  # from turn 2 on
    return sizes[38 - 1] / sizes[10 - 2]


@pytest.mark.slow
async def test_what_a_turn_adds_to_the_history_is_flat():
    assert 0.9 <= await growth(Wordy(has_store=True)) <= 1.1


@pytest.mark.slow
async def test_without_the_stored_chain_it_grows():
    assert await growth(Wordy(has_store=False)) > 1.1


# --- caps -----------------------------------------------------------------------------------

CAP = Decimal("0.13")
CALL = Decimal("0.01")


class Together(World):
    """Developers are answered for the first time once all have asked: none is stopped before."""

    def __init__(self, developers: int) -> None:
        plan = planned(*({"id": f"t{number}"} for number in range(developers)))
        super().__init__(plan, usd_per_call=CALL)
        self._developers = developers
        self._have_asked = asyncio.Event()
        self.on_call = lambda call: self._first() if self._is_first(call) else None

    def _is_first(self, call: CallModel) -> bool:
        return call.role is Role.DEVELOPER and call.turn == 1

    async def _first(self) -> None:
        if sum(map(self._is_first, self.calls)) == self._developers:
            self._have_asked.set()
        await self._have_asked.wait()


async def spend(theatre: Theatre, queue: str = "workflows") -> Decimal:
    """Let eight agents work at once with little money, and return what the calls cost."""
    world = Together(8)
    async with theatre.session(
        world,
        queue=queue,
        budget=Caps(warn_usd=Decimal(0), stop_usd=CAP),
        concurrency=Concurrency(develop=8),
        on_cap="stop",
    ) as session:
        await session.result()
    assert len([agent for agent in world.agents() if agent.startswith("dev")]) == 8
    return world.spent


@pytest.mark.slow
async def test_eight_agents_at_once_never_pass_the_cap(theatre: Theatre):
    """Field report R44."""
    assert CAP - 4 * CALL <= await spend(theatre) <= CAP


@pytest.mark.slow
async def test_a_ledger_that_ignores_what_it_granted_lets_them_pass_it(theatre: Theatre):
    honest = [each for each in wiring.workflows_for(WorkerRole.WORKFLOWS) if each != SessionLedger]
    async with Worker(
        theatre.client,
        task_queue="generous",
        workflows=[*honest, GenerousLedger],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        assert await spend(theatre, "generous") > CAP
