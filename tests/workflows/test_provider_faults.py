"""What a provider does to one agent: the others go on, and finished work is judged and merged."""

from datetime import timedelta
from decimal import Decimal
from itertools import product

import pytest
from temporalio.exceptions import ApplicationError

from tests.fakes.world import World, answered, model, planned
from tests.theatre import ROUTES, Theatre, result_of, states
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.agent.model_values import Role, Usage
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import Routes
from workflows.domain.session.session_modes import Pacing
from workflows.errors import FailureType

pytestmark = pytest.mark.asyncio(loop_scope="session")

FAULTS = (
    FailureType.OUTPUT_TOO_LONG,
    FailureType.CONTEXT_OVERFLOW,
    FailureType.INVALID_REQUEST,
    FailureType.PROMPT_BLOCKED,
    FailureType.OUTCOME_UNKNOWN,
    FailureType.RATE_LIMITED,
    FailureType.PROVIDER_UNAVAILABLE,
    FailureType.MODEL_UNUSABLE,
    FailureType.AUTHENTICATION_FAILED,
    FailureType.CREDIT_EXHAUSTED,
)
"""All that a provider can answer, in turn; the last three hold an agent whose route has no other
model."""
HOLDING = 3
TASKS = [f"t{number}" for number in range(12)]


async def refuse(kind: FailureType) -> ModelOutcome | None:
    raise ApplicationError(
        f"it said {kind}", type=kind, next_retry_delay=timedelta(milliseconds=10)
    )


class Faulty(World):
    """A world in which the developer of one task meets every fault in turn."""

    def __init__(self, task: str, *others: str) -> None:
        super().__init__(planned(*[{"id": each} for each in (task, *others)]), Decimal("0.01"))
        self.left = list(FAULTS)
        self.on_call = lambda call: (
            refuse(self.left.pop(0)) if self._meets(call, f"dev.{task}.") else None
        )

    def _meets(self, call: CallModel, agent: str) -> bool:
        return call.agent.startswith(agent) and call.turn == 2 and bool(self.left)


def is_paused(view: SessionView) -> bool:
    return view.phase == "paused"


def merged(view: SessionView) -> set[str]:
    return {each.id for each in view.tasks if each.state == "merged"}


@pytest.mark.parametrize("course", [*product(Pacing, ("stop", "pause"))], ids=str)
@pytest.mark.slow
async def test_one_agent_meets_every_fault_and_the_other_eleven_merge(
    theatre: Theatre, course: tuple[Pacing, str]
) -> None:
    """`on_cap: stop` is what sessions without a person have."""
    pacing, on_cap = course
    world = Faulty(*TASKS)
    async with theatre.session(world, pacing=pacing, on_cap=on_cap, attempts=9) as session:
        if on_cap == "pause":
            for left in range(HOLDING - 1, -1, -1):
                view = await session.until(is_paused)
                assert merged(view) == set(TASKS[1:])
                assert len(world.left) == left
                await session.say("resume")
        result = await session.result()
    assert {task for task, (state, _) in states(result).items() if state == "merged"} >= set(
        TASKS[1:]
    )
    if on_cap == "pause":
        assert result.outcome == "complete"
    else:
        assert result.outcome == "stopped"
        assert "it said ModelUnusable" in result.reason


@pytest.mark.slow
async def test_a_refused_request_ends_only_its_agent_and_names_the_longest_part(
    theatre: Theatre,
) -> None:
    """Field report G16."""
    world = World(planned({"id": "a"}, {"id": "b"}))
    world.on_call = lambda call: (
        refuse(FailureType.INVALID_REQUEST) if call.agent.startswith("dev.a.") else None
    )
    async with theatre.session(world, attempts=1) as session:
        result, view = await session.result(), await session.view()
    assert states(result) == {"a": ("failed", 1), "b": ("merged", 1)}
    said = [each.text for each in view.notices if each.kind is NoticeKind.PROVIDER]
    assert "it said InvalidRequest" in said[0]
    assert "in turn 1, the longest part is the message to the agent, " in said[0]


