"""Every signal of a session, with the effect that a person sees, and with what goes wrong.

Fakes stand for everything outside of the workflows; `Hold` stops model calls at a chosen turn, so
that a signal arrives while something runs.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from tests.fakes.world import Hold, World, answered, name_of, planned
from tests.theatre import (
    ASK,
    Playing,
    Theatre,
    has_heard,
    scheduled,
    states,
    tools_are_done,
    until_in_history,
)
from tests.waiting import until
from workflows.contracts.host_contracts import (
    FinishTask,
    PrepareWorktree,
    TaskCommitted,
    WorkRefused,
    WorktreeReady,
)
from workflows.contracts.land_contracts import DeliverBranch, DeliveryOutcome
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.agent_values import AgentState
from workflows.domain.agent.model_values import Role
from workflows.domain.budget import Caps, LedgerView
from workflows.domain.ids import Commit, Tree
from workflows.domain.session.decision import UNNAMED
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import Approvals, Concurrency
from workflows.domain.session.session_modes import Pacing
from workflows.domain.violation import DiffRule, Violation
from workflows.policy.decision import decisions

pytestmark = pytest.mark.asyncio(loop_scope="session")

ATTENDED = Approvals(plan="auto", changeset="ask")
MERGED_AS_IT_IS = Approvals(plan="auto", changeset="auto_if_green")
ONE_SLOT = Concurrency(develop=1)


def notices(view: SessionView, kind: NoticeKind) -> dict[str, str]:
    return {notice.subject: notice.text for notice in view.notices if notice.kind is kind}


def digest_of(view: SessionView, changeset: str) -> str:
    return next(str(each.digest) for each in view.changesets if each.id == changeset)


def awaits(*changesets: str) -> Any:
    def holds(view: SessionView) -> bool:
        waiting = {each.id for each in view.changesets if each.state == "awaiting_approval"}
        return waiting.issuperset(changesets)

    return holds


def is_in(phase: str) -> Callable[[SessionView], bool]:
    return lambda view: view.phase == phase


def noticed(kind: NoticeKind) -> Callable[[SessionView], bool]:
    return lambda view: bool(notices(view, kind))


def held(*agents: str, turn: int = 1) -> Hold:
    return Hold(lambda call: call.agent in agents and call.turn == turn)


async def agent_of(theatre: Theatre, session: Playing, agent: str) -> WorkflowHandle[Any, Any]:
    """Return the handle of a running agent, whatever cycle it belongs to."""
    view = await session.view()
    cycles = range(1, view.cycle + 1)
    for cycle in cycles:
        handle = theatre.client.get_workflow_handle(
            f"session/{view.session}/{cycle}/develop/{agent}"
        )
        try:
            await handle.describe()
        except RPCError:
            continue
        return handle
    raise AssertionError(f"{agent} never ran")


@asynccontextmanager
async def holding(
    theatre: Theatre, world: World, hold: Hold, **config: Any
) -> AsyncGenerator[Playing]:
    """Play a session up to the point where the hold is reached."""
    world.on_call = hold
    async with theatre.session(world, **config) as session:
        await hold.arrived()
        yield session


# --- the plan -------------------------------------------------------------------------------


@pytest.mark.slow
async def test_approve_plan_starts_the_work_and_a_second_one_becomes_a_notice(theatre: Theatre):
    """Field report R19."""
    world = World(planned({"id": "a"}))
    hold = held("dev.a.1")
    world.on_call = hold
    async with theatre.session(world, approvals=Approvals(changeset="auto_if_green")) as session:
        view = await session.until(is_in("awaiting_plan"))
        assert view.reason == "waits for approval of the plan"
        await session.say("approve_plan", {"by": "ann"})
        await session.say("approve_plan", {"by": "bob"})
        view = await session.until(noticed(NoticeKind.NOT_POSSIBLE))
        assert notices(view, NoticeKind.NOT_POSSIBLE) == {"": "the plan is approved already"}
        hold.release()
        assert (await session.result()).outcome == "complete"


@pytest.mark.slow
async def test_a_rejected_plan_is_made_again_and_the_result_says_who_decided_what(theatre: Theatre):
    world = World(planned({"id": "a"}))
    world.on_call = hold = held("plan.2")
    async with theatre.session(world, approvals=ASK) as session:
        await session.until(is_in("awaiting_plan"))
        for who in ("ann", "bob"):
            await session.say("reject_plan", {"notes": f"{who} minds", "by": who})
        await session.until(noticed(NoticeKind.NOT_POSSIBLE))
        hold.release()
        await session.until(is_in("awaiting_plan"))
        assert "ann minds" in world.heard("plan.2", 1)
        assert "Attempt: 2" in world.heard("plan.2", 1)
        await session.say("approve_plan", {"by": "ann"})
        digest = digest_of(view := await session.until(awaits("a")), "a")
        assert view.plan_approved_by == "ann"
        await session.say("approve_changeset", {"id": "a", "digest": digest})
        result = await session.result()
        view = await session.view()
    said = [(each.what, each.by, each.note, bool(each.refused)) for each in result.decisions]
    assert said == [
        ("reject_plan", "ann", "ann minds", False),
        ("reject_plan", "bob", "bob minds", True),
        ("approve_plan", "ann", "", False),
        ("approve_changeset", UNNAMED, f"digest {digest[:12]}", False),
    ]
    assert view.decisions == result.decisions
    assert [each.approved_by for each in view.changesets] == [UNNAMED]
    memo = await (await session.handle.describe()).memo_value("view", type_hint=SessionView)
    assert memo.decisions == result.decisions


@pytest.mark.slow
async def test_replace_plan_takes_the_persons_plan_and_only_while_one_waits(theatre: Theatre):
    """Field reports R19 and R56."""
    world = World(planned({"id": "a"}))
    mine = planned({"id": "mine"}, {"id": "other", "depends_on": ["mine"]})
    async with theatre.session(world, approvals=ASK) as session:
        await session.until(is_in("awaiting_plan"))
        await session.say("replace_plan", {"plan": planned({"id": "x", "depends_on": ["x"]})})
        view = await session.until(noticed(NoticeKind.NOT_POSSIBLE))
        assert "x→x" in notices(view, NoticeKind.NOT_POSSIBLE)[""]
        await session.say("replace_plan", {"plan": mine})
        view = await session.until(awaits("mine"))
        assert [task.id for task in view.tasks] == ["mine", "other"]
        await session.say("replace_plan", {"plan": planned({"id": "late"})})
        await session.until(
            lambda view: "not when running" in notices(view, NoticeKind.NOT_POSSIBLE)[""]
        )
        assert "dev.a.1" not in world.agents()


async def test_signals_before_the_plan_exists_are_named_not_lost(theatre: Theatre):
    """Field report R19."""
    world = World(planned({"id": "a"}))
    hold = held("plan.1")
    async with holding(theatre, world, hold, approvals=ASK) as session:
        await session.say("approve_plan")
        await session.say("steer_task", {"id": "a", "text": "go"})
        await session.say("approve_changeset", {"id": "c", "digest": "d"})
        view = await session.until(lambda view: "c" in notices(view, NoticeKind.UNKNOWN_SUBJECT))
        assert notices(view, NoticeKind.UNKNOWN_SUBJECT) == {
            "a": "there is no task 'a'",
            "c": "there is no changeset 'c'",
        }
        assert "no plan waits" in notices(view, NoticeKind.NOT_POSSIBLE)[""]
        hold.release()
        await session.until(is_in("awaiting_plan"))


# --- changesets -----------------------------------------------------------------------------


class LateDelivery(World):
    """Nothing is delivered until the test lets it be: the session cannot end before."""

    def __init__(self) -> None:
        super().__init__(planned({"id": "a"}))
        self.hold = Hold()

    async def deliver(self, request: DeliverBranch) -> DeliveryOutcome:
        await self.hold.wait()
        return await super().deliver(request)


@pytest.mark.slow
async def test_of_approvals_and_a_rejection_at_once_the_first_counts(theatre: Theatre):
    """Field report R19."""
    world = LateDelivery()
    async with theatre.session(world, approvals=ATTENDED) as session:
        digest = digest_of(await session.until(awaits("a")), "a")
        for _ in range(2):
            await session.say("approve_changeset", {"id": "a", "digest": digest})
        await session.say("reject_changeset", {"id": "a", "reason": "no"})
        world.hold.release()
        result = await session.result()
        view = await session.view()
    assert states(result) == {"a": ("merged", 1)}
    assert len(world.delivered) == 1
    assert "waits for no approval" in notices(view, NoticeKind.NOT_POSSIBLE)["a"]


@pytest.mark.slow
async def test_a_stale_approval_is_a_notice_and_the_new_content_still_waits(theatre: Theatre):
    """Field report R19."""
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=ATTENDED) as session:
        old = digest_of(await session.until(awaits("a")), "a")
        comment = {"path": "a.py", "line": 7, "quote": "tmp = 1", "text": "say what it holds"}
        rejection = {"id": "a", "reason": "name it better", "comments": [comment]}
        await session.say("reject_changeset", rejection)
        await session.until(lambda view: awaits("a")(view) and digest_of(view, "a") != old)
        await session.say("approve_changeset", {"id": "a", "digest": old})
        view = await session.until(noticed(NoticeKind.STALE_APPROVAL))
        assert old[:12] in notices(view, NoticeKind.STALE_APPROVAL)["a"]
        assert awaits("a")(view)
        assert world.delivered == []
        assert "name it better" in world.heard("dev.a.2", 1)
        assert "a.py:7 `tmp = 1`: say what it holds" in world.heard("dev.a.2", 1)


@pytest.mark.slow
async def test_what_is_unknown_or_not_possible_becomes_a_notice_that_names_it(theatre: Theatre):
    """Field report R19."""
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=ATTENDED) as session:
        await session.until(awaits("a"))
        await session.say("approve_changeset", {"id": "nope", "digest": ""})
        await session.say("reject_changeset", {"id": "never"})
        for number, name in enumerate(("skip_task", "retry_task", "steer_task", "set_priority")):
            extra = {"steer_task": {"text": "t"}, "set_priority": {"n": 1}}.get(name, {})
            await session.say(name, {"id": f"task-{number}", **extra})
        view = await session.until(lambda view: len(view.notices) >= 6)
        assert set(notices(view, NoticeKind.UNKNOWN_SUBJECT)) == {
            "nope", "never", "task-0", "task-1", "task-2", "task-3",
        }  # fmt: skip
        await session.say("proceed")
        await session.until(
            lambda view: "no development runs" in notices(view, NoticeKind.NOT_POSSIBLE)[""]
        )
        await session.say("resume")
        await session.until(
            lambda view: "is not paused" in notices(view, NoticeKind.NOT_POSSIBLE)[""]
        )


# --- tasks ----------------------------------------------------------------------------------


async def test_skip_of_a_running_task_stops_its_agent_and_blocks_its_dependants(theatre: Theatre):
    """Field report R56."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "c"}))
    async with holding(theatre, world, held("dev.a.1")) as session:
        await session.say("skip_task", {"id": "a"})
        result = await session.result()
        left = (await session.view()).changesets
    assert states(result) == {"a": ("skipped", 1), "b": ("blocked", 0), "c": ("merged", 1)}
    assert {c.id: c.state for c in left} == {"a": "dropped", "b": "dropped", "c": "merged"}
    assert result.outcome == "incomplete"
    assert world.running == {}


