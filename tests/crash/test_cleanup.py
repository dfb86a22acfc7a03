"""Many sessions, then a clean-up with a retention of zero: only what is proven merged goes."""

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from activities.adapters.git.git_command import Git
from activities.adapters.git.repository_cleanup import Cleanup, repositories
from benchmarks import many_sessions
from starter.machine.cleaning.cleanup_request import Cleaned, clean_up
from tests.crash import play
from tests.crash.kills import Handle
from tests.crash.stage import Stage, stage
from tests.waiting import LONG_PATIENCE, ends, until
from workers.hosting.host_wiring import git_program
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import Approvals

SMALL = play.playbook({"left": ()}, turns=1)
ASK: Final = Approvals(plan="auto", changeset="ask")
AT_ONCE: Final = 3
FAN_OUT: Final = re.compile(r"store/[0-9a-f]{2}")


@dataclass(frozen=True)
class Left:
    """What is on the host's disk, by session."""

    worktrees: frozenset[str]
    refs: frozenset[str]


async def left(stage: Stage) -> Left:
    """Look at the host's disk."""
    worktrees, refs = set[str](), set[str]()
    for key in repositories(stage.settings.host_dir):
        cleanup = Cleanup(Git(git_program()), stage.settings.host_dir, key)
        worktrees |= {each.session for each in cleanup.worktrees()}
        refs |= set(await cleanup.refs())
    return Left(frozenset(worktrees), frozenset(refs))


async def merged(stage: Stage, repository: Path, count: int) -> None:
    """Play sessions that merge all of their work."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with turns:
            handle = await play.start(stage.client, repository)
            result = await ends(handle.result(), "the session ends", LONG_PATIENCE)
            assert result.outcome == "complete"

    await asyncio.gather(*(one() for _ in range(count)))


async def stopped(stage: Stage, repository: Path) -> str:
    """Play a session whose work waits for a person, who stops it; return its id."""
    handle: Handle = await play.start(stage.client, repository, approvals=ASK)

    async def waits() -> bool:
        view = await handle.query("state", result_type=SessionView)
        return "waits for approval" in view.reason

    await until(waits, "the work waits for approval", LONG_PATIENCE)
    await handle.signal("stop", {"by": "somebody"})
    await ends(handle.result(), "the session ends", LONG_PATIENCE)
    return handle.id.partition("/")[2]


async def cleaned(stage: Stage, *, dry_run: bool = False) -> Cleaned:
    nothing = timedelta(0)
    return await clean_up(stage.client, stage.settings, nothing, dry_run=dry_run, only_merged=True)


async def leaves_nothing_but_what_is_not_merged(folder: Path, count: int) -> None:
    async with stage(folder, SMALL) as running:
        repository = await asyncio.to_thread(play.make_repository, folder / "repo")
        kept = await stopped(running, repository)
        await merged(running, repository, count)
        reports = running.settings.data_dir / "reports"
        reports.mkdir()
        before = await left(running)
        assert len(before.refs) == count + 1
        for session in before.refs:
            (reports / f"{session}.html").write_text("a report")

        async def are_listed() -> bool:
            seen = await cleaned(running, dry_run=True)
            return seen.open_sessions == 0 and len(seen.host.sessions) == count

        await until(are_listed, "the server lists all ends", LONG_PATIENCE)
        planned = await cleaned(running, dry_run=True)
        assert await left(running) == before
        done = await cleaned(running)
        assert done.host.sessions == planned.host.sessions
        assert (done.host.failed, done.host.busy) == ((), ())
        found = await left(running)
        assert found.refs == {kept}
        assert found.worktrees <= {kept}
        assert [path.stem for path in reports.iterdir()] == [kept]
        reason = "it ended as stopped, so not all of its work is proven merged"
        assert done.kept == planned.kept == {kept: reason}
        play.git(repository, "fsck", "--strict")
        branches = play.git(repository, "branch", "--list", "blueflame/*").split()
        assert len(branches) == count

        async def are_forgotten() -> bool:
            query = 'WorkflowType = "SessionWorkflow"'
            names = {each.id async for each in running.client.list_workflows(query)}
            return names == {f"session/{kept}"}

        await until(are_forgotten, "the server forgets the merged sessions", LONG_PATIENCE)


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_merged_sessions_go_whole_and_unmerged_work_stays(tmp_path: Path) -> None:
    await leaves_nothing_but_what_is_not_merged(tmp_path, 3)


async def figures_of(folder: Path, sessions: int) -> dict[str, Any]:
    """Play sessions and clean up, as the benchmark does, without its waits."""

    async def a_minute_passes() -> None:
        await asyncio.to_thread(age, folder / "data")

    return await many_sessions.measure(folder, sessions, a_minute_passes)


def age(data: Path) -> None:
    """Let what is on the host's disk and in the store look as if it was not used for a while."""
    then = time.time() - 120
    for place in (data / "host", data / "store"):
        for path in (place, *place.rglob("*")):
            with contextlib.suppress(FileNotFoundError):
                os.utime(path, (then, then), follow_symlinks=False)


def check_nothing_is_left(figures: Mapping[str, Any]) -> None:
    """Check all but sizes: nothing of sessions is left, nothing unmerged was lost."""
    for name in ("refs_left", "histories_left", "unmerged_lost", "merged_lost", "fsck"):
        assert (name, figures[name]) == (name, 0)
    assert figures["least_freed_bytes"] >= 0
    # The store's 256 folders stay, as a writer may be about to use one.
    assert [each for each in figures["entries_left"] if not FAN_OUT.fullmatch(each)] == []


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_no_folder_grows_with_sessions_that_are_cleaned_up(tmp_path: Path) -> None:
    figures = await figures_of(tmp_path, 4)
    check_nothing_is_left(figures)
    # Too little is free in the database to give it back.
    assert figures["grown"].keys() <= {"", *many_sessions.DATABASE}


@pytest.mark.crash
@pytest.mark.timeout(3600)
async def test_after_two_hundred_sessions_everything_has_its_size_of_the_start(
    tmp_path: Path,
) -> None:
    figures = await figures_of(tmp_path, 200)
    check_nothing_is_left(figures)
    assert figures["grown"] == {}
