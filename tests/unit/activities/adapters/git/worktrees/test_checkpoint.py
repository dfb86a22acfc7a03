"""Checkpoints: recorded once, found again, carried to another host."""

import pytest

from activities.adapters.git.bare_repository import Bare, Layout
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.repository_cleanup import Cleanup
from activities.ports.git_errors import BundleError, GitCommandError, RefMovedError
from activities.ports.history_values import HistoryPart
from activities.ports.host_repository import Checkpoint
from tests.unit.activities.adapters.git.home import SESSION, Home, ToldGit, plain_git, write
from workflows.domain.ids import Commit, TaskId, Tree

REF = f"refs/blueflame/{SESSION}/tasks/t1/1"


async def record(home: Home, turn: int, previous: Commit | None, parent: Commit) -> Commit:
    """Collect and record one turn."""
    async with home.host.lock("t1"):
        collected = await home.host.collect("t1")
        return await home.host.checkpoint(
            home.request(
                "t1",
                collected,
                turn=turn,
                previous=previous,
                parent=parent,
                observations=b"seen %d \0\xff" % turn,
            )
        )


async def test_a_checkpoint_says_all_that_a_retry_needs(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    assert await home.host.read_checkpoint(REF) is None
    write(place, {"a.txt": "two\n"})
    first = await record(home, 1, None, home.base)
    write(place, {"b.txt": "three\n"})
    second = await record(home, 2, first, first)
    found = await home.host.read_checkpoint(REF)
    assert found == Checkpoint(
        commit=second,
        parent=first,
        tree=Tree(home.of_host("rev-parse", f"{second}^{{tree}}")),
        session=SESSION,
        task=TaskId("t1"),
        attempt=1,
        turn=2,
        observations=b"seen 2 \0\xff",
    )
    assert home.tree(second) == {"a.txt": "100644", "b.txt": "100644"}


async def test_the_same_request_is_the_same_checkpoint(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    first = await record(home, 1, None, home.base)
    assert await record(home, 1, None, home.base) == first


async def test_another_attempts_checkpoint_is_fenced_off(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    first = await record(home, 1, None, home.base)
    with pytest.raises(RefMovedError, match=first):
        await record(home, 2, None, home.base)
    second = await record(home, 2, first, first)
    with pytest.raises(RefMovedError):
        await record(home, 3, first, first)
    assert await home.host.tip(REF) == second


async def test_other_commits_are_not_checkpoints(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    await home.host.advance(REF, home.base, None)
    assert await home.host.read_checkpoint(REF) is None


async def test_a_ref_lock_of_a_dead_process_is_removed(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    bare = home.top / "host/repositories" / f"{'k' * 32}.git"
    first = await record(home, 1, None, home.base)
    for stale in (bare / f"{REF}.lock", bare / "packed-refs.lock"):
        stale.touch()
    second = await record(home, 2, first, first)
    (bare / "packed-refs.lock").touch()
    await Cleanup(home.git, home.top / "host", "k" * 32).delete_refs({REF: second})
    assert await home.host.tip(REF) is None


async def test_a_ref_that_does_not_exist_cannot_be_bundled(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    with pytest.raises(BundleError):
        await home.host.bundle("refs/blueflame/nothing", home.base)


async def test_a_sha256_repository_works_too(home: Home):
    home.path.mkdir()
    home.run("init", "-q", "-b", "main", "--object-format=sha256")
    home.commit({"a.txt": "one\n"})
    place = await home.start()
    write(place, {"a.txt": "two\n"})
    await record(home, 1, None, home.base)
    assert await home.host.read_checkpoint(REF)
    commit = await home.commit_work()
    await home.land(commit)
    assert home.run("show", f"{commit}:a.txt") == "two"


async def test_git_takes_our_bundles(home: Home):
    home.make({"a.txt": "one\n"})
    with (home.top / "base.bundle").open("w+b") as file:
        await home.user.send(home.path, HistoryPart(home.base), file.fileno())
    plain_git(home.top, "clone", "-q", "--bare", "base.bundle", "clone.git")
    assert home.base in plain_git(home.top, "bundle", "list-heads", "base.bundle")


async def test_the_tip_is_found_in_a_file_of_its_own_and_packed(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    assert await home.host.tip(REF) is None
    first = await record(home, 1, None, home.base)
    assert await home.host.tip(REF) == first
    home.of_host("pack-refs", "--all", "--prune")
    assert await home.host.tip(REF) == first
    second = await record(home, 2, first, first)
    assert await home.host.tip(REF) == second
    assert home.of_host("rev-parse", REF) == second


async def test_a_ref_never_moves_to_what_is_not_there(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    first = await record(home, 1, None, home.base)
    with pytest.raises(GitCommandError):
        await home.host.advance(REF, Commit("1" * 40), first)
    assert await home.host.tip(REF) == first


async def test_a_first_checkpoint_is_named_as_git_would_without_its_process(home: Home):
    home.git = git = ToldGit()
    home.host = GitHostRepository(git, home.top / "host", "k" * 32)
    home.make({"a.txt": "one\n"})
    await home.start()
    git.told.clear()
    assert await home.host.tip(REF) is None
    assert git.told == []
    first = await record(home, 1, None, home.base)
    assert not [each for each in git.told if "update-ref" in each or "rev-parse" in each]
    assert home.of_host("for-each-ref", "--format=%(objectname)", REF) == first


async def test_a_packed_ref_is_not_taken_for_none(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    first = await record(home, 1, None, home.base)
    home.of_host("pack-refs", "--all", "--prune")
    with pytest.raises(RefMovedError, match=first):
        await record(home, 2, None, home.base)
    assert await home.host.tip(REF) == first


async def test_a_ref_in_the_place_of_anothers_folder_is_refused(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    first = await record(home, 1, None, home.base)
    other = REF.rpartition("/")[0]
    with pytest.raises(GitCommandError):
        await home.host.advance(other, first, None)
    assert await home.host.tip(REF) == first
    assert await home.host.tip(other) is None


@pytest.mark.parametrize(
    ("ref", "is_absent"),
    [
        ("refs/blueflame/s1/tasks/a_b-c.1", True),
        ("refs/blueflame/s1/agents/dev.a.1", True),
        ("refs/blueflame/s1/base", False),
        ("refs/heads/main", False),
        ("refs/blueflame/../heads/x", False),
        ("refs/blueflame/s1/a..b", False),
        ("refs/blueflame/s1/a.lock", False),
        ("refs/blueflame/s1/a.lock/b", False),
        ("refs/blueflame/s1/a.", False),
        ("refs/blueflame/s1/.a", False),
        ("refs/blueflame/s1/a b", False),
        ("refs/blueflame/s1//a", False),
        ("refs/blueflame/s1/é", False),
        ("refs/blueflame/s1/a\n", False),
    ],
)
async def test_only_a_plain_name_is_taken_for_absent(home: Home, ref: str, is_absent: bool):
    home.make({"a.txt": "one\n"})
    await home.import_base()
    assert Bare(home.git, Layout(home.top / "host", "k" * 32)).is_absent(ref) is is_absent