@pytest.mark.slow
async def test_a_skip_that_satisfies_lets_the_dependants_run(theatre: Theatre):
    """Field report R56."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    async with holding(theatre, world, held("dev.a.1")) as session:
        await session.say("skip_task", {"id": "a", "satisfies": True})
        result = await session.result()
    assert states(result) == {"a": ("skipped", 1), "b": ("merged", 1)}
    assert result.outcome == "complete"


@pytest.mark.slow
async def test_retry_of_a_failed_task_is_one_more_attempt_with_the_persons_notes(theatre: Theatre):
    """Field report R56."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))

    def finish(asked: FinishTask) -> WorkRefused | None:
        is_bad = (asked.task, asked.attempt) == ("a", 1)
        return (
            WorkRefused(reason="empty", findings=(Violation(rule=DiffRule.EMPTY, text="nothing"),))
            if is_bad
            else None
        )

    world.finish = finish
    async with theatre.session(world, approvals=ATTENDED, attempts=1) as session:
        view = await session.until(lambda view: "retry, skip or stop" in view.reason)
        assert [task.state for task in view.tasks] == ["failed", "blocked"]
        await session.say("retry_task", {"id": "a", "notes": "the file is in src"})
        await session.until(awaits("a"))
        assert "the file is in src" in world.heard("dev.a.2", 1)
        assert await session.state_of("b") == "pending"
        await session.say("retry_task", {"id": "a"})
        view = await session.until(noticed(NoticeKind.NOT_POSSIBLE))
        assert "'a' is validated" in notices(view, NoticeKind.NOT_POSSIBLE)["a"]


