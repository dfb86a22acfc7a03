"""A kill between any two commands, then everything again: the end is the same.

The process dies as a double of the command that runs no further; what the dead one held is let go,
as the system does it. A kill inside a command leaves git's own lock files, which are tested apart.
"""

import os
import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.git.git_command import Completed, Git, Scope
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.repository_cleanup import Cleanup
from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.ports.history_values import HistoryImport, HistoryPart
from activities.ports.merge_values import MergePart, TaskCommit
from activities.ports.user_repository import FastForwardRequest, HandOver, LandRequest
from tests.unit.activities.adapters.git.home import (
    BRANCH,
    GIT,
    RESULT,
    SESSION,
    WHEN,
    Home,
    names,
    write,
)
from workflows.domain.ids import Commit


class Killed(BaseException):
    """The process is dead."""


class Mortal(Git):
    """Dies before or after the n-th command."""

    def __init__(self, lives: int, *, is_after: bool) -> None:
        super().__init__(GIT)
        self.lives = lives
        self._is_after = is_after

    async def run(
        self,
        scope: Scope,
        *arguments: str | bytes,
        stdin: bytes = b"",
        accept: tuple[int, ...] = (0,),
    ) -> Completed:
        self.lives -= 1
        if self.lives <= 0 and not (self._is_after and self.lives == 0):
            raise Killed
        done = await super().run(scope, *arguments, stdin=stdin, accept=accept)
        if self.lives == 0:
            raise Killed
        return done


async def session(home: Home, git: Git) -> Commit:
    """One whole small session: base, worktree, turn, task commit, merge, landing."""
    host = GitHostRepository(git, home.top / "host", "k" * 32)
    user = GitUserRepository(git, home.person)
    await imported(home, host, user)
    place = (await host.create_worktree("t1", home.base)).path
    async with host.lock("t1"):
        await host.restore("t1", home.base)
        write(place, {"a.txt": "two\n", "n/new.txt": "x\n"})
        (place / "b.txt").unlink(missing_ok=True)
        collected = await host.collect("t1")
        await host.checkpoint(home.request("t1", collected))
    task = await host.squash(
        TaskCommit(base=home.base, tree=collected.tree, message="Work", when=WHEN)
    )
    merged = await host.merge(home.base, (MergePart(commit=task, message="m"),), WHEN)
    assert merged.kind == "merged"
    await host.advance(RESULT, merged.commit, None)
    await host.create_worktree("gate", merged.commit)
    bundle = await host.bundle(RESULT, home.base)
    land = LandRequest(path=home.path, bundle=bundle, ref=BRANCH, old=None, new=merged.commit)
    assert (await user.land(land)).kind == "landed"
    forward = FastForwardRequest(path=home.path, branch="main", old=home.base, new=merged.commit)
    assert (await user.fast_forward(forward)).kind == "landed"
    await host.remove_worktree("gate")
    await host.remove_worktree("t1")
    return merged.commit


async def imported(home: Home, host: GitHostRepository, user: GitUserRepository) -> None:
    """The base straight from the person's repository into the host's."""
    waiting = await host.await_base(home.base)
    if not waiting.is_there:
        bare = home.top / "host/repositories" / f"{'k' * 32}.git"
        await user.bring(home.path, HistoryPart(home.base, waiting.known), bare)
    await host.import_base(HistoryImport(home.base, SESSION))


async def undisturbed(home: Home) -> tuple[Commit, int]:
    """The session without a kill, and how many commands it takes."""
    counting = Mortal(10_000, is_after=False)
    commit = await session(home, counting)
    return commit, 10_000 - counting.lives


@pytest.mark.slow
async def test_a_kill_at_any_command_changes_nothing_at_the_end(tmp_path: Path):
    model = Home(tmp_path / "model")
    model.top.mkdir()
    model.make({"a.txt": "one\n", "b.txt": "gone\n"})
    seed = tmp_path / "seed"
    shutil.copytree(model.top, seed, symlinks=True)
    expected, commands = await undisturbed(model)
    assert commands > 30
    for number in range(1, commands + 1, 5):
        home = Home(tmp_path / f"{number}")
        shutil.copytree(seed, home.top, symlinks=True)
        home.base = model.base
        # One killed before, the next one after its command; then one that is let finish.
        for mortal in (Mortal(number, is_after=False), Mortal(number + 1, is_after=True)):
            with suppress(Killed):
                await session(home, mortal)
        assert await session(home, Git(GIT)) == expected
        assert home.run("rev-parse", "main", BRANCH).split() == [expected, expected]
        assert home.run("status", "--porcelain") == ""
        assert names(home.path) == [".git", "a.txt", "n"]
        assert names(home.top / "host/worktrees" / ("k" * 32)) == []
        shutil.rmtree(home.top)


async def test_a_kill_during_a_hand_over_is_made_good_by_the_next(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    bare, incoming = home.top / "host/repositories" / f"{'k' * 32}.git", tmp_path / "incoming"
    handing = HandOver(tmp_path, incoming, os.getuid(), os.getgid())
    waiting = await home.host.await_base(home.base)
    for lives in (1, 2, 3):
        user = GitUserRepository(Mortal(lives, is_after=True), home.person)
        with pytest.raises(Killed):
            await user.bring(home.path, HistoryPart(home.base, waiting.known), bare, handing)
        assert list((bare / "objects/pack").iterdir()) == []
    await home.user.bring(home.path, HistoryPart(home.base, waiting.known), bare, handing)
    (index,) = (bare / "objects/pack").glob("*.idx")
    index.unlink()  # as if killed between the pack and its index
    await home.user.bring(home.path, HistoryPart(home.base, waiting.known), bare, handing)
    await home.host.import_base(HistoryImport(home.base, SESSION))
    home.of_host("fsck", "--strict")


async def test_a_kill_during_a_clean_up_loses_nothing(tmp_path: Path):
    """What a session still names stays whole; the next clean-up does what this one left."""
    model = Home(tmp_path / "model")
    model.top.mkdir()
    model.make({"a.txt": "one\n"})
    merged = await session(model, Git(GIT))
    model.of_host("update-ref", "-d", RESULT, merged)
    seed = tmp_path / "seed"
    shutil.copytree(model.top, seed, symlinks=True)
    later = WHEN + timedelta(days=3650)
    for number in (1, 2, 3):
        for is_idle in (True, False):
            home = Home(tmp_path / f"{number}.{is_idle}")
            shutil.copytree(seed, home.top, symlinks=True)
            half = home.top / "host/repositories" / f"{'k' * 32}.git" / "objects/pack/tmp_pack_x"
            half.write_bytes(b"half a pack")
            os.utime(half, (0, 0))
            with suppress(Killed):
                mortal = Mortal(number, is_after=number == 3)
                await Cleanup(mortal, home.top / "host", "k" * 32).prune(later, is_idle=is_idle)
            home.of_host("fsck", "--connectivity-only")
            await Cleanup(home.git, home.top / "host", "k" * 32).prune(later, is_idle=is_idle)
            home.of_host("fsck", "--connectivity-only")
            assert await home.host.read_file(model.base, "a.txt") == b"one\n"
            assert await home.host.tip(RESULT) is None
            assert not half.exists()
            found = home.of_host("cat-file", "--batch-all-objects", "--batch-check")
            assert merged not in found
