"""Many small sessions, then a clean-up with an age of zero: does the disk return to its start?

Sessions run three at a time with the bundled server and a scripted model. One in twenty is stopped
while its work waits for approval. The clean-up that keeps such work comes first, then the person's
`cleanup --older-than 0d`, and once more a minute later, for the repository that is empty by then.
Sizes are taken after the server has been restarted, which gives the disk back what its database no
longer uses. The start is the size after a first such round of three sessions.

Keys of the last line:
    sessions            how many there were
    seconds             wall time of the sessions
    start_mb, most_mb, end_mb   the data directory before, after the sessions, and after clean-up
    database_start_mb, database_most_mb, database_end_mb   the server's database in it; with
                        `used`: without its free pages
    growth_pct          the most by which a folder, or the database, is larger than at the start
    grown               every folder that is more than 5 % larger, and more than one block of the
                        disk (4 kB), with its bytes before and after
    least_freed_bytes   the least that a clean-up gained in the host's repositories: never below 0
    entries_left        files and folders that were not there at the start
    refs_left           refs of sessions in the host's repositories
    histories_left      workflows that the server still knows
    unmerged_lost       stopped sessions of which the first clean-up took a ref or an object
    merged_lost         complete sessions whose branch the person's repository lacks
    fsck                `git fsck --strict` of the person's repository: 0 is clean
"""

import argparse
import asyncio
import contextlib
import os
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from temporalio.client import Client

from activities.adapters.git.git_command import Git
from activities.adapters.git.repository_cleanup import Cleanup, repositories, size_of
from benchmarks.stage import (
    ROUTES,
    approving_scene,
    git,
    make_repository,
    report,
    serving,
    settings_in,
)
from starter.machine.cleaning.cleanup_request import Cleaned, clean_up
from starter.sessions.session_client import Sessions
from starter.sessions.short_ids import make_id
from workers.hosting.host_wiring import git_program
from workers.settings import Settings
from workers.temporal.connection import connect
from workflows.domain.ids import Commit, SessionId
from workflows.domain.plan import Plan, Task
from workflows.domain.session.session_config import Approvals, SessionConfig
from workflows.domain.session.session_start import SessionRequest

AT_ONCE: Final = 3
_STOPPED_EACH: Final = 20
_FIRST: Final = 3
"""Sessions of the first round, after which the start is measured."""
_ALLOWED: Final = 1.05
_BLOCK: Final = 4096
"""Bytes. Files take whole blocks on disk, so one more byte may take one more block."""
_QUIET: Final = timedelta(minutes=1, seconds=5)
"""What was used within the last minute stays: it may belong to a session that is just starting."""
_WAIT_SECONDS: Final = 0.5
_LONGEST: Final = 600.0
_DATABASE: Final = "temporal.db"
_USED: Final = "temporal.db, without free pages"
DATABASE: Final = (_DATABASE, _USED)
"""What sizes are called that are no folder's."""


@dataclass
class Played:
    """What the sessions came to."""

    complete: list[SessionId] = field(default_factory=list[SessionId])
    stopped: list[SessionId] = field(default_factory=list[SessionId])


class Round(NamedTuple):
    """Sessions, and the clean-up after them."""

    played: Played
    seconds: float
    most: Mapping[str, int]
    """The sizes when the sessions had ended."""
    end: Mapping[str, int]
    unmerged_lost: int
    histories_left: int
    least_freed: int
    """The least that any of the clean-ups gained in repositories, in bytes."""


def playbook() -> dict[str, Any]:
    """Return a developer that writes one file, and a reviewer that approves it."""
    write = {"calls": [{"write": {"path": "made/work.txt", "content": "work\n"}}]}
    submit = {"calls": [{"submit": {"summary": "made"}}]}
    developer = {"role": "developer", "turns": [write, submit]}
    return {
        "schema": 1,
        "name": "many",
        "usage": {"input_tokens": 1_000, "output_tokens": 100},
        "scenes": [developer, approving_scene()],
    }


def _request(repository: Path, *, is_stopped: bool) -> SessionRequest:
    task = Task.model_validate(
        {"id": "work", "title": "Work", "acceptance_criteria": ["1"], "claims": ["made/**"]}
    )
    approvals = Approvals(
        plan="auto", changeset="ask" if is_stopped else "auto_if_green", unjudged="allow"
    )
    config = SessionConfig(routes=ROUTES, approvals=approvals, gates=(), on_cap="stop")
    return SessionRequest(
        session=make_id(),
        goal="work",
        repository=str(repository),
        config=config,
        plan=Plan(summary="work", tasks=(task,)),
    )


async def play(client: Client, repository: Path, count: int) -> Played:
    """Play so many sessions, a few at a time."""
    sessions, turns, played = Sessions(client), asyncio.Semaphore(AT_ONCE), Played()

    async def one(number: int) -> None:
        request = _request(repository, is_stopped=number % _STOPPED_EACH == 0)
        async with turns:
            await sessions.start(request)
            if number % _STOPPED_EACH == 0:
                await _until_it_waits(sessions, request.session)
                await sessions.signal(request.session, "stop", {"by": "benchmark"})
            handle = client.get_workflow_handle(request.workflow_id)
            outcome = (await handle.result())["outcome"]
        if outcome == "complete":
            played.complete.append(request.session)
        elif outcome == "stopped":
            played.stopped.append(request.session)
        else:
            raise RuntimeError(f"session {request.session!r} ended {outcome!r}")

    await asyncio.gather(*(one(number) for number in range(count)))
    return played


async def _until_it_waits(sessions: Sessions, session: SessionId) -> None:
    for _ in range(round(_LONGEST / _WAIT_SECONDS)):
        if "waits for approval" in (await sessions.view(session)).reason:
            return
        await asyncio.sleep(_WAIT_SECONDS)
    raise TimeoutError(session)


# --- what is on disk ------------------------------------------------------------------------------


def sizes(data: Path) -> dict[str, int]:
    """Return the bytes on disk of the data directory, its folders, theirs, and the database."""
    found = {"": size_of(data), _DATABASE: _database(data), _USED: _used(data)}
    for place in (*data.iterdir(), *(data / "host").glob("*")):
        if place.is_dir():
            found[str(place.relative_to(data))] = size_of(place)
    return found


def _database(data: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in data.rglob(f"{_DATABASE}*"))


def _used(data: Path) -> int:
    """Return the bytes of the database's pages that are not free."""
    total = 0
    for path in data.rglob(_DATABASE):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            page, pages, free = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_size", "page_count", "freelist_count")
            )
            total += page * (pages - free)
    return total


def entries(data: Path) -> set[str]:
    """Return every file and folder of the data directory."""
    return {
        str((Path(folder) / name).relative_to(data))
        for folder, folders, files in os.walk(data)
        for name in (*folders, *files)
    }


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return what is more than 5 %, and more than a block, larger than before; both sizes."""
    return {
        name: (before.get(name, 0), size)
        for name, size in after.items()
        if size > before.get(name, 0) * _ALLOWED and size > before.get(name, 0) + _BLOCK
    }


def growth_pct(before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """Return the most by which anything is larger than before; 100 for what was empty then."""
    shares = [
        100 * (size - before.get(name, 0)) / (before.get(name, 0) or size)
        for name, size in after.items()
        if size
    ]
    return round(max(shares), 1)


async def refs(settings: Settings) -> dict[str, dict[str, Commit]]:
    """Return the refs of sessions in the host's repositories whose commits are whole."""
    found: dict[str, dict[str, Commit]] = {}
    for key in repositories(settings.host_dir):
        of = await Cleanup(Git(git_program()), settings.host_dir, key).refs()
        bare = settings.host_dir / "repositories" / f"{key}.git"
        for session, named in of.items():
            whole = {ref: commit for ref, commit in named.items() if _is_whole(bare, commit)}
            found.setdefault(session, {}).update(whole)
    return found


def _is_whole(bare: Path, commit: Commit) -> bool:
    walked = subprocess.run(
        ["git", "-c", "safe.directory=*", "rev-list", "--objects", "--quiet", commit],
        cwd=bare,
        check=False,
        capture_output=True,
    )
    return walked.returncode == 0


# --- clean-up -------------------------------------------------------------------------------------


async def _until_done(client: Client) -> None:
    """Wait until nothing runs any more, also beside the sessions."""
    running = 'ExecutionStatus = "Running" AND WorkflowId STARTS_WITH "session/"'
    for _ in range(round(_LONGEST / _WAIT_SECONDS)):
        if not [each async for each in client.list_workflows(running)]:
            return
        await asyncio.sleep(_WAIT_SECONDS)
    raise TimeoutError("a part of a session still runs")


