"""One agent alone, with the real ledger: every end, what it is told, and what a call may cost."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, CancelledError

from tests.fakes.world import Hold, World, answered, model, name_of, planned, tool
from tests.theatre import Theatre, light_theatre, result_of, scheduled, until_in_history
from tests.waiting import until
from workflows.contracts.host_contracts import RunTools, ToolsOutcome
from workflows.contracts.model_contracts import CallModel, ModelAnswered, ModelOutcome, PrefixLost
from workflows.domain.agent.agent_values import AgentEnd, AgentLimits, AgentOutcome
from workflows.domain.agent.messages import ToolCall, ToolMessage, UserMessage
from workflows.domain.agent.model_values import Usage
from workflows.domain.budget import Caps, LedgerView
from workflows.domain.ids import Tree
from workflows.errors import FailureType

pytestmark = pytest.mark.asyncio(loop_scope="session")

SUBMIT = tool("submit", summary="done")


def limits(turns: int = 20, wall: timedelta = timedelta(minutes=20), usd: Any = 3) -> AgentLimits:
    return AgentLimits(turns=turns, wall=wall, usd=Decimal(usd))


def stalling(stall: timedelta) -> AgentLimits:
    return AgentLimits(turns=4, wall=timedelta(minutes=20), stall=stall, usd=Decimal(3))


def failure(kind: str) -> ApplicationError:
    return ApplicationError(f"it said {kind}", type=kind)


async def fail(kind: str) -> ModelOutcome | None:
    raise failure(kind)


async def give(outcome: ModelOutcome) -> ModelOutcome:
    return outcome


class Scripted(World):
    """A world whose agent answers one list of calls a turn, and works for ever after the last."""

    def __init__(self, *turns: Sequence[ToolCall], usd_per_call: Decimal = Decimal(0)) -> None:
        super().__init__(planned({"id": "a"}), usd_per_call)
        self.turns = turns
        self.script = self.next

    def next(self, call: CallModel) -> Sequence[ToolCall]:
        if call.turn <= len(self.turns):
            return self.turns[call.turn - 1]
        return [tool("bash", command=f"work {call.turn}")]


async def ended(theatre: Theatre, world: World, **facts: Any) -> AgentOutcome:
    async with theatre.agent(world, **facts) as agent:
        return await result_of(agent)


def results(world: World, turn: int) -> list[tuple[str, str, bool]]:
    """Return what the calls of the turn before were answered: name, text, is it an error."""
    call = next(each for each in world.calls if each.turn == turn)
    message = next(each for each in call.messages if isinstance(each, ToolMessage))
    return [(each.name, each.text, each.is_error) for each in message.results]


# --- ends -----------------------------------------------------------------------------------


async def test_submitted_keeps_the_submission_and_the_last_checkpoint(theatre: Theatre):
    world = Scripted([tool("bash", command="x")], [SUBMIT], usd_per_call=Decimal("0.01"))
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED
    assert outcome.submission == {"summary": "done"}
    assert outcome.checkpoint == name_of("dev.a.1", 1)
    assert (outcome.turns, outcome.bill.usd) == (2, Decimal("0.02"))
    assert outcome.bill.scripted


async def test_turn_limit(theatre: Theatre):
    outcome = await ended(theatre, Scripted(), limits=limits(turns=3))
    assert (outcome.end, outcome.turns) == (AgentEnd.TURN_LIMIT, 3)
    assert outcome.checkpoint == name_of("dev.a.1", 3)


async def test_time_limit(theatre: Theatre):
    outcome = await ended(theatre, Scripted(), limits=limits(wall=timedelta(microseconds=1)))
    assert (outcome.end, outcome.turns) == (AgentEnd.TIME_LIMIT, 1)


async def _without_effect(asked: RunTools) -> ToolsOutcome:
    return ToolsOutcome(observations=(), checkpoint=asked.checkpoint, tree=Tree("t"))


async def test_silence_ends_it_although_it_calls_tools(theatre: Theatre):
    """The first tree is progress, for there was none before; the second turn leaves it as it is."""
    world = Scripted()
    world.on_tools = _without_effect
    outcome = await ended(theatre, world, limits=stalling(timedelta(microseconds=1)))
    assert (outcome.end, outcome.turns) == (AgentEnd.STUCK, 2)
    assert outcome.detail == "without progress, after 2 turns"


async def test_progress_extends_its_time(theatre: Theatre):
    outcome = await ended(theatre, Scripted(), limits=stalling(timedelta(microseconds=1)))
    assert (outcome.end, outcome.turns) == (AgentEnd.TURN_LIMIT, 4)


async def test_its_models_are_asked_with_its_effort_and_output_limit(theatre: Theatre):
    limited = AgentLimits(
        turns=2, wall=timedelta(minutes=20), usd=Decimal(3), output_tokens=500, effort="high"
    )
    world = Scripted([SUBMIT])
    await ended(theatre, world, limits=limited)
    assert [(each.effort, each.max_output_tokens) for each in world.calls] == [("high", 500)]


async def test_waiting_for_a_rate_limit_is_not_working_time():
    world = Scripted([SUBMIT])

    async def limited() -> None:
        if len(world.calls) == 1:
            raise ApplicationError(
                "slow down", type=FailureType.RATE_LIMITED, next_retry_delay=timedelta(hours=5)
            )

    world.on_call = lambda _: limited()
    async with light_theatre() as theatre:
        outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED
    assert len(world.calls) == 2


async def test_the_agents_own_limit_of_money(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.10"))
    outcome = await ended(theatre, world, limits=limits(usd="0.35"))
    assert outcome.end is AgentEnd.BUDGET
    assert "limit of $0.35" in outcome.detail
    assert outcome.bill.usd == Decimal("0.30") == world.spent


async def test_the_sessions_cap(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.10"))
    outcome = await ended(theatre, world, caps=Caps(stop_usd=Decimal("0.25")))
    assert outcome.end is AgentEnd.CAP
    assert "cap" in outcome.detail
    assert outcome.bill.usd == Decimal("0.20") == world.spent


async def test_a_model_without_prices_is_never_called(theatre: Theatre):
    world = Scripted()
    outcome = await ended(theatre, world, route=(model("scripted/alpha", prices=None),))
    assert outcome.end is AgentEnd.BUDGET
    assert "price of 'scripted/alpha' is unknown" in outcome.detail
    assert world.calls == []


async def test_stuck_after_the_same_call_with_the_same_effect_three_times(theatre: Theatre):
    """Field report R42."""
    same = [tool("bash", command="same")]
    world = Scripted(*[same] * 9)

    async def no_effect(asked: RunTools) -> ToolsOutcome:
        return ToolsOutcome(observations=(), checkpoint=asked.checkpoint, tree=Tree("t"))

    world.on_tools = no_effect
    outcome = await ended(theatre, world)
    assert (outcome.end, outcome.turns) == (AgentEnd.STUCK, 3)
    assert "bash" in outcome.detail
    assert "A third one ends your work" in world.heard("dev.a.1", 3)
    assert "A third one" not in world.heard("dev.a.1", 2)


async def test_the_same_call_with_a_new_effect_is_progress(theatre: Theatre):
    same = [tool("bash", command="same")]
    outcome = await ended(theatre, Scripted(same, same, same, same, [SUBMIT]))
    assert outcome.end is AgentEnd.SUBMITTED


async def test_refusal(theatre: Theatre):
    world = Scripted()
    world.on_call = lambda call: give(answered(call, stop="refusal", text="I will not."))
    outcome = await ended(theatre, world)
    assert (outcome.end, outcome.detail) == (AgentEnd.REFUSAL, "I will not.")


async def test_silence_after_two_reminders(theatre: Theatre):
    world = Scripted([], [], [])
    outcome = await ended(theatre, world)
    assert (outcome.end, outcome.turns) == (AgentEnd.SILENCE, 3)
    assert "You called no tool" in world.heard("dev.a.1", 3)


async def test_a_tool_call_resets_the_reminders(theatre: Theatre):
    work = [tool("bash", command="x")]
    outcome = await ended(theatre, Scripted([], [], work, [], [], [SUBMIT]))
    assert outcome.end is AgentEnd.SUBMITTED


@pytest.mark.parametrize("during", ["a call", "a command"])
async def test_stop_ends_it_at_once_and_keeps_the_work(theatre: Theatre, during: str):
    """Field report R54."""
    world = Scripted()
    hold = Hold(lambda call: call.turn == 2)
    if during == "a call":
        world.on_call = hold
    else:
        world.on_tools = lambda asked: hold.wait() if asked.turn == 2 else None
    async with theatre.agent(world) as agent:
        await hold.arrived()
        await agent.signal("stop", "skipped by a person")
        outcome = await result_of(agent)
    assert (outcome.end, outcome.detail) == (AgentEnd.STOPPED, "skipped by a person")
    assert outcome.checkpoint == name_of("dev.a.1", 1)


@pytest.mark.parametrize(("fails", "spent"), [(True, 0), (False, Decimal("0.10"))])
async def test_a_call_that_is_stopped_counts_where_it_was_sent(
    theatre: Theatre, *, fails: bool, spent: Decimal
):
    world = Scripted([SUBMIT], usd_per_call=Decimal("0.10"))
    world.on_call = hold = Hold()
    if fails:
        world.on_call = lambda _: limited()

    async def limited() -> None:
        raise ApplicationError(
            "slow down", type=FailureType.RATE_LIMITED, next_retry_delay=timedelta(hours=5)
        )

    async with theatre.agent(world) as agent:

        async def is_waiting() -> bool:
            pending = (await agent.describe()).raw_description.pending_activities
            return any(each.attempt > 1 for each in pending)

        await (until(is_waiting, "the call waits") if fails else hold.arrived())
        await agent.signal("stop", "enough")
        outcome = await result_of(agent)
    assert (outcome.end, outcome.bill.usd) == (AgentEnd.STOPPED, spent)


@pytest.mark.parametrize(
    ("kind", "spent"),
    [(FailureType.RATE_LIMITED, 0), (FailureType.OUTCOME_UNKNOWN, Decimal("0.10"))],
)
async def test_a_call_that_fails_while_it_is_stopped_is_stopped(
    theatre: Theatre, kind: str, spent: Decimal
):
    world = Scripted([SUBMIT], usd_per_call=Decimal("0.10"))
    hold = Hold()

    async def refused() -> None:
        await hold.outlast()
        raise ApplicationError("no", type=kind)

    world.on_call = lambda _: refused()
    async with theatre.agent(world) as agent:
        await hold.arrived()
        await agent.signal("stop", "enough")
        await until_in_history(agent, is_activity_to_be_cancelled)
        hold.release()
        outcome = await result_of(agent)
    assert (outcome.end, outcome.detail) == (AgentEnd.STOPPED, "enough")
    assert outcome.bill.usd == spent


def is_activity_to_be_cancelled(event: HistoryEvent) -> bool:
    return event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED


async def answers() -> None:
    """The call is answered."""


@pytest.mark.parametrize(
    "ends",
    [
        answers,
        lambda: fail(FailureType.OUTCOME_UNKNOWN),
        pytest.param(lambda: fail(FailureType.RATE_LIMITED), marks=pytest.mark.slow),
        pytest.param(lambda: fail(FailureType.CREDIT_EXHAUSTED), marks=pytest.mark.slow),
    ],
    ids=["answered", "unknown", "rate-limited", "no-credit"],
)
async def test_a_cancellation_is_not_lost_on_a_call_that_is_just_ending(
    theatre: Theatre, ends: Callable[[], Awaitable[None]]
):
    world, hold = Scripted(), Hold()

    async def outlasting() -> None:
        await hold.outlast()
        await ends()

    world.on_call = lambda _: outlasting()
    async with theatre.agent(world) as agent:
        await hold.arrived()
        await agent.cancel()
        await until_in_history(agent, is_activity_to_be_cancelled)
        hold.release()
        with pytest.raises(WorkflowFailureError) as failed:
            await result_of(agent)
    assert isinstance(failed.value.cause, CancelledError)
    assert len(world.calls) == 1
    assert world.tools == []


@pytest.mark.parametrize(
    ("kind", "spent"),
    [(FailureType.RATE_LIMITED, 0), (FailureType.OUTCOME_UNKNOWN, Decimal("0.10"))],
)
async def test_a_call_that_fails_while_its_agent_is_cancelled_counts_where_it_may_be_billed(
    theatre: Theatre, kind: str, spent: Decimal
):
    world, hold = Scripted(usd_per_call=Decimal("0.10")), Hold()

    async def refused() -> None:
        await hold.outlast()
        raise ApplicationError("no", type=kind)

    world.on_call = lambda _: refused()
    async with theatre.ledger(Caps()) as (session, ledger, _):
        theatre.worlds[session] = world
        agent = await theatre.start_agent(session, ledger.id, world)
        await hold.arrived()
        await agent.cancel()
        await until_in_history(agent, is_activity_to_be_cancelled)
        hold.release()
        with pytest.raises(WorkflowFailureError):
            await result_of(agent)
        view = await ledger.query("state", result_type=LedgerView)
    assert view.settled_usd == spent


async def test_a_word_that_was_taken_up_and_never_answered_is_unheard(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.10"))
    caps = Caps(stop_usd=Decimal("0.05"))
    outcome = await ended(theatre, world, caps=caps, steers=("mind the tests",))
    assert (outcome.end, outcome.unheard) == (AgentEnd.CAP, ("mind the tests",))


async def test_a_call_that_was_stopped_in_flight_counts_at_its_quote(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.10"))
    hold = Hold()
    world.on_call = hold
    async with theatre.agent(world) as agent:
        await hold.arrived()
        await agent.signal("stop", "enough")
        outcome = await result_of(agent)
    assert outcome.bill.usd == Decimal("0.10")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [FailureType.INVALID_REQUEST, FailureType.CONTEXT_OVERFLOW])
async def test_provider_where_no_model_of_the_route_is_left(theatre: Theatre, kind: str):
    """Field report R44."""
    world = Scripted(usd_per_call=Decimal("0.10"))
    world.on_call = lambda _: fail(kind)
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.PROVIDER
    assert kind in outcome.detail
    assert outcome.bill.usd == 0
    assert len(world.calls) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [FailureType.FENCED, FailureType.SANDBOX_UNAVAILABLE])
async def test_host(theatre: Theatre, kind: str):
    world = Scripted()

    async def broken(asked: RunTools) -> None:
        raise failure(kind)

    world.on_tools = broken
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.HOST
    assert f"it said {kind}" in outcome.detail


# --- what it is told and what it calls ------------------------------------------------------


async def test_it_is_told_once_to_wrap_up(theatre: Theatre):
    world = Scripted()
    await ended(theatre, world, limits=limits(turns=10))
    told = [call.turn for call in world.calls if "80 %" in world.heard("dev.a.1", call.turn)]
    assert told == [9]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("own", "cap", "end"), [("0.35", "10", AgentEnd.BUDGET), ("3", "0.35", AgentEnd.CAP)]
)
async def test_it_is_told_to_wrap_up_before_the_last_call_that_is_paid(
    theatre: Theatre, own: str, cap: str, end: AgentEnd
):
    world = Scripted(usd_per_call=Decimal("0.10"))
    caps = Caps(stop_usd=Decimal(cap))
    outcome = await ended(theatre, world, limits=limits(usd=own), caps=caps)
    assert outcome.end is end
    told = [call.turn for call in world.calls if "consistent state" in _said(call)]
    assert len(told) == 1
    assert told[0] <= world.calls[-1].turn


def _said(call: CallModel) -> str:
    return " ".join(each.text for each in call.messages if isinstance(each, UserMessage))


async def test_parallel_calls_run_as_one_batch_and_are_answered_in_order(theatre: Theatre):
    calls = [tool("bash", command="1"), tool("read", path="2"), tool("bash", command="3")]
    world = Scripted(calls, [SUBMIT])
    await ended(theatre, world)
    assert [call.name for call in world.tools[0].calls] == ["bash", "read", "bash"]
    assert [name for name, _, _ in results(world, 2)] == ["bash", "read", "bash"]


async def test_calls_behind_a_submission_run_before_it_is_judged(theatre: Theatre):
    """Field reports R37 and G01."""
    before, after = tool("bash", command="before"), tool("bash", command="after")
    world = Scripted([before, tool("submit"), after], [SUBMIT])
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED
    ran = [call.arguments for batch in world.tools for call in batch.calls]
    assert ran == [before.arguments, after.arguments]
    (_, first, _), (_, fault, is_fault), (_, last, _) = results(world, 2)
    assert (first, last) == ("ran bash", "ran bash")
    assert "`summary` is missing" in fault
    assert is_fault


@pytest.mark.parametrize("name", ["edit", "bash"])
async def test_a_submission_beside_a_failed_call_is_decided_again(theatre: Theatre, name: str):
    """Field report G01."""
    world = Scripted([SUBMIT, tool(name, path="fails")], [SUBMIT])
    outcome = await ended(theatre, world)
    assert (outcome.end, outcome.turns) == (AgentEnd.SUBMITTED, 2)
    (_, not_counted, _), (_, failed, _) = results(world, 2)
    assert f"not counted: `{name}` failed" in not_counted
    assert failed == f"ran {name}"


async def test_a_submission_that_is_refused_twice_ends_it_as_stuck(theatre: Theatre):
    outcome = await ended(theatre, Scripted([tool("submit")], [tool("submit", text="?")]))
    assert (outcome.end, outcome.turns) == (AgentEnd.STUCK, 2)


async def test_a_malformed_submission_goes_to_the_host_which_says_what_is_wrong(theatre: Theatre):
    bad = ToolCall(id="1", name="submit", arguments={}, malformed="[")
    world = Scripted([bad], [SUBMIT])
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED
    assert world.tools[0].calls == (bad,)


async def test_the_output_limit_is_raised_once_after_an_answer_was_cut(theatre: Theatre):
    """Field report G05."""
    world = Scripted([], [], [tool("bash", command="x")], [SUBMIT])
    cut = {"stop": "truncated"}
    world.on_call = lambda call: give(answered(call, **cut)) if call.turn <= 2 else None
    await ended(theatre, world, route=(model("scripted/m", max_output_tokens=40_000),))
    assert [call.max_output_tokens for call in world.calls] == [16_000, 32_000, 32_000, 32_000]


@pytest.mark.parametrize(
    ("stop", "words"),
    [("truncated", "cut at the output limit"), ("malformed", "JSON object"), ("pause", "Go on.")],
)
async def test_an_answer_without_calls_is_answered_in_words_that_fit(
    theatre: Theatre, stop: str, words: str
):
    world = Scripted([], [SUBMIT])
    world.on_call = lambda call: give(answered(call, stop=stop)) if call.turn == 1 else None
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED
    assert words in world.heard("dev.a.1", 2)


# --- calls that fail ------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [FailureType.OUTCOME_UNKNOWN, FailureType.WORKER_LOST])
async def test_an_unknown_outcome_costs_its_quote_and_is_asked_again(theatre: Theatre, kind: str):
    world = Scripted([tool("bash", command="x")], [SUBMIT], usd_per_call=Decimal("0.10"))
    world.on_call = lambda _: fail(kind) if len(world.calls) in {1, 2, 4, 5} else None
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED
    assert [call.turn for call in world.calls] == [1, 1, 1, 2, 2, 2]
    assert outcome.bill.usd == Decimal("0.60")


async def test_three_unknown_outcomes_in_a_row_end_it_with_longer_waits_between(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.10"))
    world.on_call = lambda _: fail(FailureType.OUTCOME_UNKNOWN)
    async with theatre.agent(world, back_off=timedelta(milliseconds=10)) as agent:
        outcome = await result_of(agent)
        waits = [
            event.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta()
            async for event in agent.fetch_history_events()
            if event.event_type == EventType.EVENT_TYPE_TIMER_STARTED
        ]
    assert outcome.end is AgentEnd.PROVIDER
    assert outcome.bill.usd == Decimal("0.30")
    assert len(world.calls) == 3
    assert waits == [timedelta(milliseconds=10), timedelta(milliseconds=40)]


async def test_stop_ends_the_wait_after_an_unknown_outcome(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.10"))
    world.on_call = lambda _: fail(FailureType.OUTCOME_UNKNOWN)
    async with theatre.agent(world, back_off=timedelta(hours=5)) as agent:
        await until_in_history(
            agent, lambda event: event.event_type == EventType.EVENT_TYPE_TIMER_STARTED
        )
        await agent.signal("stop", "enough")
        outcome = await result_of(agent)
    assert (outcome.end, outcome.bill.usd) == (AgentEnd.STOPPED, Decimal("0.10"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [FailureType.AUTHENTICATION_FAILED, FailureType.CREDIT_EXHAUSTED])
async def test_the_routes_next_model_takes_over(theatre: Theatre, kind: str):
    world = Scripted([tool("bash", command="x")], [SUBMIT])
    world.on_call = lambda call: fail(kind) if call.model.family == "alpha" else None
    route = (model("scripted/alpha"), model("scripted/gamma"))
    outcome = await ended(theatre, world, route=route)
    assert (outcome.end, outcome.family) == (AgentEnd.SUBMITTED, "gamma")
    assert [call.model.family for call in world.calls] == ["alpha", "gamma", "gamma"]


# --- the conversation -----------------------------------------------------------------------


async def test_a_lost_prefix_makes_it_send_the_whole_conversation_once(theatre: Theatre):
    world = Scripted(*[[tool("bash", command=str(n))] for n in range(3)], [SUBMIT])
    world.on_call = lambda call: (
        give(PrefixLost()) if call.turn == 3 and call.prefix is not None else None
    )
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED
    assert [call.turn for call in world.calls] == [1, 2, 3, 3, 4]
    whole = world.calls[3]
    assert whole.prefix is None
    assert [message.role for message in whole.messages] == [
        "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert [len(call.messages) for call in (world.calls[1], world.calls[4])] == [1, 1]


async def test_near_the_window_it_sums_up_once_and_starts_over(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.01"))

    def script(call: CallModel) -> ModelAnswered:
        if "Compaction" in call.messages[-1].model_dump_json():
            return answered(call, text="half is done", cost_usd=Decimal("0.01"))
        is_late = "Turn: 2" in call.messages[0].model_dump_json()
        calls = [SUBMIT] if is_late else [tool("bash", command=str(call.turn))]
        size = 190_000 if call.turn == 2 else 100
        usage = Usage(input_tokens=size, output_tokens=1_000)
        return answered(call, *calls, usage=usage, cost_usd=Decimal("0.01"))

    world.on_call = lambda call: give(script(call))
    outcome = await ended(theatre, world, steers=("mind the tests",))
    assert (outcome.end, outcome.turns) == (AgentEnd.SUBMITTED, 3)
    asked, begun = world.calls[2:]
    assert asked.prefix is not None
    assert begun.prefix is None
    assert isinstance(begun.messages[0], UserMessage)
    assert begun.messages[0].text.startswith("Role: developer\nTask: a\nAttempt: 1\nTurn: 2\n\nDo")
    assert "half is done" in begun.messages[0].text
    assert "mind the tests" in begun.messages[0].text
    assert outcome.bill.usd == Decimal("0.04")


async def test_a_compaction_that_frees_too_little_ends_it_once_and_clearly(theatre: Theatre):
    """Field report G10: 60 summaries in 60 turns."""
    world = Scripted()

    def script(call: CallModel) -> ModelAnswered:
        usage = Usage(input_tokens=3_000 + 1_000 * call.turn, output_tokens=1_000)
        calls = [tool("bash", command=str(call.turn))]
        return answered(call, *calls, text="a summary", usage=usage)

    world.on_call = lambda call: give(script(call))
    outcome = await ended(theatre, world, route=(model("scripted/m", window_tokens=8_000),))
    assert outcome.end is AgentEnd.PROVIDER
    assert "(8000 tokens) is too small: a summary frees less than half of it" in outcome.detail
    assert len(world.calls) <= 3


async def test_a_window_too_small_for_a_conversation_is_refused_before_it_costs(theatre: Theatre):
    """Field report G10."""
    world = Scripted([SUBMIT])
    small = model("scripted/small", window_tokens=2_000)
    outcome = await ended(theatre, world, route=(small,))
    assert (outcome.end, world.calls) == (AgentEnd.PROVIDER, [])
    assert "'scripted/small' (2000 tokens) does not hold the prompt" in outcome.detail
    outcome = await ended(theatre, world, route=(small, model("scripted/large")))
    assert (outcome.end, outcome.model) == (AgentEnd.SUBMITTED, "scripted/large")


async def test_an_overflow_starts_over_once_and_a_second_one_ends_it(theatre: Theatre):
    world = Scripted()
    world.on_call = lambda call: fail(FailureType.CONTEXT_OVERFLOW) if call.turn == 3 else None
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.PROVIDER
    assert [call.prefix is None for call in world.calls] == [True, False, False, True]
    assert "Turn: 2" in world.heard("dev.a.1", 3) + world.calls[3].messages[0].model_dump_json()


async def test_after_an_overflow_the_conversation_goes_on(theatre: Theatre):
    world = Scripted()
    world.on_call = lambda _: (
        fail(FailureType.CONTEXT_OVERFLOW)
        if len(world.calls) == 3
        else give(answered(world.calls[-1], SUBMIT))
        if len(world.calls) > 4
        else None
    )
    outcome = await ended(theatre, world)
    assert outcome.end is AgentEnd.SUBMITTED


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.slow
async def test_steers_during_continuations_arrive_once_and_in_order(theatre: Theatre, count: int):
    """Field report R51."""
    world = Scripted()
    hold = Hold(lambda call: call.turn == 1)
    world.on_call = hold
    world.script = lambda call: (
        [SUBMIT]
        if any("the last." in each.model_dump_json() for each in world.calls)
        else [tool("bash", command=str(call.turn))]
    )
    said = [f"word-{number:03}." for number in range(count)]
    async with theatre.agent(world, turns_per_run=1, limits=limits(turns=1000)) as agent:
        await hold.arrived()
        hold.release()
        for word in (*said, "the last."):
            await agent.signal("steer", word)
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.SUBMITTED
    heard = "".join(world.heard("dev.a.1", call.turn) for call in world.calls)
    places = [heard.index(word) for word in said]
    assert places == sorted(places)
    assert [heard.count(word) for word in said] == [1] * len(said)
    assert [call.turn for call in world.calls] == list(range(1, len(world.calls) + 1))


async def test_a_continuation_keeps_money_checkpoint_and_what_it_was_told(theatre: Theatre):
    world = Scripted(usd_per_call=Decimal("0.01"))
    outcome = await ended(theatre, world, turns_per_run=1, limits=limits(turns=5))
    assert (outcome.end, outcome.turns) == (AgentEnd.TURN_LIMIT, 5)
    assert outcome.bill.usd == Decimal("0.05")
    assert [asked.checkpoint for asked in world.tools] == [
        name_of("base"), *(name_of("dev.a.1", turn) for turn in range(1, 5)),
    ]  # fmt: skip
    assert sum("80 %" in world.heard("dev.a.1", call.turn) for call in world.calls) == 1


async def test_a_pause_outlives_a_continuation(theatre: Theatre):
    world = Scripted()
    hold = Hold(lambda call: call.turn == 1)
    world.on_call = hold
    async with theatre.agent(world, turns_per_run=1) as agent:
        await hold.arrived()
        await agent.signal("pause")
        hold.release()
        await until_in_history(agent, has_continued)
        await until_in_history(agent, has_acted)
        assert await scheduled(agent) == []
        world.script = lambda _: [SUBMIT]
        await agent.signal("resume")
        assert (await result_of(agent)).end is AgentEnd.SUBMITTED


def has_continued(event: HistoryEvent) -> bool:
    started = event.workflow_execution_started_event_attributes
    return bool(started.continued_execution_run_id)


def has_acted(event: HistoryEvent) -> bool:
    return event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