async def test_steer_reaches_the_running_agents_next_call(theatre: Theatre):
    world = World(planned({"id": "a"}))
    hold = held("dev.a.1")
    async with holding(theatre, world, hold) as session:
        await session.say("steer_task", {"id": "a", "text": "use the old name"})
        await has_heard(await agent_of(theatre, session, "dev.a.1"), "steer")
        hold.release()
        assert (await session.result()).outcome == "complete"
    assert "use the old name" not in world.heard("dev.a.1", 1)
    assert "use the old name" in world.heard("dev.a.1", 2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("waits_for", ["a slot", "a dependency"])
async def test_steer_is_kept_for_a_task_that_has_not_started(theatre: Theatre, waits_for: str):
    later = {"id": "b", "depends_on": ["a"]} if waits_for == "a dependency" else {"id": "b"}
    world = World(planned({"id": "a"}, later))
    hold = held("dev.a.1")
    async with holding(theatre, world, hold, concurrency=ONE_SLOT) as session:
        await session.say("steer_task", {"id": "b", "text": "first this"})
        await session.say("steer_task", {"id": "b", "text": "then that"})
        await session.say("pause")
        await session.until(is_in("paused"))
        await session.say("resume")
        hold.release()
        assert (await session.result()).outcome == "complete"
    heard = world.heard("dev.b.1", 1)
    assert 0 < heard.index("first this") < heard.index("then that")


async def steered(session: Playing, words: list[str]) -> None:
    """Say words to the agent of task `a`, as fast as it goes."""
    for word in words:
        await session.say("steer_task", {"id": "a", "text": word})


@pytest.mark.slow
async def test_what_is_said_in_a_row_is_heard_in_that_order(theatre: Theatre):
    """What a wave sends on at the same time would arrive in any order."""
    world = World(planned({"id": "a"}))
    hold = held("dev.a.1")
    words = [f"word-{number:02}." for number in range(20)]
    async with holding(theatre, world, hold) as session:
        await steered(session, words)
        agent = await agent_of(theatre, session, "dev.a.1")

        async def has_all() -> bool:
            return len((await agent.query("state", result_type=AgentState)).steers) == len(words)

        await until(has_all, "the agent has every word")
        state = await agent.query("state", result_type=AgentState)
    assert list(state.steers) == words


@pytest.mark.slow
async def test_what_one_agent_heard_the_next_one_hears_again(theatre: Theatre):
    """Each is a new one, and knows nothing of what was said to the one before."""
    world = World(planned({"id": "a"}))
    hold = held("dev.a.1")
    world.on_call = lambda call: (
        refusal(call) if (call.agent, call.turn) == ("dev.a.1", 2) else hold(call)
    )
    async with theatre.session(world, approvals=ATTENDED) as session:
        await hold.arrived()
        await steered(session, ["use the old name"])
        await has_heard(await agent_of(theatre, session, "dev.a.1"), "steer")
        hold.release()
        await session.until(awaits("a"))
        assert notices(await session.view(), NoticeKind.NOT_POSSIBLE) == {}
    for agent, turn in (("dev.a.1", 2), ("dev.a.2", 1)):
        assert world.heard(agent, turn).count("use the old name") == 1


@pytest.mark.slow
async def test_what_an_agent_misses_that_ends_at_once_the_next_one_hears(theatre: Theatre):
    world = SlowSetUp({"id": "a"})
    world.on_call = lambda call: refusal(call) if call.agent == "dev.a.1" else None
    words = [f"word-{number:02}." for number in range(40)]
    async with theatre.session(world, approvals=ATTENDED) as session:
        await world.hold.arrived()
        await steered(session, words)
        world.hold.release()
        await session.until(awaits("a"))
    heard = world.heard("dev.a.2", 1)
    places = [heard.find(word) for word in words]
    assert -1 not in places
    assert places == sorted(places)
    assert [heard.count(word) for word in words] == [1] * len(words)


async def refusal(call: CallModel) -> ModelOutcome:
    return answered(call, stop="refusal", text="I will not.")


class WithoutTools(World):
    """The first worktree of a task cannot be set up."""

    async def prepare(self, request: PrepareWorktree) -> WorktreeReady:
        if request.worktree.agent == "dev.b.1":
            raise ApplicationError("npm ci failed", non_retryable=True)
        return await super().prepare(request)


@pytest.mark.slow
async def test_an_undelivered_message_is_kept_for_the_next_agent(theatre: Theatre):
    world = WithoutTools(planned({"id": "a"}, {"id": "b"}))
    hold = held("dev.a.1")
    async with holding(theatre, world, hold, concurrency=ONE_SLOT) as session:
        await session.say("steer_task", {"id": "b", "text": "first this"})
        await session.say("steer_task", {"id": "b", "text": "then that"})
        hold.release()
        view = (await session.result(), await session.view())[1]
    assert notices(view, NoticeKind.NOT_POSSIBLE)["b"].startswith(
        "the agent of attempt 1 has not heard"
    )
    heard = world.heard("dev.b.2", 1)
    assert 0 < heard.index("first this") < heard.index("then that")


@pytest.mark.slow
async def test_steer_of_a_submitted_or_merged_task_is_a_notice_with_its_state(theatre: Theatre):
    """Field report R19."""
    world = World(planned({"id": "a"}, {"id": "b"}))
    async with theatre.session(world, approvals=ATTENDED) as session:
        digest = digest_of(await session.until(awaits("a", "b")), "a")
        await session.say("approve_changeset", {"id": "a", "digest": digest})
        await session.until(lambda view: view.tasks[0].state == "merged")
        for task in ("a", "b"):
            await session.say("steer_task", {"id": task, "text": "too late"})
        view = await session.until(lambda view: len(notices(view, NoticeKind.NOT_POSSIBLE)) == 2)
        texts = notices(view, NoticeKind.NOT_POSSIBLE)
        assert "is merged" in texts["a"]
        assert "is validated" in texts["b"]
        assert "Reject its changeset" in texts["b"]


@pytest.mark.slow
async def test_what_a_task_is_told_has_an_end_that_is_said(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    async with holding(theatre, world, held("dev.a.1")) as session:
        for number in range(11):
            await session.say("steer_task", {"id": "b", "text": f"{number:04}" * 2_500})
        view = await session.until(noticed(NoticeKind.NOT_POSSIBLE))
        await session.say("stop")
    assert "no more fit" in notices(view, NoticeKind.NOT_POSSIBLE)["b"]


@pytest.mark.slow
async def test_set_priority_changes_the_order(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}, {"id": "c"}))
    hold = held("dev.a.1")
    async with holding(theatre, world, hold, pacing=Pacing.FLOW, concurrency=ONE_SLOT) as session:
        await session.say("set_priority", {"id": "c", "n": 10})
        await session.until(lambda view: view.tasks[2].priority == 10)
        hold.release()
        await session.result()
    developers = [agent for agent in world.agents() if agent.startswith("dev")]
    assert developers == ["dev.a.1", "dev.c.1", "dev.b.1"]