async def test_too_much_output_is_halved_until_it_fits(theatre: Theatre) -> None:
    """Field report G11."""
    world = World(planned({"id": "a"}))
    big = model("scripted/alpha", max_output_tokens=16_000)
    world.on_call = lambda call: (
        refuse(FailureType.OUTPUT_TOO_LONG) if call.max_output_tokens > 4_000 else None
    )
    async with theatre.agent(world, route=(big,)) as agent:
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.SUBMITTED
    asked = [call.max_output_tokens for call in world.calls]
    assert asked == [16_000, 8_000, 4_000, 4_000]


@pytest.mark.slow
async def test_a_model_that_is_not_there_is_asked_once_in_a_session(theatre: Theatre) -> None:
    """Field report G13."""
    world = World(planned({"id": "a", "depends_on": []}, {"id": "b", "depends_on": ["a"]}))
    world.on_call = lambda call: (
        refuse(FailureType.MODEL_UNUSABLE) if call.model.model == "gone" else None
    )
    routes = Routes(
        planner=ROUTES.planner,
        developer=("scripted/gone", "scripted/alpha"),
        reviewer=ROUTES.reviewer,
    )
    async with theatre.session(world, routes=routes) as session:
        result, view = await session.result(), await session.view()
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 1)}
    assert [call.agent for call in world.calls if call.model.model == "gone"] == ["dev.a.1"]
    told = [each for each in view.notices if each.kind is NoticeKind.PROVIDER]
    assert [(each.subject, each.count) for each in told] == [("scripted/gone", 1)]
    assert "scripted/gone is skipped in this session: ModelUnusable" in told[0].text


@pytest.mark.slow
async def test_an_answer_without_usage_costs_its_quote_and_is_told_once(theatre: Theatre) -> None:
    """Field report G12."""
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.10"))

    async def uncounted(call: CallModel) -> ModelOutcome | None:
        usage = Usage(input_tokens=10, output_tokens=10, is_estimated=True)
        return answered(call, *world.script(call), usage=usage)

    world.on_call = lambda call: uncounted(call) if call.role is Role.DEVELOPER else None
    async with theatre.session(world) as session:
        result, view = await session.result(), await session.view()
    assert result.spent_usd == Decimal("0.40"), "a plan and a review, and two quotes"
    assert result.is_estimated
    told = [each for each in view.notices if each.kind is NoticeKind.PROVIDER]
    assert [(each.subject, each.count) for each in told] == [("scripted/alpha", 1)]


@pytest.mark.slow
async def test_a_reviewer_whose_prompt_is_blocked_is_not_asked_again(theatre: Theatre) -> None:
    """Field report G15."""
    world = World(planned({"id": "a"}))
    world.on_call = lambda call: (
        refuse(FailureType.PROMPT_BLOCKED) if call.role is Role.REVIEWER else None
    )
    async with theatre.session(world) as session:
        result = await session.result()
    assert result.outcome == "incomplete"
    assert "it said PromptBlocked" in result.reason
    assert [call.agent for call in world.calls if call.role is Role.REVIEWER] == ["review.a.1.1"]


@pytest.mark.slow
@pytest.mark.parametrize("pacing", list(Pacing))
async def test_a_reviewer_that_holds_keeps_no_other_work_from_the_merge(
    theatre: Theatre, pacing: Pacing
) -> None:
    world = World(planned({"id": "a"}, {"id": "b"}, {"id": "c"}))
    world.on_call = lambda call: (
        refuse(FailureType.AUTHENTICATION_FAILED) if call.agent.startswith("review.a.") else None
    )
    async with theatre.session(world, pacing=pacing) as session:
        view = await session.until(is_paused)
        assert merged(view) == {"b", "c"}
        world.on_call = lambda _: None
        await session.say("resume")
        result = await session.result()
    assert states(result) == dict.fromkeys(("a", "b", "c"), ("merged", 1))
