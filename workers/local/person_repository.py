"""The person's repository, read and moved forward with the person's own rights.

Runs nothing that the repository names, except the checkout's own filters at a fast-forward.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from activities.adapters.git.git_command import Git
from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.adapters.git.user.fast_forward import Person
from activities.adapters.git.user.user_git import find
from activities.land.hosted_pulls import address_of
from activities.ports.land.hosting_entries import RemoteAddress
from activities.ports.user_repository import FastForwardRequest, LandOutcome, RepositoryFacts
from activities.repository.checkout_copies import read_copies
from workers.hosting.host_wiring import git_program, person_of
from workflows.domain.ids import Commit
from workflows.domain.session.session_config import WorktreeConfig


async def inspect(path: Path, base: str | None) -> RepositoryFacts:
    """Return the facts about the repository that `path` is in; nothing is changed.

    Args:
        path: a folder in a checkout, or a bare repository.
        base: a branch, tag or commit; None: HEAD.

    Raises:
        RepositoryRefusedError: sessions cannot work on it; the message says why and what to do.
        GitError: git failed.
    """
    return await _repository().inspect(path, base)


async def check_copies(root: Path, worktree: WorktreeConfig) -> None:
    """Read all that `worktree.copy` names, and keep nothing.

    Args:
        root: the repository's.
        worktree: the configuration.

    Raises:
        RepositoryRefusedError: an entry is refused; the message says why and what to do.
    """
    is_bare = not (root / ".git").exists()
    async for _ in read_copies(_repository(), root, worktree, is_bare=is_bare):
        pass


async def hosted_at(root: Path, remote: str) -> RemoteAddress:
    """Return what a remote of a repository names on a hosting service.

    Raises:
        HostingRefusedError: there is no such remote, or it is on none; the message says what to do.
    """
    return await address_of(_repository(), root, remote)


async def root_of(path: Path) -> Path:
    """Return the root of the repository that `path` is in.

    Raises:
        NotARepositoryError: it is not in a repository.
        RepositoryUnreadableError: the repository may not be read.
    """
    return (await find(path)).root


async def files_of(
    root: Path, commit: Commit, wanted: Callable[[Iterable[str]], Iterable[str]]
) -> dict[str, bytes]:
    """Return every path of a commit, with the content of the wanted ones.

    Args:
        root: the repository's.
        commit: the commit to read; paths that are not UTF-8 are left out.
        wanted: selects the paths whose content is read; the others map to nothing.

    Raises:
        GitError: the commit cannot be read.
    """
    git, scope = _git(), (await find(root)).scope()
    listing = ("ls-tree", "-r", "--name-only", "-z", "--full-tree", commit)
    records = (await git.run(scope, *listing)).records()
    paths = [path.decode() for path in records if path.decode("utf-8", "ignore").encode() == path]
    files = dict.fromkeys(paths, b"")
    for path in wanted(paths):
        blob = ("cat-file", "blob", f"{commit}:{path}")
        files[path] = (await git.run(scope, *blob, accept=(0, 128))).stdout
    return files


async def branches_under(
    root: Path, prefix: str, not_merged_into: Commit | None = None
) -> list[str]:
    """Return the branches whose names start with `prefix`, the newest commit first.

    Args:
        root: the repository's.
        prefix: without `refs/heads/`, ending in a slash.
        not_merged_into: omit branches that this commit contains; None: omit none.

    Raises:
        GitError: the branches cannot be read.
    """
    listing = ["for-each-ref", "--sort=-committerdate", "--format=%(refname:lstrip=2)"]
    if not_merged_into is not None:
        listing.append(f"--no-merged={not_merged_into}")
    done = await _git().run((await find(root)).scope(), *listing, f"refs/heads/{prefix}")
    return done.stdout.decode().split()


async def is_ancestor(root: Path, old: Commit, new: Commit) -> bool:
    """Return whether `new` contains `old`, so that a branch can be moved forward to it.

    Raises:
        GitError: one of the commits cannot be read.
    """
    scope = (await find(root)).scope()
    done = await _git().run(scope, "merge-base", "--is-ancestor", old, new, accept=(0, 1))
    return done.code == 0


async def fast_forward(
    request: FastForwardRequest, filter_environment: Mapping[str, str]
) -> LandOutcome:
    """Move a branch, and the checkout that shows it, if nothing can be lost.

    Args:
        request: the branch and the two commits.
        filter_environment: the variables that the checkout's own filters get.

    Raises:
        GitError: git failed before anything was moved.
    """
    return await GitUserRepository(_git(), Person(filter_environment)).fast_forward(request)


def _repository() -> GitUserRepository:
    return GitUserRepository(_git(), person_of(os.environ))


def _git() -> Git:
    return Git(git_program())
