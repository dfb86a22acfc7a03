"""The safe fast-forward: moved whole, or left byte-identical with the reason."""

import shlex
from pathlib import Path

import pytest

from activities.ports.user_repository import FastForwardRequest, Landed, LandOutcome, Refused
from tests.unit.activities.adapters.git.home import Home, fingerprint, plain_git, write
from workflows.domain.ids import Commit


async def prepared(home: Home, changes: dict[str, str | bytes]) -> Commit:
    """Land a commit that makes the changes."""
    place = await home.start()
    write(place, changes)
    commit = await home.commit_work()
    assert isinstance(await home.land(commit), Landed)
    return commit


async def forward(home: Home, new: Commit, branch: str = "main") -> LandOutcome:
    """Ask for the fast-forward from the base."""
    request = FastForwardRequest(path=home.path, branch=branch, old=home.base, new=new)
    return await home.user.fast_forward(request)


async def assert_refused(home: Home, new: Commit, reason: str) -> Refused:
    """The fast-forward is refused and nothing has changed."""
    before = fingerprint(home.path)
    outcome = await forward(home, new)
    assert isinstance(outcome, Refused), outcome
    assert outcome.reason == reason
    assert fingerprint(home.path) == before
    return outcome


async def test_moves_branch_and_checkout(home: Home):
    home.make({"a.txt": "one\n", "gone.txt": "x\n", "d/f": "x\n"})
    place = await home.start()
    (place / "gone.txt").unlink()
    write(place, {"a.txt": "two\n", "gone.txt/inner": "y\n", "new/x": "z\n"})
    (place / "d/f").unlink()
    (place / "d").rmdir()
    (place / "d").write_text("file now\n")
    commit = await home.commit_work()
    await home.land(commit)
    outcome = await forward(home, commit)
    assert outcome == Landed(ref="refs/heads/main", commit=commit, checkout=home.path)
    assert home.run("rev-parse", "main") == commit
    assert home.run("status", "--porcelain") == ""
    assert (home.path / "a.txt").read_text() == "two\n"
    assert await forward(home, commit) == Landed(ref="refs/heads/main", commit=commit)


