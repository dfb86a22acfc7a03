"""Reviews: an abstention moves to the next model and then to the person; it decides nothing."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from tests.fakes.world import World, approve, planned, reject, tool
from tests.theatre import Playing, Theatre, states
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.gate import GateReport
from workflows.domain.session.decision import DecisionOutcome
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import Approvals, Routes
from workflows.domain.session.session_modes import Pacing
from workflows.domain.verdict import EvidencePlace
from workflows.errors import FailureType

pytestmark = pytest.mark.asyncio(loop_scope="session")

TWO = Routes(
    planner=("scripted/alpha",),
    developer=("scripted/alpha",),
    reviewer=("scripted/beta", "scripted/gamma"),
)
OWN = Routes(
    planner=("scripted/alpha",), developer=("scripted/alpha",), reviewer=("scripted/alpha",)
)
ATTENDED = Approvals(plan="auto", changeset="ask")
UNATTENDED = Approvals(plan="auto", changeset="auto_if_green")
UNPROVEN = tool("submit_verdict", approve=True, summary="looks good")
MALFORMED = tool("submit_verdict", approve="false", summary="text for a truth value")

Said = Callable[[CallModel], Sequence[ToolCall]]


def unchanged() -> ToolCall:
    """Return an approval that rests on lines which the work left as they are."""
    cited = {"criterion": "1", "path": "a", "line_start": 1, "line_end": 1, "quote": "a"}
    because = {"unchanged_because": "it was met before"}
    return tool("submit_verdict", approve=True, summary="good", evidence=[{**cited, **because}])


def reviewed(said: Said, *tasks: dict[str, Any]) -> World:
    """Return a world whose reviewers answer as told."""
    world = World(planned(*(tasks or ({"id": "a"},))))
    world.script = lambda call: said(call) if call.role is Role.REVIEWER else world.usual(call)
    return world


def reviews(world: World) -> list[tuple[str, str]]:
    """Return who was asked for a review, and by which name, in order."""
    asked = ((call.model.family, str(call.agent)) for call in world.calls)
    return [each for each in dict.fromkeys(asked) if each[1].startswith("review")]


def waits(view: SessionView) -> bool:
    return any(each.digest for each in view.changesets) and bool(view.reason)


@pytest.mark.parametrize("first", [[UNPROVEN], [MALFORMED], []], ids=["bare", "bad", "silent"])
@pytest.mark.slow
async def test_an_abstention_moves_to_the_next_model_of_the_route(
    theatre: Theatre, first: list[ToolCall]
):
    world = reviewed(lambda call: first if call.model.family == "beta" else [approve()])
    async with theatre.session(world, approvals=UNATTENDED, routes=TWO) as session:
        assert states(await session.result()) == {"a": ("merged", 1)}
    assert reviews(world) == [("beta", "review.a.1.1"), ("gamma", "review.a.1.2")]


@pytest.mark.slow
async def test_a_model_that_cannot_be_used_gives_way_within_the_same_review(theatre: Theatre):
    world = reviewed(lambda _: [approve()])

    async def refuse() -> ModelOutcome | None:
        raise ApplicationError("no such model", type=FailureType.INVALID_REQUEST)

    world.on_call = lambda call: refuse() if call.model.family == "beta" else None
    async with theatre.session(world, approvals=UNATTENDED, routes=TWO) as session:
        assert states(await session.result()) == {"a": ("merged", 1)}
    assert reviews(world) == [("beta", "review.a.1.1"), ("gamma", "review.a.1.1")]


@pytest.mark.parametrize("pacing", list(Pacing))
@pytest.mark.slow
async def test_where_all_abstain_other_tasks_go_on_and_an_unattended_session_is_incomplete(
    theatre: Theatre, pacing: Pacing
):
    world = reviewed(
        lambda call: [UNPROVEN] if call.agent.startswith("review.a.") else [approve()],
        {"id": "a"},
        {"id": "b"},
    )
    async with theatre.session(
        world, approvals=UNATTENDED, routes=TWO, pacing=pacing, attempts=3
    ) as session:
        result = await session.result()
        view = await session.view()
    assert (result.outcome, states(result)) == (
        "incomplete",
        {"a": ("cancelled", 1), "b": ("merged", 1)},
    )
    assert "no one was there to approve a (the reviewers abstained: approve, reject, or " in (
        result.reason
    )
    assert "scripted/beta: approval without evidence" in result.reason
    assert NoticeKind.ABSTENTION in {each.kind for each in view.notices}


async def at_the_person(session: Playing) -> SessionView:
    """Wait until the session waits for a person, who is told what can be done."""
    view = await session.until(waits)
    assert "the reviewers abstained: approve, reject, or `retry --review a`" in view.reason
    (line,) = view.changesets
    assert line.not_reviewed.startswith("a: scripted/beta: approval without evidence")
    assert line.judged_by == ("tests",)
    return view


@pytest.mark.slow
async def test_a_person_may_approve_what_no_reviewer_judged_and_a_rule_may_not(theatre: Theatre):
    world = reviewed(lambda _: [UNPROVEN])
    async with theatre.session(world, approvals=ATTENDED, routes=TWO) as session:
        view = await at_the_person(session)
        by_hand = {"id": "a", "digest": view.changesets[0].digest}
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await session.handle.execute_update(
                "approve_changeset", {**by_hand, "by": "ci.yaml", "by_rule": True}
            )
        assert "a person has to approve it: no reviewer gave a verdict" in str(refused.value.cause)
        await session.say("approve_changeset", by_hand)
        assert states(await session.result()) == {"a": ("merged", 1)}


@pytest.mark.slow
async def test_a_person_may_reject_what_no_reviewer_judged(theatre: Theatre):
    world = reviewed(lambda call: [approve()] if ".2." in call.agent else [UNPROVEN])
    async with theatre.session(world, approvals=ATTENDED, routes=TWO) as session:
        await at_the_person(session)
        await session.say("reject_changeset", {"id": "a", "reason": "too clever"})
        view = await session.until(lambda view: waits(view) and view.tasks[0].attempt == 2)
        assert view.changesets[0].not_reviewed == ""
        assert "too clever" in world.heard("dev.a.2", 1)


@pytest.mark.parametrize("way", ["update", "signal"])
@pytest.mark.slow
async def test_a_new_review_needs_no_new_attempt_and_is_asked_for_once(theatre: Theatre, way: str):
    verdicts = {"review.a.1.1": UNPROVEN, "review.a.1.2": UNPROVEN}
    world = reviewed(lambda call: [verdicts.get(str(call.agent), approve())])
    again = {"id": "a", "review": True, "by": "ann"}
    async with theatre.session(world, approvals=ATTENDED, routes=TWO) as session:
        await at_the_person(session)
        if way == "signal":
            await session.say("retry_task", again)
        else:
            for _ in range(2):  # sent again by its client: the same answer, and one effect
                outcome = await session.handle.execute_update(
                    "retry_task", again, id="once", result_type=DecisionOutcome
                )
                assert (outcome.subject, outcome.state) == ("a", "developed")
        view = await session.until(lambda view: waits(view) and not view.changesets[0].not_reviewed)
        assert [each.what for each in view.decisions if each.by == "ann"] == ["retry_task"]
        await session.say("approve_changeset", {"id": "a", "digest": view.changesets[0].digest})
        assert states(await session.result()) == {"a": ("merged", 1)}
    assert [name for _, name in reviews(world)] == ["review.a.1.1", "review.a.1.2", "review.a.1.4"]
    assert [agent for agent in world.agents() if agent.startswith("dev")] == ["dev.a.1"]


@pytest.mark.slow
async def test_a_failed_task_may_be_reviewed_again(theatre: Theatre):
    """The reviewer was wrong, as the person sees it."""
    world = reviewed(lambda call: [reject() if call.agent == "review.a.1.1" else approve()])
    async with theatre.session(world, approvals=ATTENDED, attempts=1) as session:
        await session.until(lambda view: bool(view.tasks) and view.tasks[0].state == "failed")
        await session.say("retry_task", {"id": "a", "review": True})
        view = await session.until(waits)
        assert (view.tasks[0].state, view.tasks[0].attempt) == ("validated", 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"review": True}, "has no submitted work that could be reviewed again"),
        ({"review": True, "notes": "x"}, "notes are for a next attempt"),
        ({"review": "yes"}, "was not understood"),
    ],
)
async def test_a_new_review_that_is_not_possible_is_refused_with_the_reason(
    theatre: Theatre, payload: dict[str, Any], reason: str
):
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=Approvals(plan="ask")) as session:
        await session.until(lambda view: view.phase == "awaiting_plan" and bool(view.tasks))
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await session.handle.execute_update("retry_task", {"id": "a", **payload})
        assert reason in str(refused.value.cause)


@pytest.mark.slow
async def test_contradictory_verdicts_are_asked_about_once_and_then_abstain(theatre: Theatre):
    """Field report G09."""
    world = reviewed(
        lambda call: [approve(), reject()] if call.model.family == "beta" else [reject("no")]
    )
    async with theatre.session(world, approvals=UNATTENDED, routes=TWO, attempts=1) as session:
        assert states(await session.result()) == {"a": ("failed", 1)}
    asked = [(call.model.family, call.turn) for call in world.calls if call.role is Role.REVIEWER]
    assert asked == [("beta", 1), ("beta", 2), ("gamma", 1)]
    assert "submissions that contradict each other" in world.heard("review.a.1.1", 2)


@pytest.mark.slow
async def test_a_reviewer_that_decides_when_asked_again_counts(theatre: Theatre):
    world = reviewed(lambda call: [approve(), reject()] if call.turn == 1 else [approve()])
    async with theatre.session(world, approvals=UNATTENDED) as session:
        assert states(await session.result()) == {"a": ("merged", 1)}


@pytest.mark.parametrize(("second", "state"), [(unchanged(), "merged"), (reject(), "failed")])
@pytest.mark.slow
async def test_what_only_unchanged_lines_prove_needs_a_second_look(
    theatre: Theatre, second: ToolCall, state: str
):
    """Field report G46."""
    world = reviewed(lambda call: [unchanged() if call.model.family == "beta" else second])
    world.place = EvidencePlace.UNCHANGED
    async with theatre.session(world, approvals=UNATTENDED, routes=TWO, attempts=1) as session:
        assert states(await session.result()) == {"a": (state, 1)}
        told = [each.text for each in (await session.view()).notices]
    assert [family for family, _ in reviews(world)] == ["beta", "gamma"]
    is_told = any("only unchanged lines prove criterion 1" in each for each in told)
    assert is_told is (state == "merged")


async def test_a_reviewer_sees_the_repository_the_summary_and_what_the_checks_came_to(
    theatre: Theatre,
):
    world = reviewed(lambda _: [approve()])
    async with theatre.session(world, approvals=UNATTENDED) as session:
        await session.result()
    heard = world.heard("review.a.1.1", 1)
    for label, text in (("repository", "three files"), ("summary", "done"), ("checks", "passed")):
        assert f'label=\\"{label}\\">\\n' in heard
        assert text in heard


@pytest.mark.slow
async def test_one_family_is_enough_and_the_person_is_told(theatre: Theatre):
    world = reviewed(lambda _: [approve()])
    async with theatre.session(world, approvals=UNATTENDED, routes=OWN) as session:
        assert states(await session.result()) == {"a": ("merged", 1)}
        told = (await session.view()).notices
    (warning,) = (each for each in told if each.kind is NoticeKind.REVIEWER)
    assert "every reviewer is of the family 'alpha'" in warning.text


class Broken(World):
    """Gates cannot be run on the work."""

    async def run_gates(self, request: RunGates) -> GateReport:
        if request.baseline is not None:
            raise ApplicationError("the disk is full", type=FailureType.INVALID_REQUEST)
        return await super().run_gates(request)


@pytest.mark.slow
async def test_work_that_could_not_be_judged_at_all_waits_for_a_person_too(theatre: Theatre):
    async with theatre.session(Broken(planned({"id": "a"})), approvals=ATTENDED) as session:
        view = await session.until(waits)
        (line,) = view.changesets
    assert view.tasks[0].state == "validated"
    assert "the disk is full" in line.not_judged
    assert line.not_reviewed == "a: the disk is full"
