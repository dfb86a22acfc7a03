"""What an agent meets whose lock, worktree or repository on the host is damaged (field report G41).

Each damage is put right, or ends the attempt within five tries, which take 15 seconds.
"""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.activity_failures import TRIES_ON_DAMAGE
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.git_errors import GitCommandError
from tests.unit.activities.adapters.git.home import Home
from tests.unit.activities.test_tool_batches import KEY, Bench
from workflows.contracts.host_contracts import ToolsOutcome
from workflows.errors import FailureType


@pytest.fixture
async def bench(tmp_path: Path) -> Bench:
    made = Bench(Home(tmp_path), BubblewrapSandbox())
    await made.prepare()
    return made


async def tried(bench: Bench) -> ToolsOutcome:
    """Run a turn as often as Temporal would until it succeeds or is not to be retried."""
    for attempt in range(1, TRIES_ON_DAMAGE):
        with contextlib.suppress(OSError, GitCommandError):
            return await run(bench, attempt)
    return await run(bench, TRIES_ON_DAMAGE)


async def run(bench: Bench, attempt: int) -> ToolsOutcome:
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, attempt=attempt)
    request = bench.request("echo new >file.txt; ls")
    return await environment.run(bench.activities().run, request)


def host(bench: Bench) -> Path:
    return bench.home.top / "host"


def bare(bench: Bench) -> Path:
    return host(bench) / "repositories" / f"{KEY}.git"


def admin(bench: Bench) -> Path:
    return bare(bench) / "worktrees" / bench.name


def lock(bench: Bench) -> Path:
    return host(bench) / "locks" / KEY / bench.name


HEALED: dict[str, Callable[[Bench], object]] = {
    "the lock is closed": lambda bench: lock(bench).chmod(0),
    "the lock is full": lambda bench: lock(bench).write_bytes(b"x" * 10_000),
    "the worktree's .git is gone": lambda bench: (bench.path / ".git").unlink(),
    "the worktree's .git leads elsewhere": lambda bench: (bench.path / ".git").write_text(
        "gitdir: /"
    ),
    "the worktree is gone": lambda bench: shutil.rmtree(bench.path),
    "the worktree is closed": lambda bench: bench.path.chmod(0),
    "the index is gone": lambda bench: (admin(bench) / "index").unlink(),
    "the index is damaged": lambda bench: (admin(bench) / "index").write_bytes(b"DIRC" + bytes(60)),
    "a stale lock of git": lambda bench: (admin(bench) / "index.lock").touch(),
}
REPORTED: dict[str, Callable[[Bench], object]] = {
    "the repository is gone": lambda bench: shutil.rmtree(bare(bench)),
    "the repository is closed": lambda bench: bare(bench).chmod(0),
    "the repository has no HEAD": lambda bench: (bare(bench) / "HEAD").unlink(),
    "its objects are gone": lambda bench: shutil.rmtree(bare(bench) / "objects"),
    "its configuration is damaged": lambda bench: (bare(bench) / "config").write_text("[core"),
    "the lock is a link": lambda bench: (lock(bench).unlink(), lock(bench).symlink_to("x")),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", HEALED.values(), ids=HEALED)
async def test_is_put_right(bench: Bench, damage: Callable[[Bench], object]):
    damage(bench)
    outcome = await tried(bench)
    assert "file.txt" in outcome.observations[0].text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", REPORTED.values(), ids=REPORTED)
async def test_is_reported(bench: Bench, damage: Callable[[Bench], object]):
    damage(bench)
    with pytest.raises(ApplicationError) as failed:
        await tried(bench)
    assert failed.value.non_retryable
    assert failed.value.type in {FailureType.STATE_DAMAGED, FailureType.SANDBOX_UNAVAILABLE}
    assert str(host(bench)) in failed.value.message


async def test_an_agent_cannot_close_its_worktree_behind_itself(bench: Bench):
    close = "python3 -c 'import os; os.chmod(os.getcwd(), 0)'"
    first = await bench.run(bench.request(f"echo new >file.txt; {close}"))
    second = await bench.run(bench.request("cat file.txt", turn=2, at=first.checkpoint))
    assert second.observations[0].text.startswith("new\n")
