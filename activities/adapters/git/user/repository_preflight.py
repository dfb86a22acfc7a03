"""Inspects the user's repository before anything is paid for, and refuses in words for a person.

It changes nothing, not even the times in the index: checks that need a fresh index use a copy.
"""

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from activities.adapters.git.git_command import Git, Scope
from activities.adapters.git.user.file_settings import file_settings, read_rules
from activities.adapters.git.user.user_checkouts import under_way
from activities.adapters.git.user.user_git import (
    Found,
    find,
    require_readable_refs,
    resolve,
    without_programs,
)
from activities.adapters.git.worktrees.collected_names import shown
from activities.adapters.git.worktrees.conversion import LFS, filter_patterns
from activities.ports.git_errors import (
    BaseMissingError,
    BranchNameBlockedError,
    EmptyRepositoryError,
    GitCommandError,
    PartialCloneError,
    RepositoryDamagedError,
    RepositoryRefusedError,
    RepositoryUnreadableError,
    UnusableNameError,
)
from activities.ports.user_repository import AttributeRules, RepositoryFacts
from workflows.domain.ids import Commit, SessionId, Tree
from workflows.policy.review.file_names import NAME_BYTES, PATH_BYTES, length_fault

OURS = "refs/heads/blueflame"
OPERATIONS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisection",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "sequencer": "series of picks",
}
"""The names that people use for the operations; a lock of the index is not one of them."""
_MENDS: Final = (
    (r"unknown repository extension|Expected git repo version", "a newer git may know the format"),
    (r"bad config|bad numeric config|bad boolean config", "fix that file (`git config --edit`)"),
    (r"index file|index uses", "`git read-tree HEAD` in it makes the index again"),
    (r"alternate|object directory", "its file `.git/objects/info/alternates` leads nowhere"),
)
_ELSE: Final = "`git fsck` in it tells more, and a fresh clone may fix it"
_OWNERSHIP: Final = "dubious ownership"
_PLACE: Final = re.compile(r"/\S*/blueflame-[^/]+/")
"""The folder of the copy that is read instead; a person cannot find it."""


@dataclass(frozen=True)
class Contents:
    """The content of a tree."""

    count: int
    size: int
    submodules: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    """Folder and blob of each `.gitattributes`."""


