"""Restores a worktree exactly to a commit, after a kill in mid-write and after any agent.

Ignored files stay, because they are a cache, by that commit's ignore rules. Empty folders are
removed.
"""

import asyncio
import os
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.git_command import Git, Scope
from activities.adapters.git.worktrees.collected_names import shown
from activities.adapters.git.worktrees.conversion import attribute_files, same_as_checked_out
from activities.adapters.git.worktrees.folder_scan import entries, folders_of, is_whiteout
from activities.adapters.git.worktrees.worktree import delete, unlock_folders
from activities.ports.git_errors import GitCommandError, WorktreeDamagedError
from workflows.domain.ids import Commit


async def restore(bare: Bare, scope: Scope, commit: Commit) -> None:
    """Make the files and the index of the worktree in `scope` what a checkout of `commit` writes.

    Raises:
        WorktreeDamagedError: a file stays different.
    """
    git = bare.git
    await asyncio.to_thread(unlock_folders, scope.cwd)
    try:
        if other := await _other_attributes(git, scope, commit):
            await asyncio.to_thread(discard, os.fsencode(scope.cwd), other)
            await _checked_out_again(git, scope, commit)
        else:
            await git.run(scope, "read-tree", "--reset", "-u", commit)
    except GitCommandError:
        await _checked_out_again(git, scope, commit)
    staged = (await git.run(scope, "ls-files", "-z", "-s")).records()
    listed = ("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
    ignored = (await git.run(scope, *listed)).records()
    tracked = {record.partition(b"\t")[2] for record in staged}
    links = {r.partition(b"\t")[2] for r in staged if r.startswith(b"160000 ")}
    kept = {path.removesuffix(b"/") for path in ignored}
    await asyncio.to_thread(prune, os.fsencode(scope.cwd), tracked - links, links, kept)
    await _verify(bare, scope)


async def _other_attributes(git: Git, scope: Scope, commit: Commit) -> set[bytes]:
    """Return the `.gitattributes` files that are not those of `commit`.

    Git would check files out by what they say, and writes no file again only because its
    attributes changed.
    """
    staged = ("diff-index", "--cached", "-z", "--name-only", "--no-renames", commit)
    paths = (await git.run(scope, *staged)).records()
    paths += (await git.run(scope, "ls-files", "-z", "-m", "-o", "--exclude-standard")).records()
    return attribute_files(paths)


async def _checked_out_again(git: Git, scope: Scope, commit: Commit) -> None:
    """Rebuild index and files from scratch, when the index cannot be used."""
    (Path(scope.env["GIT_DIR"]) / "index").unlink(missing_ok=True)
    await git.run(scope, "read-tree", commit)
    await git.run(scope, "checkout-index", "-a", "-f", "-u", "-q")


def prune(
    root: bytes, tracked: AbstractSet[bytes], links: AbstractSet[bytes], kept: AbstractSet[bytes]
) -> None:
    """Delete what is neither tracked nor kept.

    Args:
        root: the worktree.
        tracked: the tracked files.
        links: gitlinks; their folders are created, and emptied.
        kept: files and folders that are neither touched nor entered.
    """
    for link in links:
        os.makedirs(os.path.join(root, link), exist_ok=True)
    folders = folders_of(tracked | kept | links) | links
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        for entry in list(entries(os.path.join(root, folder))):
            path = folder + b"/" + entry.name if folder else entry.name
            if path == b".git" or path in kept:
                continue
            if not entry.is_dir(follow_symlinks=False):
                if path not in tracked and not is_whiteout(entry):
                    os.unlink(entry.path)
            elif path in folders:
                waiting.append(path)
            else:
                delete(Path(os.fsdecode(entry.path)))


def discard(root: bytes, paths: Iterable[bytes]) -> None:
    """Delete everything at `paths` (a folder may end with a slash); no link is followed."""
    for path in paths:
        parts = path.rstrip(b"/").split(b"/")
        above = (os.path.join(root, *parts[:number]) for number in range(1, len(parts)))
        if not any(os.path.islink(folder) for folder in above):
            delete(Path(os.fsdecode(os.path.join(root, *parts))))


async def _verify(bare: Bare, scope: Scope) -> None:
    git = bare.git
    await git.run(scope, "update-index", "-q", "--refresh", accept=(0, 1))
    differing = ("diff-files", "-z", "--name-only", "--ignore-submodules=all")
    left = (await git.run(scope, *differing)).records()
    same = await same_as_checked_out(bare, scope, left)
    left = [path for path in left if path not in same]
    left += (await git.run(scope, "ls-files", "-z", "-o", "--exclude-standard")).records()
    if left:
        names = ", ".join(repr(shown(path)) for path in left[:5])
        raise WorktreeDamagedError(
            f"worktree {scope.cwd.name!r} stays different in {names}; remove it and create it again"
        )
