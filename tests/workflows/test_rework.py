"""Rework keeps work: what the next attempt starts from, and which ends use up no attempt."""

import pytest

from tests.fakes.world import World, approve, name_of, planned, reject
from tests.theatre import Theatre, played, states
from workflows.contracts.merging_contracts import (
    MergeCommits,
    MergeConflict,
    RebasedWork,
    RebaseWork,
)
from workflows.contracts.model_contracts import CallModel
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.gate import GateSpec
from workflows.domain.ids import Commit
from workflows.domain.session.session_modes import Pacing

pytestmark = pytest.mark.asyncio(loop_scope="session")

BASE = name_of("base")
GATES = (GateSpec(name="tests", argv=("pytest",)),)


def started(world: World, agent: str) -> Commit:
    """Return what an agent's worktree held at first."""
    return next(each.start for each in world.prepared if each.worktree.agent == agent)


def conflicting(times: int) -> World:
    """`b` conflicts with `a`, which is merged first, as often as is said."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": []}))
    left = [times]

    def merge(asked: MergeCommits) -> MergeConflict | None:
        if not asked.title.endswith(" b") or not left[0]:
            return None
        left[0] -= 1
        return MergeConflict(commit=asked.commits[0], paths=("src/x",), text="contents")

    world.merge = merge
    return world


@pytest.mark.slow
async def test_after_a_conflict_the_own_work_stands_on_the_new_head(theatre: Theatre) -> None:
    world = conflicting(1)
    world.rebase = lambda asked: RebasedWork(
        commit=Commit(name_of("rebased", asked.work, asked.base)),
        conflicts="src/x: both sides changed the same lines; conflict markers show them",
    )
    result = await played(theatre, world, attempts=1)
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 2)}
    work = name_of("task", "b", 1, BASE)
    head = name_of(BASE, name_of("task", "a", 1, BASE))
    (rebased,) = world.rebased
    assert (rebased.work, rebased.work_base, rebased.base) == (work, BASE, head)
    assert started(world, "dev.b.2") == name_of("rebased", work, head)
    last = world.finished[-1]
    assert (last.base, last.first_base) == (head, BASE)
    assert "Task b" in last.task_text
    heard = world.heard("dev.b.2", 1)
    assert "src/x: both sides changed the same lines" in heard
    assert "`your earlier work` is yours" in heard


@pytest.mark.slow
async def test_conflicts_use_up_no_attempt_and_end_in_the_end(theatre: Theatre) -> None:
    result = await played(theatre, conflicting(99), attempts=1)
    assert states(result) == {"a": ("merged", 1), "b": ("failed", 11)}
    (reason,) = [task.reason for task in result.tasks if task.id == "b"]
    assert reason == "conflicts again after 10 reworks; retry or skip it"


@pytest.mark.parametrize("pacing", list(Pacing))
@pytest.mark.slow
async def test_what_a_reviewer_rejects_goes_on_from_the_own_work(
    theatre: Theatre, pacing: Pacing
) -> None:
    world = World(planned({"id": "a"}))

    def script(call: CallModel) -> list[ToolCall]:
        if call.role is Role.REVIEWER:
            return [reject("the edge is missing") if call.agent == "review.a.1.1" else approve()]
        return list(world.usual(call))

    world.script = script
    result = await played(theatre, world, pacing=pacing)
    assert states(result) == {"a": ("merged", 2)}
    assert world.rebased == [], "the head has not moved"
    assert started(world, "dev.a.2") == name_of("task", "a", 1, BASE)
    heard = world.heard("dev.a.2", 1)
    assert "the edge is missing" in heard
    assert f"`git diff {BASE}` shows it" in heard
    assert "conflict" not in heard


@pytest.mark.slow
async def test_what_is_built_upon_rejected_work_keeps_its_own(theatre: Theatre) -> None:
    """In flow, `b` is validated on `a`'s commit before `a` fails in the merge queue."""
    tasks = ({"id": "a", "group": "g"}, {"id": "b", "group": "g", "depends_on": ["a"]})
    world = World(planned(*tasks))
    first = name_of("task", "a", 1, BASE)

    def merge(asked: MergeCommits) -> MergeConflict | None:
        if asked.title.startswith("Base of") or first not in asked.commits:
            return None
        return MergeConflict(commit=Commit(first), paths=("src/x",), text="contents")

    world.merge = merge
    result = await played(theatre, world, attempts=1)
    assert states(result) == {"a": ("merged", 2), "b": ("merged", 2)}
    rebased: dict[str, RebaseWork] = {each.title: each for each in world.rebased}
    own = rebased["Task b"]
    assert own.work_base == name_of(BASE, first)
    assert own.work == name_of("task", "b", 1, own.work_base)
    assert started(world, "dev.b.2") == name_of("rebased", own.work, own.base)


def failing_with(tasks: str, culprit: str) -> World:
    """The tasks are one group; the gates fail on each merge that holds the culprit's first work."""
    world = World(planned(*({"id": name, "group": "g"} for name in tasks)))
    first = {name: name_of("task", name, 1, BASE) for name in tasks}
    bad: set[str] = set()

    def merge(asked: MergeCommits) -> None:
        if first[culprit] in asked.commits:
            bad.add(name_of(asked.head, *asked.commits))

    world.merge = merge
    world.gate_fails = lambda asked: asked.commit in bad
    return world


@pytest.mark.sampled(3)
@pytest.mark.parametrize("culprit", ["b", "a", "c"])
async def test_g21_a_red_merge_is_put_down_to_the_change_that_causes_it_and_uses_no_attempt(
    theatre: Theatre, culprit: str
) -> None:
    world = failing_with("abc", culprit)
    result = await played(theatre, world, gates=GATES, attempts=1)
    expected = {name: ("merged", 2 if name == culprit else 1) for name in "abc"}
    assert (result.outcome, states(result)) == ("complete", expected)
    heard = world.heard(f"dev.{culprit}.2", 1)
    assert "test_new" in heard
    assert started(world, f"dev.{culprit}.2") == name_of("task", culprit, 1, BASE)


@pytest.mark.slow
async def test_g21_the_search_for_the_culprit_halves_the_group(theatre: Theatre) -> None:
    world = failing_with("abcdefgh", "f")
    result = await played(theatre, world, gates=GATES, attempts=2)
    expected = {name: ("merged", 2 if name == "f" else 1) for name in "abcdefgh"}
    assert states(result) == expected
    on_base, alone, whole, rework = 1, 8, 2, 1
    assert len(world.judged) == on_base + alone + whole + rework + 3


@pytest.mark.slow
async def test_g21_a_group_without_its_culprit_ends_without_a_call_for_approval(
    theatre: Theatre,
) -> None:
    world = failing_with("abc", "b")
    on_merged, second = world.gate_fails, name_of("task", "b", 2, BASE)
    world.gate_fails = lambda asked: on_merged(asked) or asked.commit == second
    result = await played(theatre, world, gates=GATES, attempts=1)
    assert states(result) == {"a": ("cancelled", 1), "b": ("failed", 2), "c": ("cancelled", 1)}
    assert result.outcome == "incomplete"
    assert result.reason.startswith("no rule merges g without b (failed); not done: ")
    assert "approve" not in result.reason
