"""Turns a worktree's files into a tree, with plumbing commands and never with `git add`.

`git add` would run a clean filter that a nested repository's configuration names, and would add
nested repositories as links. Here git only compares and lists; each file is checked before it is
stored (`path_sorting`), and is stored as `git add` would (`conversion`). Ignored files are absent.
Policy (claims, protected paths, sizes, secrets) is elsewhere.
"""

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final, Literal

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.git_command import Scope, first_failure
from activities.adapters.git.worktrees import commit_filters, conversion
from activities.adapters.git.worktrees.collected_names import shown
from activities.adapters.git.worktrees.folder_scan import Cache, folders_of, scan
from activities.adapters.git.worktrees.path_sorting import Facts, Known, Seen, Sorted, Stamp, Work
from activities.adapters.git.worktrees.worktree import unlock_folders
from activities.ports.git_errors import GitCommandError
from activities.ports.host_repository import Change, Collected
from workflows.domain.ids import Commit, Tree


class Collector:
    """Collects one bare repository's worktrees."""

    def __init__(self, bare: Bare) -> None:
        """Take the repository; nothing is touched yet."""
        self._bare = bare
        self._git = bare.git
        self._known: dict[Path, Known] = {}
        self._bases: dict[Path, commit_filters.Attributes] = {}
        self._listings: dict[Path, Cache] = {}
        self._last: dict[Path, tuple[Stamp, Collected]] = {}

    def last(self, scope: Scope) -> Collected | None:
        """Return what was collected last, as if it were collected again without any change.

        None if that is not known here, or if the index was written since. The caller knows that no
        file was.
        """
        stamp, collected = self._last.get(scope.cwd, (None, None))
        return collected if stamp == _stamp(_index(scope)) else None

    async def collect(self, scope: Scope, *, lists_changes: bool = True) -> Collected:
        """Collect the worktree of `scope`."""
        known = await self._what_is_known(scope)
        seen = await self._look(scope, known)
        if seen.is_barred:
            await asyncio.to_thread(unlock_folders, scope.cwd)
            seen = await self._look(scope, known)
        facts = await self._facts(scope, known, seen)
        work = Work(os.fsencode(scope.cwd), known, facts)
        done = await asyncio.to_thread(work.sort, seen)
        tree = await self._store(scope, known, done)
        findings = tuple(sorted(done.findings, key=lambda finding: finding.path))
        unchanged = Collected(tree=tree, changes=(), findings=findings)
        self._last[scope.cwd] = (self._known[scope.cwd].stamp, unchanged)
        if not lists_changes:
            return unchanged
        changes = await self._changes(scope, known.tree, tree)
        return Collected(tree=tree, changes=changes, findings=findings)

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
        self._last.pop(worktree, None)

    async def _what_is_known(self, scope: Scope) -> Known:
        index = _index(scope)
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
            _stamp(_index(scope)),
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


def _index(scope: Scope) -> Path:
    return Path(scope.env["GIT_DIR"]) / "index"


def _stamp(index: Path) -> Stamp:
    status = index.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino
