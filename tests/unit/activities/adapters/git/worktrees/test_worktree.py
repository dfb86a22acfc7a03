"""Worktrees: made whole or made again, held by one, brought back exactly, removed whole."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from activities.adapters.git.bare_repository import checked_name
from activities.adapters.git.repository_locks import exclusive
from activities.ports.git_errors import StateDamagedError, WorktreeMissingError
from tests.unit.activities.adapters.git.home import GIT, Home, names, plain_git, write
from tests.waiting import ends
from workflows.domain.ids import Commit


def inside(home: Home, *arguments: str) -> str:
    """Run plain git in the worktree as an agent would."""
    return plain_git(home.top / "host/worktrees" / ("k" * 32) / "t1", *arguments)


def admin(home: Home, name: str = "t1") -> Path:
    """The worktree's own git directory."""
    return home.top / "host/repositories" / f"{'k' * 32}.git" / "worktrees" / name


async def test_a_worktree_is_locked_and_detached_at_the_commit(home: Home):
    home.make({"a.txt": "one\n", "x.sh": "y"})
    (home.path / "x.sh").chmod(0o755)
    home.commit({})
    place = await home.start()
    assert inside(home, "status", "--porcelain") == ""
    assert inside(home, "rev-parse", "HEAD") == home.base
    assert (place / "x.sh").stat().st_mode & 0o100
    assert (admin(home) / "locked").exists()
    assert (admin(home) / "HEAD").read_text() == f"{home.base}\n"


async def test_creating_a_complete_worktree_again_keeps_its_files(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    write(place, {"a.txt": "work\n"})
    await home.host.create_worktree("t1", home.base)
    assert (place / "a.txt").read_text() == "work\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", ["state", "git", "admin", "index", "tree", "only_tree"])
async def test_a_half_made_worktree_is_created_again(home: Home, damage: str):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    made = home.top / "host/state" / ("k" * 32) / "t1/made"
    match damage:
        case "state":
            made.unlink()
        case "git":
            (place / ".git").unlink()
        case "admin":
            shutil.rmtree(admin(home))
        case "index":
            (admin(home) / "index").unlink()
        case "tree":
            shutil.rmtree(place)
        case _:
            made.unlink()
            shutil.rmtree(admin(home))
    write(place, {"left": "over"})
    await home.host.create_worktree("t1", home.base)
    assert names(place) == [".git", "a.txt"]
    assert inside(home, "status", "--porcelain") == ""
    assert names(admin(home).parent) == ["t1"]


