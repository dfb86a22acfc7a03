"""`stop` while something runs: it ends, its work is kept, and what was asked for is booked."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from starter.sessions.session_client import PREFIX
from tests.crash import play
from tests.crash.stage import Stage, stage
from tests.waiting import ends, until
from workflows.domain.session.session_values import SessionResult

SECONDS = f"987.{os.getpid()}"
"""Longer than a command or a test may take: only the stop can end it. No other process has it."""
COMMAND = f"mkdir -p slow; echo begun > slow/log.txt; sleep {SECONDS}"
SLEEPING = f"sleep\0{SECONDS}\0".encode()
CALL_USD = Decimal("0.00014")
"""What each answered call of the playbook costs: 1,000 tokens in, 100 out."""

pytestmark = pytest.mark.e2e


async def stopped(
    running: Stage, name: str, is_under_way: Callable[[], bool]
) -> tuple[str, SessionResult]:
    """Play until something is under way, and stop; return the session's id and its result."""
    repository = await asyncio.to_thread(play.make_repository, running.folder / name)
    handle = await play.start(running.client, repository)
    await until(is_under_way, "it is under way")
    await handle.signal("stop", {"by": "ann"})
    result = await ends(handle.result(), "the session ends")
    assert (result.outcome, result.reason) == ("stopped", "stopped by ann")
    assert [(task.id, task.state) for task in result.tasks] == [("slow", "cancelled")]
    return handle.id.removeprefix(PREFIX), result


async def test_r54_stop_ends_what_runs_keeps_its_work_and_books_it(tmp_path: Path):
    async with stage(tmp_path, play.stalling(COMMAND)) as running:
        await _a_command(running)
        running.simulator.play(play.silent(300))
        await _a_call(running)


async def _a_command(running: Stage) -> None:
    session, result = await stopped(running, "command", lambda: is_running(SLEEPING))
    await until(lambda: not is_running(SLEEPING), "the command has ended")
    (bare,) = running.settings.host_dir.glob("repositories/*.git")
    kept = f"refs/blueflame/{session}/agents/dev.slow.1:slow/log.txt"
    assert play.git(bare, "-c", "safe.bareRepository=all", "show", kept) == "begun"
    assert result.spent_usd == len(running.simulator.log.entries) * CALL_USD


async def _a_call(running: Stage) -> None:
    entries = running.simulator.log.entries
    _, result = await stopped(running, "call", lambda: len(entries) == 3)
    assert [entry.get("role") for entry in entries] == ["planner", "planner", "developer"]
    # In flight it may be billed: it counts at its quote, which is more than an answer costs.
    assert result.spent_usd > 3 * CALL_USD


def is_running(command: bytes) -> bool:
    """Say whether such a process lives on this machine."""
    found: list[bytes] = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(line.read_bytes())
    return any(each.startswith(command) for each in found)
