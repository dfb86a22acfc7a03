"""Nothing that a repository or an agent names is run. One canary for all; it sings first."""

import subprocess
from pathlib import Path

import pytest

from activities.ports.git_errors import WorktreeDamagedError
from activities.ports.merge_values import MergePart
from activities.ports.user_repository import FastForwardRequest, Landed
from tests.unit.activities.adapters.git.home import WHEN, Home, plain_git, write
from workflows.domain.ids import Commit

HOOKS = (
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "reference-transaction",
    "update",
)
ATTRIBUTES = "* filter=evil diff=evil merge=evil text eol=crlf ident\n"


def arm(git_dir: Path, canary: Path) -> None:
    """Make a git directory touch the canary wherever git may run something."""
    script = git_dir / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {canary}\nexec cat\n")
    script.chmod(0o755)
    for folder in ("hooks", "h"):
        (git_dir / folder).mkdir(exist_ok=True)
        for hook in HOOKS:
            (git_dir / folder / hook).write_text(f"#!/bin/sh\ntouch {canary}\n")
            (git_dir / folder / hook).chmod(0o755)
    settings = {
        "core.hooksPath": str(git_dir / "h"),
        "core.fsmonitor": str(script),
        "core.sshCommand": str(script),
        "core.pager": str(script),
        "core.editor": str(script),
        "core.askPass": str(script),
        "core.alternateRefsCommand": str(script),
        "diff.external": str(script),
        "diff.evil.textconv": str(script),
        "diff.evil.command": str(script),
        "merge.evil.driver": str(script),
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "filter.evil.required": "true",
        "filter.lfs.process": str(script),
        "gpg.program": str(script),
        "commit.gpgSign": "true",
        "merge.verifySignatures": "true",
        "log.showSignature": "true",
        "credential.helper": str(script),
        "uploadpack.packObjectsHook": str(script),
        "hook.evil.command": str(script),
        "hook.evil.event": "reference-transaction",
        "alias.update-ref": f"!{script}",
        "submodule.recurse": "true",
        "diff.ignoreSubmodules": "none",
    }
    for key, value in settings.items():
        config = str(git_dir / "config")
        subprocess.run(["git", "config", "--file", config, key, value], check=True, cwd=git_dir)


def test_the_canary_sings_for_plain_git(home: Home):
    home.make({"a.txt": "one\n", ".gitattributes": ATTRIBUTES})
    canary = home.top / "PWNED"
    arm(home.path / ".git", canary)
    for command in (["status"], ["diff"], ["update-ref", "refs/heads/x", home.base]):
        canary.unlink(missing_ok=True)
        (home.path / "a.txt").write_text(f"{command}\n")
        subprocess.run(["git", *command], cwd=home.path, check=False, capture_output=True)
        assert canary.exists(), command


async def test_a_hostile_user_repository(home: Home):
    """Field report R59."""
    home.make({"a.txt": "one\n", "b.txt": "one\n", ".gitattributes": ATTRIBUTES})
    canary = home.top / "PWNED"
    arm(home.path / ".git", canary)
    (home.path / "b.txt").write_text("dirty\n")
    (home.path / "a.txt").touch()
    facts = await home.user.inspect(home.path, None)
    assert not facts.is_dirty, "no filter is run, so of filtered files nothing is said"
    place = await home.start()
    write(place, {"a.txt": "two\n"})
    commit = await home.commit_work()
    assert isinstance(await home.land(commit), Landed)
    request = FastForwardRequest(path=home.path, branch="main", old=home.base, new=commit)
    assert not canary.exists()
    home.run("symbolic-ref", "HEAD", "refs/heads/elsewhere")
    canary.unlink(missing_ok=True)  # plain git just ran the hooks
    assert isinstance(await home.user.fast_forward(request), Landed)
    assert not canary.exists()


def set_traps(place: Path, canary: Path) -> None:
    """What an agent can prepare for a git that is not careful."""
    write(place, {".gitattributes": ATTRIBUTES, "d/.gitattributes": ATTRIBUTES})
    write(place, {".gitmodules": '[submodule "n"]\n\tpath = n\n\turl = ./n\n\tignore = none\n'})
    nested, bare = place / "n", place / "trap"
    for folder in (nested, bare):
        folder.mkdir()
    plain_git(nested, "init", "-q")
    write(nested, {"f": "x", ".gitattributes": ATTRIBUTES})
    plain_git(nested, "add", "f")
    plain_git(nested, "commit", "-q", "-m", "x")
    arm(nested / ".git", canary)
    # In plain sight, for a git that looks for a repository on its way.
    plain_git(bare, "init", "-q", "--bare", ".")
    arm(bare, canary)


async def test_a_hostile_agent(home: Home):
    """Field report R59."""
    home.make({"a.txt": "one\n", "d/b.txt": "two\n"})
    canary = home.top / "PWNED"
    place = await home.start()
    set_traps(place, canary)
    for turn in range(3):
        write(place, {"a.txt": f"{turn}\n", "d/b.txt": f"{turn}\n", "n/f": f"{turn}\n"})
        collected = await home.collect()
        assert "n" in {finding.path for finding in collected.findings}
    commit = await home.commit_work()
    other = await branch_of(home, {"a.txt": "one\n", "c.txt": "three\n"})
    await home.host.diff(home.base, commit)
    await home.host.changed_files(home.base, commit)
    await home.host.merge(commit, (MergePart(commit=other, message="m"),), WHEN)
    await home.host.merge(other, (MergePart(commit=commit, message="m"),), WHEN)
    await home.host.create_worktree("gate", commit)
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
    assert (place / "a.txt").read_text() == "one\n"
    assert not (place / "n").exists()
    await home.land(commit)
    assert not canary.exists()


async def test_a_worktree_whose_git_file_leads_elsewhere_is_not_used(home: Home):
    home.make({"a.txt": "one\n"})
    canary = home.top / "PWNED"
    place = await home.start()
    trap = home.top / "trap"
    trap.mkdir()
    plain_git(trap, "init", "-q")
    arm(trap / ".git", canary)
    (place / ".git").unlink()
    (place / ".git").write_text(f"gitdir: {trap}/.git\n")
    with pytest.raises(WorktreeDamagedError):
        await home.collect()
    await home.host.create_worktree("t1", home.base)
    assert (await home.collect()).changes == ()
    assert not canary.exists()


async def branch_of(home: Home, files: dict[str, str | bytes]) -> Commit:
    """A second task's commit on the base."""
    place = (await home.host.create_worktree("other", home.base)).path
    write(place, files)
    return await home.commit_work("other")