async def cleaned(client: Client, settings: Settings, *, only_merged: bool, count: int) -> Cleaned:
    """Clean up, once the server lists the ends of so many sessions."""
    nothing = timedelta(0)
    for _ in range(round(_LONGEST / _WAIT_SECONDS)):
        seen = await clean_up(client, settings, nothing, dry_run=True, only_merged=only_merged)
        if seen.open_sessions == 0 and len(seen.host.sessions) == count:
            break
        await asyncio.sleep(_WAIT_SECONDS)
    else:
        raise TimeoutError(f"the clean-up would not remove {count} sessions")
    return await clean_up(client, settings, nothing, dry_run=False, only_merged=only_merged)


async def _known_workflows(client: Client) -> int:
    return len([each async for each in client.list_workflows('WorkflowId STARTS_WITH "session/"')])


async def _until_forgotten(client: Client) -> int:
    """Wait until the server has deleted what it was told to; return how much it still knows."""
    known = await _known_workflows(client)
    for _ in range(round(_LONGEST / _WAIT_SECONDS)):
        if not known:
            break
        await asyncio.sleep(_WAIT_SECONDS)
        known = await _known_workflows(client)
    return known


async def rest() -> None:
    """Wait until nothing was used within the last minute."""
    await asyncio.sleep(_QUIET.total_seconds())


async def cleaned_round(
    settings: Settings, repository: Path, count: int, rest: Callable[[], Awaitable[None]]
) -> Round:
    """Play sessions, clean up after them, and let the server give its disk back."""
    async with serving(settings):
        client = await connect(settings)
        began = time.monotonic()
        played = await play(client, repository, count)
        seconds = time.monotonic() - began
        await _until_done(client)
        most, work = sizes(settings.data_dir), await refs(settings)
        await rest()
        merged = await cleaned(client, settings, only_merged=True, count=len(played.complete))
        kept = await refs(settings)
        lost = [each for each in played.stopped if kept.get(each) != work[each]]
        rest_of = await cleaned(client, settings, only_merged=False, count=len(played.stopped))
        left = await _until_forgotten(client)
        await rest()
        # The repository has no session any more, and goes once it was not used for a minute.
        emptied = await clean_up(client, settings, timedelta(0), dry_run=False)
    async with serving(settings):
        pass
    freed = min(each.host.repository_bytes for each in (merged, rest_of, emptied))
    return Round(played, seconds, most, sizes(settings.data_dir), len(lost), left, freed)


def _fsck(repository: Path) -> int:
    command = ["git", "fsck", "--strict", "--no-progress"]
    return subprocess.run(command, cwd=repository, check=False).returncode


async def measure(
    folder: Path, count: int, rest: Callable[[], Awaitable[None]] = rest
) -> dict[str, object]:
    """Play sessions in a folder, clean up, and return the figures.

    Args:
        folder: empty.
        count: of the sessions that are measured.
        rest: lets a minute pass.
    """
    settings = settings_in(folder, playbook())
    repository, data = make_repository(folder, 50), settings.data_dir
    before = (await cleaned_round(settings, repository, _FIRST, rest)).end
    known = entries(data)
    found = await cleaned_round(settings, repository, count, rest)
    branches = set(git(repository, "branch", "--format=%(refname:short)").split())
    fsck = await asyncio.to_thread(_fsck, repository)
    megabytes = {"start": before, "most": found.most, "end": found.end}
    complete = found.played.complete
    return {
        "sessions": count,
        "seconds": round(found.seconds),
        **{f"{name}_mb": round(of[""] / 1e6, 2) for name, of in megabytes.items()},
        **{f"database_{name}_mb": round(of[_DATABASE] / 1e6, 2) for name, of in megabytes.items()},
        **{f"database_used_{name}_mb": round(of[_USED] / 1e6, 2) for name, of in megabytes.items()},
        "growth_pct": growth_pct(before, found.end),
        "grown": grown(before, found.end),
        "least_freed_bytes": found.least_freed,
        "entries_left": sorted(entries(data) - known)[:50],
        "refs_left": sum(map(len, (await refs(settings)).values())),
        "histories_left": found.histories_left,
        "unmerged_lost": found.unmerged_lost,
        "merged_lost": sum(f"blueflame/{each}" not in branches for each in complete),
        "fsck": fsck,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="blueflame-bench-") as name:
        report(asyncio.run(measure(Path(name), options.sessions)))
