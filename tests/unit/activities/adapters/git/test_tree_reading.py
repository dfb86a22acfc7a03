"""What commits hold and how they differ, and how rarely git is asked for it."""

import pytest

from activities.adapters.git.bare_repository import Bare, Layout
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.tree_reading import Entry, differences, entries, tree_of
from activities.ports.git_errors import GitCommandError
from activities.ports.merge_values import TaskCommit
from tests.unit.activities.adapters.git.home import WHEN, Home, ToldGit, write
from workflows.domain.ids import Commit


@pytest.fixture
def git(home: Home) -> ToldGit:
    home.git = git = ToldGit()
    home.host = GitHostRepository(git, home.top / "host", "k" * 32)
    home.make({"a.txt": "one\n", ":b": "x\n", "bin": b"\0", "d/c.txt": "c\n", "gone": "g\n"})
    return git


def bare(home: Home, **limits: int) -> Bare:
    return Bare(home.git, Layout(home.top / "host", "k" * 32), **limits)


async def changed(home: Home) -> Commit:
    """Change each file in its own way, and commit that in the host's repository."""
    place = await home.start()
    write(place, {"a.txt": "two\n", ":b": "y\n", "bin": b"\0\0", "new": ""})
    (place / "d" / "c.txt").chmod(0o755)
    (place / "gone").unlink()
    (place / "gone").symlink_to("a.txt")
    return await home.commit_work()


async def test_each_kind_of_difference_is_told(home: Home, git: ToldGit):
    commit = await changed(home)
    found = await differences(bare(home), home.base, commit)
    told = [(d.path, d.status, d.old_mode, d.new and d.new.mode, d.is_binary) for d in found]
    assert told == [
        (b":b", "M", "100644", "100644", False),
        (b"a.txt", "M", "100644", "100644", False),
        (b"bin", "M", "100644", "100644", True),
        (b"d/c.txt", "M", "100644", "100755", False),
        (b"gone", "T", "100644", "120000", False),
        (b"new", "A", None, "100644", False),
    ]
    there = await entries(bare(home), commit)
    assert there[b"gone"] == Entry("120000", home.of_host("rev-parse", f"{commit}:gone"))
    back = await differences(bare(home), commit, home.base)
    assert [each.path for each in back if each.new is None] == [b"new"]
    sizes = {each.path: each.size for each in await home.host.changed_files(home.base, commit)}
    assert sizes == {":b": 2, "a.txt": 4, "bin": 2, "d/c.txt": 2, "gone": 5, "new": 0}
    assert [each.size for each in await home.host.changed_files(commit, home.base)][-1] == 0


async def test_git_is_asked_once_about_commits_of_the_same_trees(home: Home, git: ToldGit):
    commit = await changed(home)
    tree = await home.host.tree_of(commit)
    again = await home.host.squash(
        TaskCommit(base=home.base, tree=tree, message="the same", when=WHEN)
    )
    for each in (commit, again):
        git.told.clear()
        changes = await home.host.changed_files(home.base, each)
        assert len(changes) == 6
        await home.host.filtered(home.base, each)
        await home.host.new_markers(home.base, each)
        await home.host.link_faults(home.base, each)
        assert len(await home.host.paths(each)) == 6
        assert len(git.told) == (5 if each == commit else 0), git.told


async def test_a_packed_commits_tree_is_found_as_well(home: Home, git: ToldGit):
    await home.import_base()
    ours = bare(home)
    expected = home.run("rev-parse", "HEAD^{tree}")
    assert [await tree_of(ours, home.base) for _ in range(2)] == [expected] * 2
    assert git.told.count(f"rev-parse --verify {home.base}^{{tree}}") == 1


async def test_what_git_did_not_find_is_asked_again(home: Home, git: ToldGit):
    await home.import_base()
    ours, tree = bare(home), home.run("rev-parse", "HEAD^{tree}")
    blob = home.of_host("rev-parse", f"{home.base}:a.txt")
    lost = blob[::-1]
    for _ in range(2):
        git.told.clear()
        with pytest.raises(GitCommandError):
            await ours.ask("cat-file", "blob", lost)
        assert git.told == [f"cat-file blob {lost}"]
    assert (await ours.ask("cat-file", "blob", blob)).stdout == b"one\n"
    assert (await ours.ask("cat-file", "-t", tree)).line() == "tree"


async def test_answers_are_kept_within_a_limit(home: Home, git: ToldGit):
    await home.import_base()
    ours = bare(home, kept_bytes=5_000)
    blobs = [home.of_host("rev-parse", f"{home.base}:{path}") for path in ("a.txt", ":b", "bin")]
    git.told.clear()
    for blob in (*blobs, blobs[0], home.base):
        await ours.ask("cat-file", "-t", blob)
    assert len(git.told) == 4
    # The fifth would take the place of what was not asked for longest: the second.
    await ours.ask("cat-file", "-s", blobs[0])
    git.told.clear()
    for blob in (blobs[0], blobs[1]):
        await ours.ask("cat-file", "-t", blob)
    assert git.told == [f"cat-file -t {blobs[1]}"]


async def test_an_answer_that_would_displace_many_is_not_kept(home: Home, git: ToldGit):
    write(home.path, {"large": "x" * 2_000})
    home.commit({})
    await home.import_base()
    ours = bare(home, kept_bytes=8_000)
    blob = home.of_host("rev-parse", f"{home.base}:large")
    git.told.clear()
    for _ in range(2):
        await ours.ask("cat-file", "blob", blob)
    assert len(git.told) == 2
