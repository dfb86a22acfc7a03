"""A host worker that stalls past its heartbeat while its command goes on, and another beside it.

To the server the first one is lost, so it gives the batch out again (to the second one, or into the
open poll of the first, which takes it when it wakes up). With the lock the batch has run once.
Without it, it has run twice: this test must be able to fail.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.crash import play
from tests.crash.stage import Stage, stage
from tests.waiting import LONG_PATIENCE, ends, shell_until, text_of, until
from workers.roles import Role
from workers.server.supervisor import worker_command

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600)]

BATCH = (
    "mkdir -p slow; cd slow; echo begun >> log.txt; echo x >> count.seen; n=$(wc -l < count.seen); "
    f"{shell_until('go$n.seen', seconds=int(LONG_PATIENCE))}; echo run >> log.txt"
)
"""`*.seen` is ignored, so it outlives the restoration before another run, and counts the runs."""


def unlocked_command(role: Role) -> Sequence[str]:
    assert role is Role.HOST
    return (sys.executable, "-P", "-m", "tests.crash.unlocked_host", "--roles", role)


async def _is_retried(running: Stage, session: str) -> bool:
    """Tell whether the server has given the batch out again."""
    query = f"WorkflowId STARTS_WITH '{session}/' AND WorkflowType = 'AgentWorkflow'"
    async for found in running.client.list_workflows(query):
        described = await running.client.get_workflow_handle(found.id).describe()
        for pending in described.raw_description.pending_activities:
            if pending.activity_type.name == "tools.run" and pending.attempt > 1:
                return True
    return False


async def _stalled(folder: Path, command: Callable[[Role], Sequence[str]]) -> list[str]:
    """Play the stall; return the log in the final tree, without the lock that in the worktree."""
    locks = command is worker_command
    async with stage(folder, play.stalling(BATCH), command) as running:
        repository = await asyncio.to_thread(play.make_repository, folder / "user")
        handle = await play.start(running.client, repository)
        log = await _worktree_log(running)
        slow = log.parent
        await until(
            lambda: log.exists() and log.read_text() == "begun\n",
            "the batch begins",
            seen=lambda: text_of(log),
        )
        first = running.actors[Role.HOST]
        first.send(signal.SIGSTOP)
        await running.understudy("second host", Role.HOST)
        await until(lambda: _is_retried(running, handle.id), "the batch is given out again")
        if not locks:
            count = slow / "count.seen"
            await until(
                lambda: len(count.read_text().split()) == 2,
                "the batch begins again",
                seen=lambda: text_of(count),
            )
        (slow / "go1.seen").touch()
        await until(
            lambda: "run" in log.read_text(),
            "the stalled host's command ends",
            seen=lambda: text_of(log),
        )
        (slow / "go2.seen").touch()
        if not locks:
            await until(
                lambda: log.read_text().count("run") == 2,
                "the second command ends",
                seen=lambda: text_of(log),
            )
            return log.read_text().split()  # the result of two writers is undefined
        first.send(signal.SIGCONT)
        result = await ends(handle.result(), "the session ends")
        return play.git(repository, "show", f"{result.branch}:slow/log.txt").split()


async def _worktree_log(running: Stage) -> Path:
    found: list[Path] = []

    def is_there() -> bool:
        worktrees = running.settings.host_dir / "worktrees"
        found[:] = worktrees.glob("*/*/slow/count.seen")
        return bool(found)

    await until(is_there, "the worktree is made")
    return found[0].parent / "log.txt"


async def test_a_stalled_host_and_its_replacement_run_a_batch_once(tmp_path: Path):
    assert await _stalled(tmp_path, worker_command) == ["begun", "run"]


async def test_without_the_lock_they_run_it_twice(tmp_path: Path):
    assert (await _stalled(tmp_path, unlocked_command)).count("run") == 2