# --- money ----------------------------------------------------------------------------------


def raw(text: str) -> RawValue:
    """Return JSON as the Web UI or another client would send it, even such as Python calls none."""
    return RawValue(Payload(metadata={"encoding": b"json/plain"}, data=text.encode()))


NO_AMOUNTS = ("NaN", "1e309", "-1", '"10"', "true", "Infinity", "null", "[]")


@pytest.mark.slow
async def test_r44_a_budget_that_is_no_amount_is_refused_in_words(theatre: Theatre):
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=ASK) as session:
        await session.until(is_in("awaiting_plan"))
        for number, usd in enumerate(NO_AMOUNTS, 1):
            await session.say("set_budget", raw(f'{{"usd":{usd}}}'))
            view = await session.until(
                lambda view, number=number: (
                    sum(n.count for n in view.notices if n.kind is NoticeKind.BAD_SIGNAL) == number
                )
            )
            assert view.cap_usd == 10, usd
            assert "set_budget" in notices(view, NoticeKind.BAD_SIGNAL)["set_budget"]


@pytest.mark.parametrize("usd", [0.01, 0])
@pytest.mark.slow
async def test_r44_set_budget_moves_the_cap_down_and_up_again(theatre: Theatre, usd: float):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.05"))
    async with theatre.session(world, approvals=Approvals(changeset="auto_if_green")) as session:
        await session.until(is_in("awaiting_plan"))
        await session.say("set_budget", {"usd": usd})
        await session.until(lambda view: float(view.cap_usd) == usd < view.spent_usd)
        await session.say("approve_plan")
        view = await session.until(is_in("paused"))
        assert "cap" in view.reason
        assert [call.role for call in world.calls] == [Role.PLANNER]
        await session.say("set_budget", {"usd": 5})
        result = await session.result()
    assert result.outcome == "complete"
    assert result.spent_usd < 5


@pytest.mark.parametrize(
    ("usd", "waits_as", "attempt"),
    [("0.07", "ready", 2), pytest.param("0.17", "developed", 1, marks=pytest.mark.slow)],
)
@pytest.mark.slow
async def test_work_that_the_cap_held_up_goes_on_once_there_is_money(
    theatre: Theatre, usd: str, waits_as: str, attempt: int
):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.05"))
    async with theatre.session(
        world, approvals=MERGED_AS_IT_IS, attempts=1, budget=Caps(stop_usd=Decimal(usd))
    ) as session:
        await session.until(lambda view: [each.state for each in view.tasks] == [waits_as])
        await session.until(is_in("paused"))
        await session.say("set_budget", {"usd": 5})
        result = await session.result()
    assert states(result) == {"a": ("merged", attempt)}
    assert [call.role for call in world.calls] == [
        Role.PLANNER,
        Role.DEVELOPER,
        Role.DEVELOPER,
        Role.REVIEWER,
    ]


@pytest.mark.slow
async def test_r51_of_fifty_budgets_in_a_row_the_last_counts(theatre: Theatre):
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=ASK) as session:
        await session.until(is_in("awaiting_plan"))
        for usd in range(1, 51):
            await session.say("set_budget", {"usd": usd})
        await session.until(lambda view: view.cap_usd == 50)
        ledger = theatre.client.get_workflow_handle(f"{session.handle.id}/ledger")

        async def is_told() -> bool:
            return (await ledger.query("state", result_type=LedgerView)).cap_usd == 50

        await until(is_told, "the ledger knows the last one")


# --- the session ----------------------------------------------------------------------------


@pytest.mark.slow
async def test_proceed_closes_the_wave_and_the_rest_goes_on_from_its_checkpoint(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}))
    async with holding(theatre, world, held("dev.b.1", turn=2)) as session:
        await session.until(lambda _: any(each.task == "a" for each in world.finished))
        await session.say("proceed")
        result = await session.result()
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 2)}
    again = next(each for each in world.prepared if each.worktree.agent == "dev.b.2")
    checkpoint = name_of("dev.b.1", 1)
    assert again.start == name_of("rebased", checkpoint, world.finished[-1].base)
    assert [each.task for each in world.finished] == ["a", "b"]


@pytest.mark.slow
async def test_no_call_happens_between_pause_and_resume(theatre: Theatre):
    world = World(planned({"id": "a"}))
    hold = held("dev.a.1")
    async with holding(theatre, world, hold) as session:
        await session.say("pause")
        view = await session.until(is_in("paused"))
        assert view.reason == "paused by a person"
        agent = await agent_of(theatre, session, "dev.a.1")
        await has_heard(agent, "pause")
        hold.release()
        await session.until(lambda _: bool(world.tools))
        await tools_are_done(agent)
        before = len(world.calls)
        assert await scheduled(agent) == ["models.call", "tools.run"]
        await session.say("resume")
        assert (await session.result()).outcome == "complete"
    assert len(world.calls) > before