async def inspect(
    git: Git,
    path: Path,
    base: str | None,
    session: SessionId | None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> RepositoryFacts:
    """Gather the facts, or refuse; see the port. `environment` is of `file_settings`."""
    found = await find(path)
    _refuse_unspeakable(found.root)
    try:
        return await _inspect(git, found, base or None, session, environment)
    except GitCommandError as error:
        raise refusal(found, error) from error


async def _inspect(
    git: Git,
    found: Found,
    base: str | None,
    session: SessionId | None,
    environment: Mapping[str, str],
) -> RepositoryFacts:
    settings = await file_settings(git, found, environment)
    scope = await without_programs(git, found.scope())
    commit = await _base_commit(git, scope, found, base)
    await _refuse_blocked_name(git, scope, session)
    await _refuse_partial(git, scope, commit)
    contents = await _contents(git, scope, commit, found)
    filters = await _filters(git, scope, contents, read_rules(found, settings))
    return RepositoryFacts(
        root=found.root,
        key=found.key,
        is_bare=found.is_bare,
        base=commit,
        base_branch=await _branch(git, scope, base),
        tree=Tree((await git.run(scope, "rev-parse", f"{commit}^{{tree}}")).line()),
        file_count=contents.count,
        tree_bytes=contents.size,
        owner=found.owner,
        is_writable=found.is_writable,
        is_dirty=not found.is_bare and await is_dirty(git, settings.within(scope), found),
        under_way=OPERATIONS.get(under_way(found.git_dir) or ""),
        submodules=contents.submodules,
        lfs_patterns=tuple(pattern for pattern, name in filters if name == LFS),
        filtered=tuple(each for each in filters if each[1] != LFS),
    )


def _refuse_unspeakable(root: Path) -> None:
    """Refuse a path that could not be named in a message, a database or a log."""
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        raise UnusableNameError(
            f"the path {os.fsencode(root)!r} is not UTF-8, so it cannot be passed on; rename the "
            "folder"
        ) from error


async def _base_commit(git: Git, scope: Scope, found: Found, base: str | None) -> Commit:
    commit = await resolve(git, scope, base or "HEAD")
    if commit is not None:
        return commit
    await _refuse_lost(git, scope, found, base or "HEAD")
    await _refuse_unread(git, scope, found)
    some = await git.run(scope, "for-each-ref", "--count=1", "--format=%(refname:short)")
    if not some.stdout.strip():
        raise EmptyRepositoryError(
            f"{str(found.root)!r} has no commit yet; commit something, then start again"
        )
    if base is None:
        raise BaseMissingError(
            f"HEAD of {str(found.root)!r} names no commit; name a base, for example {some.line()!r}"
        )
    raise BaseMissingError(
        f"{base[:200]!r} is not a branch, tag or commit of {str(found.root)!r}; fetch it, or name "
        "another (`git branch -a` lists them)"
    )


async def _refuse_lost(git: Git, scope: Scope, found: Found, base: str) -> None:
    """Refuse a name whose object is missing or cannot be read."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", base)
    named = await git.run(scope, *arguments, accept=(0, 1, 128))
    if named.code:
        return
    looked = await git.run(scope, "cat-file", "-t", named.line(), accept=(0, 128))
    if looked.code:
        raise damaged(found, f"{looked.stderr} fatal: {base!r} is {named.line()}, which is lost")


async def _refuse_unread(git: Git, scope: Scope, found: Found) -> None:
    """Refuse refs that are there and that git may not, or will not, read."""
    try:
        await asyncio.to_thread(require_readable_refs, found)
    except PermissionError as error:
        raise unreadable(found, f"{error.filename!r}: {error.strerror}") from error
    asked = await git.run(scope, "rev-parse", "--verify", "HEAD", accept=(0, 1, 128))
    if _OWNERSHIP in asked.stderr or "ermission denied" in asked.stderr:
        raise refusal(found, GitCommandError(("rev-parse",), asked.code, asked.stderr))


async def _branch(git: Git, scope: Scope, base: str | None) -> str | None:
    if base is None:
        named = await git.run(scope, "symbolic-ref", "-q", "HEAD", accept=(0, 1))
    else:
        arguments = (
            "rev-parse",
            "--symbolic-full-name",
            "--verify",
            "-q",
            "--end-of-options",
            base,
        )
        named = await git.run(scope, *arguments, accept=(0, 1, 128))
    ref = (named.line().splitlines() or [""])[-1]
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None


async def _refuse_blocked_name(git: Git, scope: Scope, session: SessionId | None) -> None:
    listed = await git.run(scope, "for-each-ref", "--format=%(refname)", OURS)
    for ref in listed.stdout.decode("utf-8", "replace").splitlines():
        if ref == OURS or (session and ref.startswith(f"{OURS}/{session}/")):
            short = ref.removeprefix("refs/heads/")
            raise BranchNameBlockedError(
                f"your branch {short!r} conflicts with 'blueflame/<session>'; rename it: "
                f"git branch -m {short} {short.replace('/', '-')}-mine"
            )


async def _refuse_partial(git: Git, scope: Scope, commit: Commit) -> None:
    arguments = ("config", "--get-regexp", r"^remote\..*\.promisor$")
    if (await git.run(scope, *arguments, accept=(0, 1))).code == 1:
        return
    listed = ("rev-list", "--objects", "--missing=print", "--no-object-names", commit)
    names = (await git.run(scope, *listed)).stdout.splitlines()
    missing = sum(name.startswith(b"?") for name in names)
    if missing:
        raise PartialCloneError(
            f"this is a partial clone that lacks {missing} objects of the base; fill it with "
            "`git fetch --refetch --no-filter` and start again"
        )


async def _contents(git: Git, scope: Scope, commit: Commit, found: Found) -> Contents:
    records = (await git.run(scope, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)).records()
    count = size = 0
    submodules: list[str] = []
    attributes: list[tuple[str, str]] = []
    for record in records:
        head, _, name = record.partition(b"\t")
        mode, _, blob, length = head.decode().split()
        path = name.decode("utf-8", "backslashreplace")
        if length == "BAD":
            raise damaged(found, f"{path!r} of the base is lost")
        _refuse_overlong(name)
        count += 1
        size += int(length) if length != "-" else 0
        if mode == "160000":
            submodules.append(path)
        elif path.rpartition("/")[2] == ".gitattributes":
            attributes.append((path.rpartition("/")[0], blob))
    return Contents(count, size, tuple(submodules), tuple(attributes))


def _refuse_overlong(path: bytes) -> None:
    """Refuse paths that no worktree could hold; git stores any length."""
    what = length_fault(path)
    if what is None:
        return
    raise UnusableNameError(
        f"the base holds {what} bytes, {shown(path[:80])!r}…, and a worktree takes names of "
        f"{NAME_BYTES} and paths of {PATH_BYTES}; shorten it and commit"
    )


async def _filters(
    git: Git, scope: Scope, contents: Contents, rules: AttributeRules
) -> Sequence[tuple[str, str]]:
    """Return the patterns of files that a filter would convert, each with the filter."""
    texts = [("", rules.outranked), ("", rules.outranking)]
    for folder, blob in contents.attributes:
        texts.append((folder, (await git.run(scope, "cat-file", "blob", blob)).stdout))
    return filter_patterns(texts)


async def is_dirty(git: Git, scope: Scope, found: Found) -> bool:
    """Say whether tracked files differ from the index, or the index from HEAD.

    No filter runs, so a file that one has written (LFS) says nothing.
    """
    with tempfile.TemporaryDirectory(prefix="blueflame-") as folder:
        copied = copy_index(scope, Path(folder)).having(
            # Reading a sparse index writes trees, which go into the folder.
            GIT_OBJECT_DIRECTORY=folder,
            GIT_ALTERNATE_OBJECT_DIRECTORIES=_quoted(found.common_dir / "objects"),
        )
        refresh = ("update-index", "-q", "--ignore-submodules", "--refresh")
        await git.run(copied, *refresh, accept=(0, 1))
        quiet = ("--quiet", "--ignore-submodules=all")
        listed = ("diff-files", "-z", "--name-only", "--ignore-submodules=all")
        if await _unfiltered(git, scope, (await git.run(copied, *listed)).records()):
            return True
        staged = ("diff-index", "--cached", *quiet, "HEAD", "--")
        return (await git.run(copied, *staged, accept=(0, 1, 128))).code != 0


async def _unfiltered(git: Git, scope: Scope, paths: Sequence[bytes]) -> bool:
    """Say whether one of these files goes through no filter; asking runs none."""
    if not paths:
        return False
    asked = b"".join(path + b"\0" for path in paths)
    answer = await git.run(scope, "check-attr", "-z", "--stdin", "filter", stdin=asked)
    return any(value in {b"unspecified", b"unset"} for value in answer.records()[2::3])


def _quoted(path: Path) -> str:
    """Quote a path for a list in which git takes a colon as the separator."""
    text = str(path).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{text}"'


def copy_index(scope: Scope, folder: Path) -> Scope:
    """Return a scope that works on a copy of the index, with its times."""
    index = Path(scope.env["GIT_DIR"]) / "index"
    if index.exists():
        # Times are kept: git uses them to decide which entries to check again.
        shutil.copy2(index, folder / "index")
    return scope.having(GIT_INDEX_FILE=str(folder / "index"))


def refusal(found: Found, error: GitCommandError) -> RepositoryRefusedError:
    """Return what git's failure to read the repository means.

    Only for inspection, before anything is made: there each failure of git means that sessions
    cannot work on the repository, and a retry would not help.

    Raises:
        GitCommandError: git was killed, which says nothing about the repository.
    """
    if error.code < 0:
        raise error
    said = _PLACE.sub(".git/", error.stderr.strip())
    if _OWNERSHIP in said:
        return RepositoryUnreadableError(
            f"git does not read {str(found.root)!r} here, because it belongs to {found.owner}; "
            f"start Blue Flame as that user (`sudo -u {found.owner} …`)"
        )
    return unreadable(found, said) if "ermission denied" in said else damaged(found, said)


def unreadable(found: Found, said: str) -> RepositoryUnreadableError:
    """Return the refusal of a repository that another account may read."""
    return RepositoryUnreadableError(
        f"{str(found.root)!r} belongs to {found.owner} and cannot be read ({said}); give the "
        "account that runs Blue Flame read access (`chmod -R a+rX .git` in it), or start it as the "
        "owner"
    )


def damaged(found: Found, said: str) -> RepositoryDamagedError:
    """Return the refusal of a repository that git cannot read."""
    # Git's last message; earlier ones are seldom of use to a person.
    last = " ".join(said.split()).removeprefix("error: ").split("fatal: ")[-1]
    short = last[:300] or "it does not say why"
    fix = next((fix for pattern, fix in _MENDS if re.search(pattern, said)), _ELSE)
    return RepositoryDamagedError(f"git cannot read {str(found.root)!r} ({short}); {fix}")
