"""Odd repositories: what works goes all the way to a branch; what does not is told in one message.

Through the real command and real git, up to where a server would be started.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.ports.history_values import HistoryPart
from activities.ports.user_repository import FastForwardRequest
from starter.console.exit_codes import ExitCode
from tests.badinput import odd_repositories as odd
from tests.badinput.command import Command
from tests.unit.activities.adapters.git.home import BRANCH, Home, fingerprint, write

Make = Callable[[Path], Path]


def seen(top: Path) -> dict[str, tuple[object, ...]]:
    """Return all that is in a folder; of objects without the time, which git renews at a look."""
    files = fingerprint(top)
    return {name: file[: 2 if "/objects/" in name else 3] for name, file in files.items()}


WORKS: dict[Make, tuple[str, ...]] = {
    odd.plain: (),
    odd.detached: (" (detached)",),
    odd.bare: (),
    odd.shallow_by_one: (),
    odd.shallow_by_two: (),
    odd.with_submodule: ("submodule 'sub' is empty in worktrees",),
    odd.with_lfs: ("(*.bin) are pointers",),
    odd.with_case_collision: (),
    odd.with_foreign_names: (),
    odd.dirty: ("the checkout has uncommitted changes: they are not part of the base",),
    odd.with_untracked_files: (),
    odd.linked_worktree: (" (detached)",),
    odd.git_is_a_link: (),
    odd.reached_through_a_link: (),
    odd.with_alternates: (),
    odd.sha256: (),
    odd.with_our_package_names: (),
    odd.spaces: (),
    odd.newline: (),
    odd.punctuation: (),
    odd.unicode: (),
    odd.deep_folder: (),
    odd.sparse: ("the checkout has uncommitted changes",),
    odd.full_partial_clone: (),
    odd.submodule: (),
    odd.separate_git_dir: (),
    odd.worktree_of_bare: (),
    odd.container_of_worktrees: (),
    odd.worktree_of_submodule: (),
    odd.worktree_configuration: (),
    odd.sparse_by_patterns: (),
    odd.grafted: (),
    odd.replaced: (),
    odd.split_index: (),
    odd.packed: (),
    odd.with_branches_of_old_sessions: (),
    odd.merging: ("in the middle of a merge: work starts from commit ", "uncommitted"),
    odd.cherry_picking: ("in the middle of a cherry-pick",),
    odd.reverting: ("in the middle of a revert",),
    odd.rebasing: ("in the middle of a rebase", " (detached)"),
    odd.bisecting: ("in the middle of a bisection", " (detached)"),
}
"""What can be worked on, and what is said of it beforehand."""

REFUSED: dict[Make, tuple[str, str]] = {
    odd.missing: ("/missing' is not a folder", "name the folder"),
    odd.a_file: ("/a.txt' is not a folder", "name the folder"),
    odd.no_repository: ("/plain' is not in a git repository", "`git init`"),
    odd.no_commit: ("/new' has no commit yet", "commit something"),
    odd.unborn_branch: ("HEAD of '", "name a base, for example 'main'"),
    odd.git_file_to_nowhere: ("`.git` in '", "`git worktree repair`"),
    odd.git_file_of_rubbish: ("`.git` in '", "clone again"),
    odd.git_link_to_nowhere: ("`.git` in '", "clone again"),
    odd.worktree_of_what_is_gone: ("`.git` in '", "`git worktree repair`"),
    odd.no_head: ("`.git` in '", "clone again"),
    odd.blocked_by_a_branch: ("your branch 'blueflame'", "git branch -m blueflame blueflame-mine"),
    odd.unreadable: ("/.git' cannot be read", "read access"),
    odd.unreadable_objects: ("/.git/objects' cannot be read", "read access"),
    odd.corrupt_commit: ("'HEAD' is ", "`git fsck`"),
    odd.corrupt_tree: (" is corrupt)", "`git fsck`"),
    odd.corrupt_blob: ("'a.txt' of the base is lost", "`git fsck`"),
    odd.missing_alternate: ("'HEAD' is ", "objects/info/alternates"),
    odd.unknown_format: ("fromthefuture", "a newer git"),
    odd.checkout_elsewhere: ("`core.worktree` names '", "`git clone`"),
    odd.broken_configuration: ("bad config line 1", "`git config --edit`"),
    odd.broken_index: ("index file smaller than expected", "`git read-tree HEAD`"),
    odd.partial_clone: ("partial clone that lacks 2 objects", "`git fetch --refetch --no-filter`"),
    odd.overlong_name: ("a name of 300 bytes", "shorten it"),
    odd.overlong_path: ("a path of 4019 bytes", "shorten it"),
    odd.path_that_is_no_text: ("caf\\xe9' is not UTF-8", "rename the folder"),
}
"""What cannot be worked on: which it is, and what to do."""


def _name(make: Make) -> str:
    return make.__name__


def test_every_odd_repository_has_its_case():
    made = {name for name, thing in vars(odd).items() if _is_maker(thing)}
    later = {"lying_blob", "missing_history"}
    assert made - later == {_name(make) for make in (*WORKS, *REFUSED, *NEWER)}


def _is_maker(thing: object) -> bool:
    is_ours = getattr(thing, "__module__", "") == odd.__name__
    return is_ours and not getattr(thing, "__name__", "_").startswith("_")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("make", WORKS, ids=_name)
def test_what_works_is_said_beforehand(command: Command, tmp_path: Path, make: Make):
    path = make(tmp_path)
    before = seen(tmp_path)
    code, out, errors = command.run_on(path, "--dry-run")
    assert (code, errors) == (ExitCode.COMPLETE, "")
    assert [words for words in WORKS[make] if words not in out] == []
    assert ("Note" in out) == any("(detached)" not in words for words in WORKS[make])
    assert seen(tmp_path) == before
    assert command.left_behind() == []


@pytest.mark.parametrize("way", ["config check", "--dry-run", "run"])
def test_g56_what_may_not_be_copied_is_refused_by_the_first_check(
    command: Command, tmp_path: Path, way: str
):
    path = odd.plain(tmp_path)
    write(path, {"blueflame.yaml": "version: 1\nworktree: {copy: [local.cfg]}\n", "local.cfg": ""})
    with command.config.open("a") as config:
        config.write("worktree: {copy: [local.cfg]}\n")
    if way == "config check":
        code, _, errors = command.types("config", "check", "--repo", str(path))
    else:
        code, _, errors = command.run_on(path, *([way] if way != "run" else []))
    assert code == ExitCode.USAGE
    assert "'local.cfg': git does not ignore it: commit it instead, or ignore it" in errors
    assert command.left_behind() == []
    (path / ".git/info").mkdir(exist_ok=True)
    (path / ".git/info/exclude").write_text("local.cfg\n")
    code, _, errors = command.types("config", "check", "--repo", str(path))
    assert (code, errors) == (ExitCode.COMPLETE, "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", [*WORKS], ids=_name)
async def test_what_works_ends_as_a_branch_beside_all_that_was_there(tmp_path: Path, make: Make):
    """Field reports R02, R22 and R29."""
    home = Home(tmp_path)
    home.path = make(tmp_path)
    facts = await home.user.inspect(home.path, None)
    home.base = facts.base
    refs = home.run("for-each-ref")
    status = "" if facts.is_bare else home.run("status", "--porcelain", "-uall")
    write(await home.start(), {"new.txt": "new\n"})
    commit = await home.commit_work()
    landed = await home.land(commit)
    assert landed.kind == "landed", landed
    changed = home.run("diff-tree", "-r", "--no-renames", "--name-status", facts.base, BRANCH)
    assert changed == "A\tnew.txt"
    kept = [line for line in home.run("for-each-ref").splitlines() if BRANCH not in line]
    assert kept == refs.splitlines()
    if not facts.is_bare:
        assert home.run("status", "--porcelain", "-uall") == status
    if facts.base_branch and facts.under_way is None:
        request = FastForwardRequest(
            path=home.path, branch=facts.base_branch, old=facts.base, new=commit
        )
        moved = await home.user.fast_forward(request)
        assert moved.kind == "landed", moved
        if not facts.is_bare:
            assert (home.path / "new.txt").read_text() == "new\n"
            assert home.run("status", "--porcelain", "-uall") == status


NEWER: dict[Make, tuple[str, ...]] = {
    odd.reftable: ("refstorage",),
    odd.relative_worktrees: ("relativeworktrees",),
}
"""Formats of later versions of git: they work where git knows them, and are refused elsewhere."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", NEWER, ids=_name)
@pytest.mark.parametrize("way", ["doctor", "--dry-run", "run"])
def test_g27_a_format_that_this_git_does_not_know_is_refused_alike(
    command: Command, tmp_path: Path, make: Make, way: str
):
    """Field report G27."""
    path = make(tmp_path)
    if way == "doctor":
        code, out, errors = command.types("doctor", "--repo", str(path))
    else:
        code, out, errors = command.run_on(path, *([way] if way != "run" else []))
    assert code != ExitCode.COMPLETE
    assert "a newer git may know the format" in out + errors
    assert [words for words in NEWER[make] if words not in (out + errors)] == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize("make", REFUSED, ids=_name)
def test_what_does_not_work_is_refused_in_one_message(command: Command, tmp_path: Path, make: Make):
    """Field reports R05 and R22."""
    if make in (odd.unreadable, odd.unreadable_objects) and os.geteuid() == 0:
        pytest.skip("nothing is unreadable for root")
    path = make(tmp_path)
    before = seen(tmp_path)
    code, out, errors = command.run_on(path)
    assert (code, out) == (ExitCode.USAGE, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1, errors
    assert [words for words in REFUSED[make] if words not in errors] == []
    assert seen(tmp_path) == before
    assert command.left_behind() == []
    for shut in (path / ".git", path / ".git/objects"):
        if make in (odd.unreadable, odd.unreadable_objects) and shut.exists():
            shut.chmod(0o700)


BASES = {
    "nope": "'nope' is not a branch, tag or commit",
    "--help": "'--help' is not a branch",
    "main:a.txt": "'main:a.txt' is not a branch",
    "a b": "'a b' is not a branch",
    "0" * 40: f"{'0' * 40!r} is ",
    "main@{9}": "'main@{9}' is ",
    "two\nlines": "'two\\nlines' is not a branch",
    "caf\udce9": "caf\\udce9' is not a branch",
    "x" * 100_000: "xx",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("base", BASES, ids=lambda base: ascii(base)[:20])
def test_a_base_that_is_none_is_named(command: Command, tmp_path: Path, base: str):
    path = odd.plain(tmp_path)
    code, out, errors = command.run_on(path, f"--base={base}")
    assert (code, out) == (ExitCode.USAGE, "")
    assert BASES[base] in errors
    assert (errors.count("\n"), len(errors) < 1_000) == (1, True)
    assert command.left_behind() == []


async def test_what_is_found_out_only_while_packing_is_told_in_words(tmp_path: Path):
    home = Home(tmp_path)
    home.path = odd.missing_history(tmp_path)
    base = (await home.user.inspect(home.path, None)).base
    with (
        (tmp_path / "bundle").open("wb") as sink,
        pytest.raises(Exception, match=r"the history of .* is incomplete; `git fsck`"),
    ):
        await home.user.send(home.path, HistoryPart(base), sink.fileno())


async def test_an_object_that_is_not_what_it_says_is_told_at_the_import(tmp_path: Path):
    home = Home(tmp_path)
    home.path = odd.lying_blob(tmp_path)
    home.base = (await home.user.inspect(home.path, None)).base
    with pytest.raises(Exception, match="lacks objects of its history; `git fsck`"):
        await home.start()


@pytest.mark.root
def test_a_repository_of_another_owner_works(command: Command, tmp_path: Path):
    """Field report R04."""
    path = odd.plain(tmp_path)
    for place in (path, *path.rglob("*")):
        os.lchown(place, 1234, 1234)
    code, out, errors = command.run_on(path, "--dry-run")
    assert (code, errors) == (ExitCode.COMPLETE, "")
    assert "Base       main" in out
