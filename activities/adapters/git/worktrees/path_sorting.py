"""Sorts the paths of a worktree by how they are collected: stored, removed, or left out and told.

Each file is checked here before it is stored. It inspects files and starts no process.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from activities.adapters.git.worktrees import conversion, lfs
from activities.adapters.git.worktrees.collected_names import (
    backslash_fault,
    is_dot_git,
    is_dot_gitmodules,
    link_fault,
    name_fault,
    shown,
)
from activities.adapters.git.worktrees.folder_scan import Oddities, folders_of, scan
from activities.ports.host_repository import Finding, FindingKind
from workflows.domain.ids import Tree

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


Stamp = tuple[int, int, int]
"""Of the index file; another stamp means another index."""


@dataclass(frozen=True)
class Known:
    """The content of the index, so that it need not be listed each time."""

    stamp: Stamp
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


class Work:
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
