"""The turns beneath an agent's checkpoint, and what its work is based on."""

import pytest

from activities.ports.merge_values import Rebase, TaskCommit
from tests.unit.activities.adapters.git.home import SESSION, WHEN, Home, write
from workflows.domain.ids import Commit, TaskId

TASK = TaskId("t")
OTHER = TaskId("other")


def ref(agent: str) -> str:
    return f"refs/blueflame/{SESSION}/agents/{agent}"


async def turn(home: Home, agent: str, number: int, parent: Commit) -> Commit:
    """Write something and record it as an agent's turn."""
    write(home.top / "host" / "worktrees" / ("k" * 32) / "t1", {"f": f"{agent} {number}\n"})
    async with home.host.lock("t1"):
        collected = await home.host.collect("t1")
        request = home.request(
            "t1",
            collected,
            ref=ref(agent),
            task=agent,
            turn=number,
            previous=None if number == 1 else parent,
            parent=parent,
        )
        return await home.host.checkpoint(request)


async def found(home: Home, agent: str) -> tuple[list[tuple[str, int]], Commit] | None:
    """Return the turns beneath an agent's ref, and the base."""
    recorded = await home.host.recorded_turns(ref(agent), SESSION, TASK)
    if recorded is None:
        return None
    return [(each.agent, each.turn) for each in recorded.turns], recorded.base


async def test_each_turn_is_found_down_to_the_base(home: Home) -> None:
    home.make({"a.txt": "one\n"})
    place = await home.start()
    assert place.name == "t1"
    assert await found(home, "dev.t.1") is None
    first = await turn(home, "dev.t.1", 1, home.base)
    await turn(home, "dev.t.1", 4, first)
    assert await found(home, "dev.t.1") == ([("dev.t.1", 4), ("dev.t.1", 1)], home.base)


async def test_an_attempt_upon_earlier_checkpoints_has_their_base(home: Home) -> None:
    home.make({"a.txt": "one\n"})
    await home.start()
    first = await turn(home, "dev.t.1", 1, home.base)
    await turn(home, "dev.t.2", 1, first)
    assert await found(home, "dev.t.2") == ([("dev.t.2", 1), ("dev.t.1", 1)], home.base)


@pytest.mark.parametrize("how", ["submitted", "moved"])
async def test_below_earlier_work_that_was_submitted_or_moved_is_the_base(
    home: Home, how: str
) -> None:
    home.make({"a.txt": "one\n"})
    await home.start()
    earlier = await turn(home, "dev.t.1", 1, home.base)
    if how == "submitted":
        tree = await home.host.tree_of(earlier)
        trailers = (("Blueflame-Session", SESSION), ("Blueflame-Task", TASK))
        task = TaskCommit(base=home.base, tree=tree, message="T", trailers=trailers, when=WHEN)
        start = await home.host.squash(task)
    else:
        asked = Rebase(
            base=home.base,
            work=earlier,
            work_base=home.base,
            message=f"T\n\nBlueflame-Session: {SESSION}",
            when=WHEN,
        )
        start = (await home.host.rebase(asked)).commit
    await turn(home, "dev.t.2", 1, start)
    assert await found(home, "dev.t.2") == ([("dev.t.2", 1)], home.base)


async def test_another_tasks_commit_is_a_base(home: Home) -> None:
    home.make({"a.txt": "one\n"})
    await home.start()
    tree = await home.host.tree_of(home.base)
    trailers = (("Blueflame-Session", SESSION), ("Blueflame-Task", OTHER))
    head = await home.host.squash(
        TaskCommit(base=home.base, tree=tree, message="T", trailers=trailers, when=WHEN)
    )
    await turn(home, "dev.t.1", 1, head)
    assert await found(home, "dev.t.1") == ([("dev.t.1", 1)], head)
