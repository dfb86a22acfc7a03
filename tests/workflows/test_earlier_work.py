"""Decisions on earlier work: a task rewound to one of its turns, merged work taken back."""

from collections.abc import Sequence
from typing import Any

import pytest

from starter.console.command_errors import CommandError
from starter.sessions.sent_decisions import execute
from tests.fakes.world import Hold, World, name_of, planned, tool
from tests.theatre import Playing, Theatre, states
from workflows.contracts.merging_contracts import RebasedWork
from workflows.contracts.model_contracts import CallModel
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.ids import Commit

pytestmark = pytest.mark.asyncio(loop_scope="session")
BASE = name_of("base")


def long_work(turns: int, plan: dict[str, Any]) -> World:
    """First attempts work for some turns before they submit."""
    world = World(plan)

    def script(call: CallModel) -> Sequence[ToolCall]:
        is_first = call.role is Role.DEVELOPER and str(call.agent).endswith(".1")
        if is_first and call.turn <= turns:
            return [tool("bash", command=f"step {call.turn} of {call.agent}")]
        return world.usual(call)

    world.script = script
    return world


async def decided(playing: Playing, name: str, update: str = "", **content: Any) -> str:
    """Send an Update and return what its sender is told; the reason where it is refused."""
    try:
        outcome = await execute(playing.handle, name, content, update)
    except CommandError as error:
        return str(error)
    return outcome.told


@pytest.mark.slow
async def test_a_rewound_task_goes_on_from_that_turn_and_counts_as_an_attempt(
    theatre: Theatre,
) -> None:
    world = long_work(3, planned({"id": "a"}))
    hold = Hold(lambda call: (call.agent, call.turn) == ("dev.a.1", 4))
    world.on_call = hold
    async with theatre.session(world) as playing:
        await hold.arrived()
        none = await decided(playing, "rewind_task", id="a", turn=9)
        assert "attempt 1 of task 'a' has no checkpoint of turn 9; it has those of turns 1" in none
        assert "no attempt 2" in await decided(playing, "rewind_task", id="a", turn=1, attempt=2)
        for _ in range(2):  # sent again, it has one effect
            await decided(playing, "rewind_task", "once", id="a", turn=2, notes="shorter")
        hold.release()
        result = await playing.result()
    assert states(result) == {"a": ("merged", 2)}
    (rebased,) = world.rebased
    assert (rebased.work, rebased.work_base) == (
        name_of("dev.a.1", 2),
        name_of("base of", "dev.a.1"),
    )
    start = next(each.start for each in world.prepared if each.worktree.agent == "dev.a.2")
    assert start == name_of("rebased", rebased.work, BASE)
    heard = world.heard("dev.a.2", 1)
    assert "rewound the work to turn 2 of attempt 1, and says: shorter" in heard
    assert [each.what for each in result.decisions].count("rewind_task") == 1


@pytest.mark.slow
async def test_merged_work_is_taken_back_by_git_and_merged_like_any_other(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    hold = Hold(lambda call: call.agent == "dev.b.1")
    world.on_call = hold
    async with theatre.session(world) as playing:
        await hold.arrived()
        assert "is developing" in await decided(playing, "revert_task", id="b")
        assert "`revert a` takes" in await decided(playing, "rewind_task", id="a", turn=1)
        told = await decided(playing, "revert_task", id="a", reason="not wanted")
        assert told.startswith("task 'revert-a' takes back task 'a' (made by git")
        assert told.endswith("; tasks that depend on it: b (developing)")
        again = await decided(playing, "revert_task", id="a")
        assert "task 'revert-a' takes 'a' back already" in again
        hold.release()
        result = await playing.result()
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 1), "revert-a": ("merged", 1)}
    assert not [agent for agent in world.agents() if "revert-a" in agent]
    made = next(each for each in world.finished if each.task == "revert-a")
    head = name_of(BASE, name_of("task", "a", 1, BASE))
    commit = name_of("task", "revert-a", 1, made.base)
    assert commit in [each.commit for each in world.judged]
    assert world.rebased[0].work == BASE
    assert world.rebased[0].work_base == name_of("task", "a", 1, BASE)
    assert world.rebased[0].base == head
    assert made.claims == ("src/a/**",)


@pytest.mark.slow
async def test_where_later_work_is_in_the_way_an_agent_does_it_if_a_person_says_so(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    hold = Hold(lambda call: call.agent == "dev.b.1")
    world.on_call = hold
    conflict = "src/a/x: both sides changed the same lines; conflict markers show them"
    world.rebase = lambda asked: RebasedWork(commit=Commit(name_of(asked.base)), conflicts=conflict)
    async with theatre.session(world) as playing:
        await hold.arrived()
        refused = await decided(playing, "revert_task", id="a")
        assert conflict in refused
        assert "`revert a --by-agent` adds a task for an agent" in refused
        await decided(playing, "revert_task", id="a", by_agent=True)
        hold.release()
        result = await playing.result()
    assert states(result)["revert-a"] == ("merged", 1)
    assert conflict in world.heard("dev.revert-a.1", 1)
