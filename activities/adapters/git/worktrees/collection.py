"""Turns a worktree's files into a tree, with plumbing commands and never with `git add`.

`git add` would run a clean filter that a nested repository's configuration names, and would add
nested repositories as links. Here git only compares and lists; each file is checked before it is
stored, and is stored as `git add` would (`conversion`). Ignored files are absent. Policy (claims,
protected paths, sizes, secrets) is elsewhere.
"""

import asyncio
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.git_command import Scope, first_failure
from activities.adapters.git.worktrees import commit_filters, conversion, lfs
from activities.adapters.git.worktrees.collected_names import (
    backslash_fault,
    is_dot_git,
    is_dot_gitmodules,
    link_fault,
    name_fault,
    shown,
)
from activities.adapters.git.worktrees.folder_scan import Cache, Oddities, folders_of, scan
from activities.adapters.git.worktrees.worktree import unlock_folders
from activities.ports.git_errors import GitCommandError
from activities.ports.host_repository import Change, Collected, Finding, FindingKind
from workflows.domain.ids import Commit, Tree

RULES: dict[FindingKind, str] = {
    "nested_git": "a repository inside the worktree is not collected; delete its .git, or keep it "
    "in an ignored folder",
    "submodule": "submodules stay as they are in the base; put the work elsewhere",
    "not_regular": "only files, folders and links can be collected; delete it",
    "name": "such a name is not collected; rename it",
    "symlink": "a link has to stay inside the repository; make it relative to something in it",
    "lfs": "its pattern belongs to Git LFS, whose objects cannot be made here; leave it out",
    "filter": "its pattern belongs to a filter, and no filter is run here; leave it as it was. A "
    "change of `.gitattributes` that removes the filter counts only after it is merged",
    "encoding": "write it in the encoding that its attribute `working-tree-encoding` names",
}


@dataclass(frozen=True)
class Known:
    """The content of the index, so that it need not be listed each time."""

    stamp: tuple[int, int, int]
    """The stamp of the index file; another stamp means another index."""
    tree: Tree
    folders: frozenset[bytes]
    links: frozenset[bytes]
    """Paths of gitlinks."""
    attributes: frozenset[bytes]
    """Paths of `.gitattributes` files."""


@dataclass
class Sorted:
    """Paths, sorted by how they are collected."""

    stored: list[bytes] = field(default_factory=list[bytes])
    removed: list[bytes] = field(default_factory=list[bytes])
    findings: list[Finding] = field(default_factory=list[Finding])

    def find(self, kind: FindingKind, path: bytes, what: str) -> None:
        """Add a finding."""
        name = shown(path)
        text = f"{name!r} was not collected: {what}; {RULES[kind]}"
        self.findings.append(Finding(kind=kind, path=name, text=text))


@dataclass(frozen=True)
class Seen:
    """The result of one look at the worktree."""

    others: list[bytes]
    """Neither tracked nor ignored; nested repositories end with a slash."""
    differing: dict[bytes, bool]
    """Tracked, and the file may differ from the index; whether it is gone."""
    oddities: Oddities
    is_barred: bool
    """Whether a folder could not be entered, so that there may be more files."""


@dataclass(frozen=True)
class Facts:
    """What is known of the conversion of files that may have to be stored."""

    same: frozenset[bytes] = frozenset()
    """Tracked files that are as they were checked out, though git may call them different."""
    filters: Mapping[bytes, str] = field(default_factory=dict[bytes, str])
    """The filter of each path that has one, by the worktree's attributes or its base's."""


