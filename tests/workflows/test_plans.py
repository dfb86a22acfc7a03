"""Plans that persons bring, edit while a session runs, and what bounds those of a planner."""

import asyncio
from typing import Any

import pytest

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.sessions.session_client import Sessions
from tests.fakes.world import Hold, World, planned
from tests.theatre import Theatre, played, states
from workflows.domain.ids import SessionId
from workflows.domain.plan import Plan
from workflows.domain.session.decision import DecisionOutcome
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import Approvals
from workflows.policy.decision.plan_edits import plan_digest

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASK_FOR_THE_PLAN = Approvals(plan="ask", changeset="auto_if_green")


def plan_of(*tasks: dict[str, Any]) -> Plan:
    return Plan.model_validate(planned(*tasks))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "approvals", [ASK_FOR_THE_PLAN, Approvals(plan="auto", changeset="auto_if_green")]
)
async def test_a_persons_own_plan_is_approved_by_them_and_no_planner_is_asked(
    theatre: Theatre, approvals: Approvals
) -> None:
    world = World({})
    own = plan_of({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    result = await played(theatre, world, plan=own, plan_by="ann", approvals=approvals)
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 1)}
    assert not [call for call in world.calls if call.agent.startswith("plan")]
    (decision, *_) = result.decisions
    assert (result.plan_approved_by, decision.by, decision.source) == ("ann", "ann", "start")


async def test_a_plan_that_no_one_signs_waits_for_approval(theatre: Theatre) -> None:
    own = plan_of({"id": "a"})
    async with theatre.session(World({}), plan=own, approvals=ASK_FOR_THE_PLAN) as playing:
        await playing.until(lambda view: view.phase == "awaiting_plan")
        await playing.say("approve_plan", {"by": "bob"})
        assert (await playing.result()).plan_approved_by == "bob"


def _edit(plan: Plan, by: str, *more: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    tasks = [*plan.tasks, *plan_of(*more).tasks]
    edited = Plan(summary=plan.summary, tasks=tuple(tasks))
    content = {"plan": edited.model_dump(mode="json"), "digest": plan_digest(plan), "by": by}
    return "edit_plan", content


@pytest.mark.slow
async def test_of_two_who_edit_at_once_one_is_refused_as_stale(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    hold = Hold(lambda call: call.agent == "dev.a.1")
    world.on_call = hold
    sessions = Sessions(theatre.client)
    async with theatre.session(world) as playing:
        await hold.arrived()
        session = SessionId(playing.handle.id.removeprefix("session/"))
        plan = await sessions.plan(session)
        assert plan is not None
        answers = await asyncio.gather(
            sessions.decide(session, *_edit(plan, "ann", {"id": "b", "depends_on": ["a"]})),
            sessions.decide(session, *_edit(plan, "bob", {"id": "c", "depends_on": ["a"]})),
            return_exceptions=True,
        )
        (stale,) = [each for each in answers if isinstance(each, CommandError)]
        (done,) = [each for each in answers if isinstance(each, DecisionOutcome)]
        assert "the plan was changed since this edit began" in str(stale)
        assert (done.decision, stale.code) == ("edit_plan", ExitCode.STALE)
        hold.release()
        result = await playing.result()
    assert result.outcome == "complete"
    assert len(result.tasks) == 2


@pytest.mark.slow
async def test_an_edit_that_is_sent_again_has_one_effect_also_after_a_continuation(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    approvals = Approvals(plan="auto", changeset="ask")
    async with theatre.session(world, waves_per_run=1, approvals=approvals) as playing:
        await playing.until(
            lambda view: view.changesets[0:1] != () and bool(view.changesets[0].digest)
        )
        sessions = Sessions(theatre.client)
        session = SessionId(playing.handle.id.removeprefix("session/"))
        plan = await sessions.plan(session)
        assert plan is not None
        name, content = _edit(plan, "ann", {"id": "c", "depends_on": ["b"]})
        handle = theatre.client.get_workflow_handle(playing.handle.id)
        for _ in range(2):
            outcome = await handle.execute_update(
                name, content, id="one-edit", result_type=DecisionOutcome
            )
            assert outcome.decision == "edit_plan"
            view = await playing.view()
            (changeset,) = [each for each in view.changesets if each.id == "a"]
            if changeset.digest:
                approval = {"id": "a", "digest": changeset.digest, "by": "ann"}
                await sessions.decide(session, "approve_changeset", approval)
                await playing.until(lambda view: any(c.digest for c in view.changesets))
        view = await playing.view()
        assert [task.id for task in view.tasks] == ["a", "b", "c"]
        assert [n.count for n in view.notices if n.kind is NoticeKind.PLAN_EDITED] == [1]
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"


async def test_a_planner_repairs_its_plan_twice_and_no_more(theatre: Theatre) -> None:
    faulty = planned({"id": "a", "depends_on": ["a"]}, {"id": "b", "depends_on": ["nope"]})
    world = World(faulty)
    async with theatre.session(world, approvals=ASK_FOR_THE_PLAN) as playing:
        view = await playing.until(lambda view: view.phase == "awaiting_plan")
        await playing.say("stop")
    assert "its submit_plan was refused 3 times" in view.reason
    assert len([call for call in world.calls if call.agent == "plan.1"]) == 3
    told = world.heard("plan.1", 2)
    assert "a→a" in told
    assert "'nope'" in told
