"""The agent's workflow and the ledger with real calls over the wire: money, waits and keys."""

from decimal import Decimal

import pytest
from temporalio.client import WorkflowHandle
from temporalio.testing import ActivityEnvironment

from tests.fakes.world import World, planned
from tests.theatre import Theatre
from tests.unit.activities.adapters.models.wire import PROVIDERS, facts, play
from tests.waiting import until
from tests.wire.stage import Stage
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.agent_values import AgentEnd, AgentOutcome, AgentState
from workflows.domain.agent.model_values import Provider
from workflows.domain.budget import Caps

pytestmark = pytest.mark.asyncio(loop_scope="session")

USAGE = "{input_tokens: 1000, output_tokens: 2000}"
COST = Decimal("0.044")
"""1,000 tokens at $4 and 2,000 at $20 a million; the same at every provider."""


class Wired(World):
    """A world whose models are real calls to the simulator."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(planned({"id": "a"}))
        self._stage = stage
        self.on_call = self._ask

    async def _ask(self, call: CallModel) -> ModelOutcome:
        return await ActivityEnvironment().run(self._stage.caller.activities().call, call)


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    name: Provider = request.param
    return name


@pytest.mark.sampled(2)
async def test_r44_cuts_are_charged_at_their_quote_and_the_cap_holds(
    stage: Stage, theatre: Theatre, provider: Provider
) -> None:
    spoilt = "{calls: [{bash: {command: x}}], error: {kind: cut, at: end, times: 1}}"
    stage.simulator.play(play(*[spoilt] * 20, usage=USAGE))
    caps = Caps(stop_usd=Decimal("0.50"))
    async with theatre.agent(Wired(stage), caps, route=(facts(provider),)) as agent:
        outcome = await agent.result()
    assert outcome.end is AgentEnd.CAP
    asked = stage.logged("outcome")
    answered, cut = asked.count("tool_calls"), asked.count("cut")
    assert answered >= 1
    assert cut >= 1
    # Every request that the provider may bill is in the sum, and the sum is within the cap.
    assert len(asked) * COST <= outcome.bill.usd <= Decimal("0.50")


@pytest.mark.sampled(2)
async def test_r44_what_is_not_billed_costs_nothing(
    stage: Stage, theatre: Theatre, provider: Provider
) -> None:
    refused = [
        f"{{{said}, error: {{kind: {kind}, times: 1}}}}"
        for kind, said in (
            ("rate_limited", "calls: [{bash: {command: x}}]"),
            ("unavailable", "calls: [{submit: {summary: done}}]"),
        )
    ]
    stage.simulator.play(play(*refused, usage=USAGE))
    async with theatre.agent(Wired(stage), route=(facts(provider),)) as agent:
        outcome = await agent.result()
    assert stage.logged("outcome") == ["rate_limited", "tool_calls", "unavailable", "tool_calls"]
    assert outcome.bill.usd == 2 * COST


@pytest.mark.sampled(2)
async def test_r13_a_wait_of_hours_is_durable_and_stop_ends_it(
    stage: Stage, theatre: Theatre, provider: Provider
) -> None:
    stage.simulator.play(play("{error: {kind: rate_limited, retry_after: 18000}}"))
    async with theatre.agent(Wired(stage), route=(facts(provider),)) as agent:
        await until_asked(stage, 1)
        await agent.signal("stop", "enough")
        outcome = await agent.result()
    assert outcome.end is AgentEnd.STOPPED
    assert stage.logged("outcome") == ["rate_limited"]


@pytest.mark.sampled(2)
async def test_r13_used_up_credit_holds_and_a_person_resumes(
    stage: Stage, theatre: Theatre, provider: Provider
) -> None:
    turn = "{calls: [{submit: {summary: done}}], error: {kind: credit, times: 1}}"
    stage.simulator.play(play(turn, usage=USAGE))
    async with theatre.agent(Wired(stage), route=(facts(provider),)) as agent:
        await until_held(agent)
        await agent.signal("resume")
        outcome = await agent.result()
    assert (outcome.end, outcome.bill.usd) == (AgentEnd.SUBMITTED, COST)
    assert stage.logged("outcome") == ["credit", "tool_calls"]


async def test_credit_that_is_used_up_falls_back_along_the_route(
    stage: Stage, theatre: Theatre
) -> None:
    """Field report R13."""
    turn = "{calls: [{submit: {summary: done}}], error: {kind: credit, times: 3}}"
    stage.simulator.play(play(turn, usage=USAGE))
    route = tuple(facts(name) for name in PROVIDERS)
    async with theatre.agent(Wired(stage), route=route) as agent:
        outcome = await agent.result()
    assert (outcome.end, outcome.family) == (AgentEnd.SUBMITTED, PROVIDERS[-1])
    assert stage.logged("dialect") == ["anthropic", "openai", "gemini", "chat"]


async def test_a_wait_of_hours_falls_back_along_the_route(stage: Stage, theatre: Theatre) -> None:
    """Field report R13."""
    error = "{kind: rate_limited, retry_after: 18000, times: 1}"
    turn = f"{{calls: [{{submit: {{summary: done}}}}], error: {error}}}"
    stage.simulator.play(play(turn, usage=USAGE))
    route = tuple(facts(name) for name in PROVIDERS[:2])
    async with theatre.agent(Wired(stage), route=route) as agent:
        outcome = await agent.result()
    assert (outcome.end, outcome.family) == (AgentEnd.SUBMITTED, PROVIDERS[1])
    assert outcome.bill.usd == COST
    assert stage.logged("dialect") == ["anthropic", "openai"]


async def test_after_a_hold_the_routes_first_model_is_asked(stage: Stage, theatre: Theatre) -> None:
    turn = "{calls: [{submit: {summary: done}}], error: {kind: credit, times: 2}}"
    stage.simulator.play(play(turn, usage=USAGE))
    route = tuple(facts(name) for name in PROVIDERS[:2])
    async with theatre.agent(Wired(stage), route=route) as agent:
        await until_held(agent)
        await agent.signal("resume")
        outcome = await agent.result()
    assert (outcome.end, outcome.family) == (AgentEnd.SUBMITTED, PROVIDERS[0])
    assert stage.logged("dialect") == ["anthropic", "openai", "anthropic"]
    assert outcome.bill.usd == COST


async def until_held(agent: WorkflowHandle[object, AgentOutcome]) -> None:
    async def is_held() -> bool:
        return (await agent.query("state", result_type=AgentState)).is_paused

    await until(is_held, "the agent holds")


async def until_asked(stage: Stage, times: int) -> None:
    await until(lambda: len(stage.simulator.log.entries) >= times, "the model is asked")