@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", ["dev.a.1", "plan.1", "review.a.1.1"])
async def test_stop_cancels_what_runs_and_every_task_that_is_not_over(theatre: Theatre, agent: str):
    """Field report R40."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    async with holding(theatre, world, held(agent)) as session:
        await session.say("stop", {"by": "ann"})
        result = await session.result()
    assert result.outcome == "stopped"
    assert result.reason == "stopped by ann"
    assert {task.state for task in result.tasks} <= {"cancelled"}
    assert world.running == {}


@pytest.mark.slow
async def test_one_agent_that_is_cancelled_alone_costs_only_its_attempt(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}))
    async with holding(theatre, world, held("dev.a.1"), approvals=MERGED_AS_IT_IS) as session:
        agent = await agent_of(theatre, session, "dev.a.1")
        await agent.cancel()
        result = await session.result()
    assert states(result) == {"a": ("merged", 2), "b": ("merged", 1)}


class SlowSetUp(World):
    """A worktree that is set up to its end, whatever is cancelled meanwhile."""

    def __init__(self, *tasks: Any) -> None:
        super().__init__(planned(*tasks))
        self.hold = Hold()

    async def prepare(self, request: PrepareWorktree) -> WorktreeReady:
        await self.hold.outlast()
        return await super().prepare(request)


async def test_no_agent_starts_after_a_stop(theatre: Theatre):
    world = SlowSetUp({"id": "a"})
    async with theatre.session(world) as session:
        await world.hold.arrived()
        await session.say("stop", {"by": "ann"})
        wave = theatre.client.get_workflow_handle(f"{session.handle.id}/1/develop")
        await until_in_history(
            wave,
            lambda event: event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
        )
        await session.say("set_budget", {"usd": 50})
        await has_heard(session.handle, "set_budget")
        world.hold.release()
        result = await session.result()
        said = notices(await session.view(), NoticeKind.NOT_POSSIBLE)
    assert "came when the session was ending" in said["set_budget"]
    assert states(result) == {"a": ("cancelled", 1)}
    assert {call.agent for call in world.calls} == {"plan.1"}


@pytest.mark.slow
async def test_pause_resume_and_stop_in_a_row_stop(theatre: Theatre):
    """Field report R54."""
    world = World(planned({"id": "a"}))
    async with holding(theatre, world, held("dev.a.1")) as session:
        for signal in ("pause", "resume", "stop"):
            await session.say(signal)
        result = await session.result()
    assert result.outcome == "stopped"
    assert states(result) == {"a": ("cancelled", 1)}


# --- what goes wrong ------------------------------------------------------------------------


@pytest.mark.slow
async def test_every_signal_names_a_payload_that_it_cannot_read(theatre: Theatre):
    """Field report R19."""
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=ASK) as session:
        await session.until(is_in("awaiting_plan"))
        for name in decisions.NAMES:
            await session.say(name, {"id": 1})
            await session.say(name, "x")
            await session.handle.signal(name, args=[{}, {}])

        all_of_them = 3 * len(decisions.NAMES)

        def counts(view: SessionView) -> dict[str, int]:
            bad = (each for each in view.notices if each.kind is NoticeKind.BAD_SIGNAL)
            return {each.subject: each.count for each in bad}

        view = await session.until(lambda view: sum(counts(view).values()) == all_of_them)
        assert counts(view) == dict.fromkeys(decisions.NAMES, 3)
        assert view.phase == "awaiting_plan"


@pytest.mark.slow
async def test_after_the_end_the_queries_answer_and_a_signal_is_refused(theatre: Theatre):
    """The picture also says what the check of the diff allowed."""
    world = World(planned({"id": "a"}))

    def finish(_: FinishTask) -> TaskCommitted:
        shown = ("run.sh: new, and executable",)
        return TaskCommitted(commit=Commit("c"), tree=Tree("t"), paths=("run.sh",), notices=shown)

    world.finish = finish
    async with theatre.session(world) as session:
        await session.result()
        view = await session.view()
        assert view.phase == "ended"
        assert "run.sh: new, and executable" in notices(view, NoticeKind.REPOSITORY)["a"]
        assert (await session.task("a")).state == "merged"
        unknown = await session.handle.query("task", "zz")
        assert unknown == "there is no task 'zz' in this session"
        with pytest.raises(RPCError):
            await session.say("steer_task", {"id": "a", "text": "too late"})


@pytest.mark.slow
async def test_a_dependency_sent_back_in_flow_starts_its_dependants_over(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    hold = held("dev.b.1")
    async with holding(theatre, world, hold, pacing=Pacing.FLOW, approvals=ATTENDED) as session:
        await session.until(awaits("a"))
        await session.say("reject_changeset", {"id": "a", "reason": "not so"})
        await session.until(lambda _: "dev.b.2" in world.agents())
        assert world.running.keys().isdisjoint({"dev.b.1"})
        view = await session.until(awaits("a", "b"))
        assert [task.attempt for task in view.tasks] == [2, 2]
    bases = {(str(each.task), each.attempt): each.base for each in world.finished}
    second = name_of("task", "a", 2, name_of("base"))
    assert bases[("b", 2)] == name_of(name_of("base"), second)
    assert ("b", 1) not in bases