async def test_many_are_made_at_once(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    many = [f"w{number}" for number in range(8)]
    await asyncio.gather(*(home.host.create_worktree(name, home.base) for name in many))
    assert names(admin(home).parent) == sorted(["t1", *many])


async def test_removing_takes_everything_and_may_be_repeated(home: Home):
    home.make({"a.txt": "one\n", ".gitignore": "cache/\n"})
    place = await home.start()
    write(place, {"cache/shut/file": "x", "n/.git/config": "x"})
    (place / "cache/shut").chmod(0o500)
    (place / "cache").chmod(0)
    for _ in range(2):
        await home.host.remove_worktree("t1")
        assert not place.exists()
        assert not admin(home).exists()
    async with home.host.lock("t1"):
        with pytest.raises(WorktreeMissingError):
            await home.host.collect("t1")


@pytest.mark.parametrize(
    "name", ["", "A", "../x", "a/b", "a..b", "x.lock", ".a", "a.", "a b", "x" * 201]
)
def test_rejects_other_worktree_names(name: str):
    with pytest.raises(ValueError, match="worktree name"):
        checked_name(name)


@pytest.mark.parametrize("name", ["a", "task-1.2", "0_x", "a.b.c"])
def test_ordinary_names_pass(name: str):
    assert checked_name(name) == name


async def test_the_lock_is_exclusive_and_calls_while_it_waits(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    waits: list[int] = []
    free = asyncio.Event()

    async def second() -> list[int]:
        async with Home(home.top).host.lock("t1", lambda: (waits.append(1), free.set())[0]):
            return list(waits)

    async with home.host.lock("t1"):
        waiting = asyncio.create_task(second())
        await ends(free.wait(), "the second one waits for the lock")
        assert not waiting.done()
    assert await waiting


async def test_a_child_that_inherited_the_lock_keeps_it(tmp_path: Path):
    path = tmp_path / "lock"
    async with exclusive(path) as descriptor:
        child = await asyncio.create_subprocess_exec(
            "cat", stdin=asyncio.subprocess.PIPE, pass_fds=(descriptor,)
        )
    waited, is_told = asyncio.Event(), asyncio.Event()

    async def second() -> bool:
        async with exclusive(path, waited.set):
            return is_told.is_set()

    waiting = asyncio.create_task(second())
    await ends(waited.wait(), "the second one waits for the lock")
    is_told.set()
    await child.communicate(b"")
    assert await waiting


async def test_waiting_for_the_lock_can_be_cancelled(tmp_path: Path):
    async with exclusive(tmp_path / "lock"):
        waited = asyncio.Event()

        async def second() -> None:
            async with exclusive(tmp_path / "lock", waited.set):
                raise AssertionError

        waiting = asyncio.create_task(second())
        await ends(waited.wait(), "the second one waits for the lock")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_lock_that_no_one_can_use_is_reported_at_once(tmp_path: Path):
    """Field report G41."""
    (tmp_path / "lock").symlink_to("elsewhere")
    (tmp_path / "file").touch()
    for path in (tmp_path / "lock", tmp_path / "file" / "lock"):
        with pytest.raises(StateDamagedError, match="delete it while no session"):
            async with exclusive(path):
                raise AssertionError


async def test_a_lock_that_was_closed_is_opened_again(home: Home):
    """Field report G41."""
    home.make({"a.txt": "one\n"})
    place = await home.start()
    lock = home.top / "host" / "locks" / ("k" * 32) / "t1"
    lock.chmod(0)
    write(place, {"a.txt": "two\n"})
    assert len((await home.collect()).changes) == 1


async def test_taking_the_lock_removes_locks_of_the_dead(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    (admin(home) / "index.lock").touch()
    write(place, {"a.txt": "two\n"})
    assert len((await home.collect()).changes) == 1


async def mess(home: Home, place: Path) -> None:
    """All that an agent can leave behind."""
    write(place, {"a.txt": "changed\n", "d/e/new": "x", "cache/keep": "k", "untracked/x": "x"})
    (place / "d/b.txt").unlink()
    (place / "run.sh").chmod(0o644)
    (place / "link").unlink()
    (place / "link").mkdir()
    os.mkfifo(place / "link/pipe")
    os.mkfifo(place / "pipe")
    (place / "file").unlink()
    (place / "file").mkdir()
    plain_git(place / "file", "init", "-q")
    (place / "swap/x").unlink()
    (place / "swap").rmdir()
    (place / "swap").symlink_to("d")
    (place / "outside").symlink_to(home.top)
    write(place, {"shut/inner/x": "x"})
    (place / "shut/inner").chmod(0o500)
    (place / "shut").chmod(0)
    (place / "empty").mkdir()
    write(place, {".gitignore": "*\n"})


async def test_restoring_is_exact_whatever_was_left(home: Home):
    files: dict[str, str | bytes] = {
        "a.txt": "one\n",
        "d/b.txt": "two\n",
        "run.sh": "x",
        "file": "f",
        "swap/x": "s",
        ".gitignore": "cache/\n",
    }
    home.make(files)
    (home.path / "run.sh").chmod(0o755)
    (home.path / "link").symlink_to("a.txt")
    home.commit({})
    (home.top / "bystander").write_text("untouched")
    place = await home.start()
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
        await mess(home, place)
        await home.host.restore("t1", home.base)
        collected = await home.host.collect("t1")
    assert collected.tree == home.run("rev-parse", "HEAD^{tree}")
    assert (collected.changes, collected.findings) == ((), ())
    found = {str(path.relative_to(place)) for path in place.rglob("*") if not path.is_dir()}
    assert found == {*files, "link", ".git", "cache/keep"}
    assert not (place / "empty").exists()
    assert (home.top / "bystander").read_text() == "untouched"


async def test_restoring_goes_back_to_a_checkpoint_after_a_kill(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
        write(place, {"a.txt": "first\n", "b.txt": "first\n"})
        collected = await home.host.collect("t1")
        first = await home.host.checkpoint(home.request("t1", collected))
        await home.host.restore("t1", first)
        write(place, {"a.txt": "half a tur"})
        (place / "b.txt").unlink()
        await home.host.collect("t1")
    again = Home(home.top)
    async with again.host.lock("t1"):
        await again.host.restore("t1", first)
    assert (place / "a.txt").read_text() == "first\n"
    assert (place / "b.txt").read_text() == "first\n"


async def test_restoring_repairs_a_broken_index(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
        (admin(home) / "index").write_bytes(b"DIRC broken")
        write(place, {"a.txt": "two\n"})
        await home.host.restore("t1", home.base)
        assert (await home.host.collect("t1")).tree == home.run("rev-parse", "HEAD^{tree}")
    assert (place / "a.txt").read_text() == "one\n"


async def test_restoring_empties_and_makes_submodule_folders(home: Home):
    home.make({"a.txt": "one\n"})
    home.run("update-index", "--add", "--cacheinfo", f"160000,{home.base},sub")
    home.run("update-index", "--add", "--cacheinfo", f"160000,{home.base},sub2")
    home.run("commit", "-q", "-m", "links")
    home.base = Commit(home.run("rev-parse", "HEAD"))
    place = await home.start()
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
        write(place, {"sub/x": "x"})
        (place / "sub2").rmdir()
        await home.host.restore("t1", home.base)
        assert (await home.host.collect("t1")).findings == ()
    assert names(place / "sub") == names(place / "sub2") == []


def test_git_is_recent_enough():
    # merge-tree --write-tree came with 2.38, worktree list -z with 2.36.
    version = subprocess.run([GIT, "version"], capture_output=True, check=True).stdout.split()[2]
    assert tuple(int(part) for part in version.split(b".")[:2]) >= (2, 38)