class Collector:
    """Collects one bare repository's worktrees."""

    def __init__(self, bare: Bare) -> None:
        """Take the repository; nothing is touched yet."""
        self._bare = bare
        self._git = bare.git
        self._known: dict[Path, Known] = {}
        self._bases: dict[Path, commit_filters.Attributes] = {}
        self._listings: dict[Path, Cache] = {}

    async def collect(self, scope: Scope, *, lists_changes: bool = True) -> Collected:
        """Collect the worktree of `scope`."""
        known = await self._what_is_known(scope)
        seen = await self._look(scope, known)
        if seen.is_barred:
            await asyncio.to_thread(unlock_folders, scope.cwd)
            seen = await self._look(scope, known)
        facts = await self._facts(scope, known, seen)
        work = _Work(os.fsencode(scope.cwd), known, facts)
        done = await asyncio.to_thread(work.sort, seen)
        tree = await self._store(scope, known, done)
        return Collected(
            tree=tree,
            changes=await self._changes(scope, known.tree, tree) if lists_changes else (),
            findings=tuple(sorted(done.findings, key=lambda finding: finding.path)),
        )

    async def _look(self, scope: Scope, known: Known) -> Seen:
        """Ask git for new and different paths, and scan the folders around them."""
        others = ("ls-files", "-z", "-o", "--exclude-standard")
        differing = ("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=all")
        cache = self._listings.setdefault(scope.cwd, {})
        look = partial(scan, os.fsencode(scope.cwd), known.folders, cache=cache)
        with first_failure():
            async with asyncio.TaskGroup() as group:
                listed = group.create_task(self._git.run(scope, *others))
                compared = group.create_task(self._git.run(scope, *differing))
                scanned = group.create_task(asyncio.to_thread(look))
        said = listed.result().stderr + compared.result().stderr
        return Seen(
            others=listed.result().records(),
            differing=_differing(compared.result().records()),
            oddities=scanned.result(),
            is_barred="Permission denied" in said,
        )

    async def indexed(self, scope: Scope) -> Tree:
        """Return the tree of the index: what was restored or collected last."""
        return (await self._what_is_known(scope)).tree

    def forget(self, worktree: Path) -> None:
        """Forget a worktree that is removed."""
        self._known.pop(worktree, None)
        self._bases.pop(worktree, None)
        self._listings.pop(worktree, None)

    async def _what_is_known(self, scope: Scope) -> Known:
        index = Path(scope.env["GIT_DIR"]) / "index"
        known = self._known.get(scope.cwd)
        if known is not None and known.stamp == _stamp(index):
            return known
        tree = Tree((await self._git.run(scope, "write-tree")).line())
        stamp = _stamp(index)
        records = (await self._git.run(scope, "ls-files", "-z", "-s")).records()
        paths = [record.partition(b"\t")[2] for record in records]
        known = Known(
            stamp,
            tree,
            frozenset(folders_of(paths)),
            frozenset(r.partition(b"\t")[2] for r in records if r.startswith(b"160000 ")),
            frozenset(conversion.attribute_files(paths)),
        )
        self._known[scope.cwd] = known
        return known

    async def _facts(self, scope: Scope, known: Known, seen: Seen) -> Facts:
        """Ask how git converts the files that may have to be stored."""
        paths = [*seen.others, *seen.differing]
        files = known.attributes | conversion.attribute_files(paths)
        if not paths:
            return Facts()
        base = await self._base(scope)
        filters = await commit_filters.filters_by(self._bare, scope, base, paths)
        if not conversion.may_convert(self._bare, files):
            return Facts(filters=filters)
        there = [path for path, is_gone in seen.differing.items() if not is_gone]
        same = await conversion.same_as_checked_out(self._bare, scope, there)
        if same:
            # Git's record of their times is renewed, so that it does not read them again.
            await self._git.run(scope, "update-index", "-q", "--refresh", accept=(0, 1))
        if not conversion.may_filter(self._bare, scope.cwd, files):
            return Facts(same, filters)
        return Facts(same, {**await conversion.filters(self._bare, scope, paths), **filters})

    async def _base(self, scope: Scope) -> commit_filters.Attributes:
        """Return the attributes of the commit for which the worktree was made: its HEAD.

        It is not always the task's base (earlier work may be in it): `filtered` judges by that.
        """
        head = Commit((Path(scope.env["GIT_DIR"]) / "HEAD").read_text().strip())
        known = self._bases.get(scope.cwd)
        if known is None or known.commit != head:
            known = await commit_filters.attributes_of(self._bare, head)
            self._bases[scope.cwd] = known
        return known

    async def _store(self, scope: Scope, known: Known, work: Sorted) -> Tree:
        if not work.removed and not work.stored:
            return known.tree
        # Removals first, because a file may now be a folder, and vice versa.
        if work.removed:
            arguments = ("update-index", "-z", "--force-remove", "--stdin")
            await self._git.run(scope, *arguments, stdin=_lines(work.removed))
        try:
            await self._add(scope, work.stored)
        except GitCommandError:
            faulty = await conversion.not_encodable(self._bare, scope, work.stored)
            if not faulty:
                raise
            for path in faulty:
                work.find("encoding", path, "git cannot convert it for storing")
            await self._add(scope, [path for path in work.stored if path not in faulty])
        tree = Tree((await self._git.run(scope, "write-tree")).line())
        self._known[scope.cwd] = Known(
            _stamp(Path(scope.env["GIT_DIR"]) / "index"),
            tree,
            known.folders.union(folders_of(work.stored)),
            known.links,
            known.attributes.union(conversion.attribute_files(work.stored)),
        )
        return tree

    async def _add(self, scope: Scope, paths: list[bytes]) -> None:
        if paths:
            arguments = ("update-index", "-z", "--add", "--stdin")
            await self._git.run(scope, *arguments, stdin=_lines(paths))

    async def _changes(self, scope: Scope, before: Tree, after: Tree) -> tuple[Change, ...]:
        if before == after:
            return ()
        compared = ("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after)
        records = (await self._git.run(scope, *compared)).records()
        root = os.fsencode(scope.cwd)
        changes = [
            _change(root, head, path)
            for head, path in zip(records[::2], records[1::2], strict=True)
        ]
        return tuple(sorted(changes, key=lambda change: change.path))


class _Work:
    """Sorts the paths of one collection; inspects files, starts no process."""

    def __init__(self, root: bytes, known: Known, facts: Facts) -> None:
        self._root = root
        self._known = known
        self._facts = facts
        self._sorted = Sorted()

    def sort(self, seen: Seen) -> Sorted:
        """Decide how to collect each path."""
        new = {path for path in seen.others if not path.endswith(b"/")}
        fresh = folders_of(new) - self._known.folders
        fresh |= {path for path in seen.differing if self._is_folder(path)}
        oddities = self._look_closer(fresh, seen.oddities)
        nested = {path.removesuffix(b"/") for path in seen.others if path.endswith(b"/")}
        nested |= {path.rpartition(b"/")[0] or path for path in oddities.nested_git}
        for path in sorted(nested):
            self._sorted.find("nested_git", path, "it is or holds a repository of its own")
        for path in oddities.not_regular:
            self._sorted.find("not_regular", path, "it is a pipe, a socket or a device")
        for link in sorted(self._known.links):
            self._check_submodule(link)
        for path in sorted(new):
            self._sort_new(path)
        for path, is_gone in sorted(seen.differing.items()):
            self._sort_tracked(path, is_gone=is_gone)
        return self._sorted

    def _is_folder(self, path: bytes) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(os.path.join(self._root, path)).st_mode)
        except OSError:
            return False

    def _look_closer(self, fresh: set[bytes], oddities: Oddities) -> Oddities:
        """Scan folders that are new; the first scan entered only known ones."""
        tops = [folder for folder in fresh if folder.rpartition(b"/")[0] not in fresh]
        more = scan(self._root, fresh, tops)
        return Oddities(
            (*oddities.nested_git, *more.nested_git), (*oddities.not_regular, *more.not_regular)
        )

    def _check_submodule(self, link: bytes) -> None:
        place = os.path.join(self._root, link)
        try:
            is_filled = bool(os.listdir(place))
        except FileNotFoundError:
            self._sorted.find("submodule", link, "its folder was deleted, the link is kept")
        except OSError:
            self._sorted.find("submodule", link, "something else stands in its place")
        else:
            if is_filled:
                self._sorted.find("submodule", link, "files were written in a submodule's folder")

    def _sort_new(self, path: bytes) -> None:
        fault = name_fault(path) or backslash_fault(path)
        if fault is not None:
            self._sorted.find("name", path, fault)
        elif any(is_dot_git(part) for part in path.split(b"/")):
            return  # found by the scan, with its folder
        else:
            self._keep(path)

    def _sort_tracked(self, path: bytes, *, is_gone: bool) -> None:
        if path in self._known.links or path in self._facts.same:
            return
        if is_gone or not self._keep(path, is_tracked=True):
            self._sorted.removed.append(path)

    def _keep(self, path: bytes, *, is_tracked: bool = False) -> bool:
        """Store a path if it is an allowed file or link; return whether it stays tracked."""
        place = os.path.join(self._root, path)
        try:
            status = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            return False
        if stat.S_ISLNK(status.st_mode):
            return self._keep_link(path)
        if not stat.S_ISREG(status.st_mode):
            return False
        if status.st_mode & stat.S_IRUSR == 0:
            os.chmod(place, 0o600 | stat.S_IMODE(status.st_mode))
        named = self._facts.filters.get(path)
        if named == conversion.LFS and not lfs.is_pointer(place):
            self._sorted.find("lfs", path, "it is not an LFS pointer")
            return is_tracked
        if named not in (None, conversion.LFS):
            self._sorted.find("filter", path, f"git would store it as filter {named!r} makes it")
            return is_tracked
        # Stored even if only times differ, because that refreshes git's record of them.
        self._sorted.stored.append(path)
        return True

    def _keep_link(self, path: bytes) -> bool:
        fault = link_fault(self._root, path)
        if fault is None and is_dot_gitmodules(path.replace(b"\\", b"/").rpartition(b"/")[2]):
            fault = "`.gitmodules` may not be a link"
        if fault is not None:
            self._sorted.find("symlink", path, fault)
            return False
        self._sorted.stored.append(path)
        return True


def _differing(records: list[bytes]) -> dict[bytes, bool]:
    """Parse `diff-files --raw -z`."""
    pairs = zip(records[::2], records[1::2], strict=True)
    return {path: head.endswith(b" D") for head, path in pairs}


_MODES: Final[Mapping[str, Literal["100644", "100755", "120000", "160000"]]] = {
    "100644": "100644",
    "100755": "100755",
    "120000": "120000",
    "160000": "160000",
}


def _change(root: bytes, head: bytes, path: bytes) -> Change:
    """Return the change of one record of `diff-tree --raw -z`."""
    _, mode, _, _, status = head.decode().split(" ")
    if status == "D":
        return Change(path=shown(path), status="deleted", mode=None, size=0)
    size = os.lstat(os.path.join(root, path)).st_size
    kind = "added" if status == "A" else "modified"
    return Change(path=shown(path), status=kind, mode=_MODES[mode], size=size)


def _lines(paths: list[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))


def _stamp(index: Path) -> tuple[int, int, int]:
    status = index.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino
