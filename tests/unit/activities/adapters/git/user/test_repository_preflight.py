"""What the preflight finds, and how it refuses."""

import os
from pathlib import Path

import pytest

from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.adapters.git.user.repository_preflight import refusal
from activities.adapters.git.user.user_git import find
from activities.ports.git_errors import (
    BaseMissingError,
    BranchNameBlockedError,
    EmptyRepositoryError,
    GitCommandError,
    NotARepositoryError,
    PartialCloneError,
    RepositoryUnreadableError,
)
from tests.unit.activities.adapters.git.home import (
    SESSION,
    Home,
    ToldGit,
    fingerprint,
    plain_git,
    write,
)
from workflows.domain.ids import SessionId


def owner_of(path: Path) -> str:
    """Name a path's owner; one whom the system does not know, by number."""
    try:
        return path.owner()
    except KeyError:
        return str(path.stat().st_uid)


async def test_tells_the_facts_of_a_plain_repository(home: Home):
    home.make({"a.txt": "one\n", "d/b.txt": "two\n"})
    facts = await home.user.inspect(home.path / "d", None, SESSION)
    assert facts.root == home.path
    assert (facts.base, facts.base_branch) == (home.base, "main")
    assert (facts.file_count, facts.tree_bytes) == (2, 8)
    assert facts.tree == home.run("rev-parse", "HEAD^{tree}")
    assert (facts.is_bare, facts.is_dirty, facts.is_writable) == (False, False, True)
    assert facts.owner == owner_of(home.path)


async def test_a_path_is_taken_literally(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHO", "elsewhere")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    home.path = home.top / "$WHO ~ ü"
    home.make({"a.txt": "one\n"})
    assert (await home.user.inspect(home.path, None)).root == home.path


async def test_changes_nothing(home: Home):
    home.make({"a.txt": "one\n"})
    (home.path / "a.txt").touch()
    before = fingerprint(home.path)
    await home.user.inspect(home.path, None)
    assert fingerprint(home.path) == before


@pytest.mark.parametrize(
    ("staged", "text", "is_dirty"),
    [(False, "one\n", False), (False, "1\n", True), (True, "1\n", True)],
)
async def test_is_dirty_by_content(home: Home, staged: bool, text: str, is_dirty: bool):
    home.make({"a.txt": "one\n"})
    (home.path / "a.txt").write_text(text)
    if staged:
        home.run("add", "a.txt")
    assert (await home.user.inspect(home.path, None)).is_dirty is is_dirty


async def test_g55_a_clean_checkout_that_a_filter_has_written_is_not_called_dirty(home: Home):
    home.make({".gitattributes": "*.bin filter=big\n"})
    home.run("config", "filter.big.clean", "tr x y")
    write(home.path, {"a.bin": "x\n", "b.txt": "b\n"})
    home.run("add", "-A")
    home.run("commit", "-q", "-m", "filtered")
    (home.path / "a.bin").touch()
    assert not home.run("status", "--porcelain")
    (home.path / "a.bin").touch()
    assert not (await home.user.inspect(home.path, None)).is_dirty
    (home.path / "b.txt").write_text("c\n")
    assert (await home.user.inspect(home.path, None)).is_dirty


async def test_g55_a_clean_checkout_is_read_with_the_persons_own_line_ends(home: Home):
    (home.top / ".gitconfig").write_text("[core]\n\tautocrlf = input\n")
    home.make({"a.txt": "one\n"})
    (home.path / "a.txt").write_bytes(b"two\r\n")
    home.run("-c", "core.autocrlf=input", "commit", "-aqm", "two")
    (home.path / "a.txt").touch()
    assert not (await home.user.inspect(home.path, None)).is_dirty


async def test_names_the_base_asked_for(home: Home):
    home.make({"a.txt": "one\n"})
    first = home.base
    home.run("tag", "v1")
    home.run("branch", "side")
    home.commit({"a.txt": "two\n"})
    for name, branch in (("v1", None), ("side", "side"), (first, None), ("main~1", None)):
        facts = await home.user.inspect(home.path, name)
        assert (facts.base, facts.base_branch) == (first, branch)


@pytest.mark.parametrize("name", ["nope", "--all", "", "a b"])
async def test_refuses_a_base_that_is_none(home: Home, name: str):
    home.make({"a.txt": "one\n"})
    if name == "":
        assert (await home.user.inspect(home.path, name)).base == home.base
        return
    with pytest.raises(BaseMissingError, match="not a branch, tag or commit"):
        await home.user.inspect(home.path, name)


async def test_refuses_an_empty_repository(home: Home):
    home.path.mkdir()
    home.run("init", "-q")
    with pytest.raises(EmptyRepositoryError, match="commit something"):
        await home.user.inspect(home.path, None)


async def test_refuses_an_unborn_head_with_the_name_of_another_base(home: Home):
    home.make({"a.txt": "one\n"})
    home.run("symbolic-ref", "HEAD", "refs/heads/unborn")
    with pytest.raises(BaseMissingError, match="main"):
        await home.user.inspect(home.path, None)


async def test_refuses_a_path_without_a_repository(home: Home):
    home.path.mkdir()
    for path in (home.path, home.path / "missing"):
        with pytest.raises(NotARepositoryError):
            await home.user.inspect(path, None)


async def test_refuses_a_git_file_that_leads_nowhere_even_inside_a_repository(home: Home):
    home.make({"a.txt": "one\n"})
    inner = home.path / "inner"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: /nonexistent/place\n")
    with pytest.raises(NotARepositoryError, match="leads to no repository"):
        await home.user.inspect(inner, None)


async def test_works_from_a_detached_head(home: Home):
    home.make({"a.txt": "one\n"})
    home.run("checkout", "-q", "--detach")
    facts = await home.user.inspect(home.path, None)
    assert (facts.base, facts.base_branch) == (home.base, None)


async def test_works_from_a_bare_repository(home: Home):
    home.make({"a.txt": "one\n"})
    home.run("clone", "-q", "--bare", ".", "../bare.git")
    facts = await home.user.inspect(home.top / "bare.git", None)
    assert facts.is_bare
    assert facts.root == home.top / "bare.git"
    assert (facts.base, facts.base_branch) == (home.base, "main")


async def test_one_key_whichever_path_leads_there(home: Home):
    """Field report R29."""
    home.make({"a.txt": "one\n"})
    (home.top / "alias").symlink_to(home.path)
    home.run("worktree", "add", "-q", "../linked")
    moved = home.top / "moved.git"
    keys = {
        (await home.user.inspect(path, None)).key
        for path in (home.path, home.top / "alias", home.top / "linked")
    }
    assert len(keys) == 1
    (home.path / ".git").rename(moved)
    (home.path / ".git").symlink_to(moved)
    assert (await home.user.inspect(home.path, None)).base == home.base


@pytest.mark.parametrize("branch", ["blueflame", "blueflame/s1/deeper"])
async def test_refuses_a_branch_in_the_way(home: Home, branch: str):
    """Field report R05."""
    home.make({"a.txt": "one\n"})
    home.run("branch", branch)
    with pytest.raises(BranchNameBlockedError, match="git branch -m"):
        await home.user.inspect(home.path, None, SESSION)


async def test_other_sessions_branches_are_not_in_the_way(home: Home):
    home.make({"a.txt": "one\n"})
    home.run("branch", "blueflame/s1")
    home.run("branch", "blueflame-old")
    await home.user.inspect(home.path, None, SessionId("s2"))


async def test_tells_submodules_and_lfs_patterns(home: Home):
    home.make({".gitattributes": "*.bin filter=lfs diff=lfs\n# *.no filter=lfs\n"})
    (home.path / "d").mkdir()
    (home.path / "d/.gitattributes").write_text("*.psd filter=lfs\n")
    home.run("update-index", "--add", "--cacheinfo", f"160000,{home.base},sub")
    home.run("add", "d")
    home.run("commit", "-q", "-m", "link")
    facts = await home.user.inspect(home.path, None)
    assert facts.submodules == ("sub",)
    assert facts.lfs_patterns == ("*.bin", "d/*.psd")


async def test_refuses_a_partial_clone_that_lacks_objects(home: Home):
    home.make({"a.txt": "one\n"})
    home.commit({"a.txt": "two\n"})
    home.run("config", "uploadpack.allowFilter", "true")
    plain_git(
        home.top, "clone", "-q", "--filter=blob:none", "--no-local", f"file://{home.path}", "part"
    )
    with pytest.raises(PartialCloneError, match="refetch"):
        await home.user.inspect(home.top / "part", None)


async def test_takes_a_shallow_clone(home: Home):
    home.make({"a.txt": "one\n"})
    home.commit({"a.txt": "two\n"})
    plain_git(home.top, "clone", "-q", "--depth=1", f"file://{home.path}", "shallow")
    facts = await home.user.inspect(home.top / "shallow", None)
    assert (facts.base, facts.file_count) == (home.run("rev-parse", "HEAD"), 1)


@pytest.mark.root
async def test_reads_a_repository_of_another_owner(home: Home):
    """Field report R04."""
    home.make({"a.txt": "one\n"})
    for place in (home.path, *home.path.rglob("*")):
        os.lchown(place, 1234, 1234)
    facts = await home.user.inspect(home.path, None)
    assert facts.owner == "1234"
    await home.import_base()


def test_importing_the_adapter_loads_no_gitpython():
    import subprocess
    import sys

    code = "import sys, activities.adapters.git.user.branch_landing; sys.exit('git' in sys.modules)"
    top = Path(__file__).parents[6]
    assert subprocess.run([sys.executable, "-c", code], cwd=top, check=False).returncode == 0


def test_a_program_on_the_path_is_not_run_by_gitpython(home: Home, tmp_path: Path):
    import subprocess
    import sys

    home.make({"a.txt": "one\n"})
    programs, ran = tmp_path / "bin", tmp_path / "ran"
    programs.mkdir()
    (programs / "git").write_text(f'#!/bin/sh\necho "$@" >> {ran}\necho git version 2.50.0\n')
    (programs / "git").chmod(0o755)
    code = (
        "import asyncio, os, pathlib, sys; before = dict(os.environ);"
        "from activities.adapters.git.user.user_git import find;"
        "found = asyncio.run(find(pathlib.Path(sys.argv[1])));"
        "assert str(found.root) == sys.argv[1]; assert dict(os.environ) == before"
    )
    top = Path(__file__).parents[6]
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run([sys.executable, "-c", code, home.path], cwd=top, env=env, check=True)
    assert not ran.exists()


@pytest.mark.parametrize("place", ["refs/heads/main", "HEAD", "config", "index", "packed-refs"])
async def test_what_may_not_be_read_is_not_called_empty(home: Home, place: str):
    home.make({"a.txt": "one\n"})
    if place == "packed-refs":
        home.run("pack-refs", "--all")
    shut = home.path / ".git" / place
    shut.chmod(0)
    try:
        with pytest.raises(RepositoryUnreadableError, match="cannot be read") as raised:
            await home.user.inspect(home.path, None)
    finally:
        shut.chmod(0o644)
    assert shut.name in str(raised.value)


async def test_another_owner_is_named_where_git_refuses_for_it(home: Home):
    home.make({"a.txt": "one\n"})
    found = await find(home.path)
    said = f"fatal: detected dubious ownership in repository at '{home.path}'"
    told = str(refusal(found, GitCommandError(("rev-parse",), 128, said)))
    assert f"because it belongs to {found.owner}; start Blue Flame as that user" in told


@pytest.mark.root
async def test_root_reads_the_repository_of_another_user(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    for path in (home.path, *home.path.rglob("*")):
        os.chown(path, 1234, 1234, follow_symlinks=False)
    facts = await home.user.inspect(home.path, None)
    assert (facts.base, facts.owner, facts.is_dirty) == (home.base, "1234", False)
    assert await home.user.ignored_files(home.path, "none") == ()


async def test_the_persons_settings_are_read_once(home: Home):
    home.make({"a.txt": "one\n"})
    git = ToldGit()
    await GitUserRepository(git, home.person).inspect(home.path, None)
    assert len([each for each in git.told if each.startswith("config -z --includes")]) == 1