async def test_keeps_dirty_files_that_are_not_concerned(home: Home):
    home.make({"a.txt": "one\n", "b.txt": "two\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    (home.path / "b.txt").write_text("dirty\n")
    assert isinstance(await forward(home, commit), Landed)
    assert (home.path / "b.txt").read_text() == "dirty\n"
    assert home.run("status", "--porcelain").strip() == "M b.txt"


@pytest.mark.parametrize("staged", [False, True])
async def test_refuses_dirty_files_that_are(home: Home, staged: bool):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    (home.path / "a.txt").write_text("dirty\n")
    if staged:
        home.run("add", "a.txt")
    outcome = await assert_refused(home, commit, "overlap")
    assert "a.txt" in outcome.text


async def test_a_touched_file_is_not_dirty(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    (home.path / "a.txt").touch()
    assert isinstance(await forward(home, commit), Landed)


@pytest.mark.parametrize("ignored", ["#", "*"])
async def test_never_overwrites_what_git_does_not_track(home: Home, ignored: str):
    home.make({"a.txt": "one\n", ".gitignore": f"{ignored}\n"})
    place = await home.start()
    write(place, {"new.txt": "ours\n", "deep/er/f": "ours\n", ".gitignore": "#2\n"})
    commit = await home.commit_work()
    await home.land(commit)
    for name in ("new.txt", "deep"):
        (home.path / name).write_text("mine\n")
        outcome = await assert_refused(home, commit, "overlap")
        assert name in outcome.text
        (home.path / name).unlink()


async def test_never_overwrites_a_folder_of_untracked_files(home: Home):
    home.make({"a.txt": "one\n", ".gitignore": "x\n"})
    place = await home.start()
    write(place, {".gitignore": "\n", "x": "ours\n"})
    commit = await home.commit_work()
    await home.land(commit)
    write(home.path, {"x/mine": "mine\n"})
    await assert_refused(home, commit, "overlap")


async def test_refuses_in_the_middle_of_a_merge_or_rebase(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"b.txt": "new\n"})
    (home.path / ".git/MERGE_HEAD").write_text(f"{home.base}\n")
    await assert_refused(home, commit, "busy")
    (home.path / ".git/MERGE_HEAD").unlink()
    (home.path / ".git/rebase-merge").mkdir()
    (home.path / ".git/rebase-merge/head-name").write_text("refs/heads/main\n")
    home.run("checkout", "-q", "--detach")
    await assert_refused(home, commit, "busy")


async def test_refuses_when_the_branch_went_on(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    base = home.base
    home.commit({"c.txt": "mine\n"})
    home.base, moved = base, home.base
    await assert_refused(home, commit, "moved")
    home.base = moved
    await assert_refused(home, commit, "not_forward")


async def test_moves_a_branch_that_no_checkout_shows(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    home.run("checkout", "-q", "-b", "other")
    outcome = await forward(home, commit)
    assert outcome == Landed(ref="refs/heads/main", commit=commit)
    assert home.run("rev-parse", "main") == commit
    assert (home.path / "a.txt").read_text() == "one\n"


async def test_moves_the_linked_checkout_that_shows_it(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    home.run("checkout", "-q", "-b", "other")
    linked = home.top / "linked"
    home.run("worktree", "add", "-q", str(linked), "main")
    outcome = await forward(home, commit)
    assert outcome == Landed(ref="refs/heads/main", commit=commit, checkout=linked)
    assert (linked / "a.txt").read_text() == "changed\n"
    assert (home.path / "a.txt").read_text() == "one\n"


async def test_options_of_the_branch_do_not_turn_it_into_something_else(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    home.run("config", "branch.main.mergeOptions", "--squash --no-ff")
    home.run("config", "merge.verifySignatures", "true")
    home.run("config", "merge.autoStash", "true")
    assert isinstance(await forward(home, commit), Landed)
    assert home.run("rev-parse", "HEAD") == commit


async def test_their_filter_runs_and_no_hook_does(home: Home):
    """Field reports R21 and R59."""
    home.make({"a.txt": "one\n", ".gitattributes": "*.bin filter=lfs\n"})
    commit = await prepared(home, {"x.bin": "version https://git-lfs.github.com/spec/v1\n"})
    home.run("config", "filter.lfs.smudge", "tr a-z A-Z")
    home.run("config", "filter.lfs.required", "true")
    arm_hooks(home.path / ".git/hooks", home.top / "PWNED")
    assert isinstance(await forward(home, commit), Landed)
    assert (home.path / "x.bin").read_text() == "VERSION HTTPS://GIT-LFS.GITHUB.COM/SPEC/V1\n"
    assert not (home.top / "PWNED").exists()


def arm_hooks(folder: Path, canary: Path) -> None:
    """Put a hook that leaves a trace at every name git knows."""
    folder.mkdir(exist_ok=True)
    for name in ("post-merge", "post-checkout", "reference-transaction", "post-index-change"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (folder / name).chmod(0o755)


async def unasked(home: Home, new: Commit) -> LandOutcome:
    """Ask for the fast-forward from the base that no person asked for at this moment."""
    request = FastForwardRequest(
        path=home.path, branch="main", old=home.base, new=new, moves_checkout=False
    )
    return await home.user.fast_forward(request)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", ["here", "linked", "dirty"])
async def test_a_checked_out_branch_is_not_moved_unasked(home: Home, where: str):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    place = home.path
    if where == "linked":
        home.run("checkout", "-q", "-b", "other")
        place = home.top / "a linked one"
        home.run("worktree", "add", "-q", str(place), "main")
    elif where == "dirty":
        (home.path / "a.txt").write_text("mine\n")
    before = fingerprint(home.path)
    outcome = await unasked(home, commit)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "checked_out"
    assert fingerprint(home.path) == before
    assert home.run("rev-parse", "main") == home.base
    command = outcome.text.partition("`")[2].rstrip("`")
    if where != "dirty":
        plain_git(home.path, *shlex.split(command)[1:])
        assert (place / "a.txt").read_text() == "changed\n"


async def test_a_branch_that_no_checkout_shows_is_moved_unasked_and_once(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await prepared(home, {"a.txt": "changed\n"})
    home.run("checkout", "-q", "--detach")
    for _ in range(2):  # the answer to the first may have been lost
        outcome = await unasked(home, commit)
        assert outcome == Landed(ref="refs/heads/main", commit=commit)
    assert home.run("rev-parse", "main") == commit
    assert (home.path / "a.txt").read_text() == "one\n"
    assert home.run("reflog", "--format=%gs", "main").splitlines()[0] == "blueflame: fast-forward"
