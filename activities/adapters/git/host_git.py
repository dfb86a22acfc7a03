"""`HostRepository` over real git: one bare repository with its worktrees.

This is the facade; each job is in its own module.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from activities.adapters.git import (
    added_lines,
    base_names,
    base_transfer,
    commit_comparison,
    history_import,
    loose_objects,
    tree_reading,
    work_rebase,
)
from activities.adapters.git import commit_merge as merging
from activities.adapters.git import git_bundle as bundles
from activities.adapters.git.bare_repository import Bare, Layout
from activities.adapters.git.git_command import Git
from activities.adapters.git.repository_locks import Locking, exclusive
from activities.adapters.git.worktrees import checkpoint as checkpoints
from activities.adapters.git.worktrees import commit_filters, pipe_removal, recorded_turns
from activities.adapters.git.worktrees import restore as restoring
from activities.adapters.git.worktrees.collected_names import shown
from activities.adapters.git.worktrees.collection import Collector
from activities.adapters.git.worktrees.worktree import Worktrees
from activities.ports.git_errors import BundleError
from activities.ports.history_values import HistoryImport, Waiting
from activities.ports.host_repository import (
    Checkpoint,
    CheckpointRequest,
    Collected,
    Finding,
    RecordedTurns,
    WorktreePlace,
)
from activities.ports.merge_values import (
    MergeOutcome,
    MergePart,
    PastSubject,
    Rebase,
    Rebased,
    TaskCommit,
)
from activities.ports.user_repository import AttributeRules
from workflows.domain.ids import Commit, SessionId, TaskId, Tree
from workflows.policy.review.diff_rules import AddedLines, ChangedFile


def _is_below(path: bytes, folders: AbstractSet[bytes]) -> bool:
    parts = path.rstrip(b"/").split(b"/")
    return any(b"/".join(parts[:number]) + b"/" in folders for number in range(1, len(parts)))


@dataclass(frozen=True)
class Seams:
    """Hooks for crash tests; ordinary runs keep the defaults."""

    locking: Locking = exclusive
    """How a worktree is locked."""
    fail_point: Callable[[str], None] = lambda _: None
    """Called with `after-commit`: the checkpoint's commit exists and its ref has not moved; and
    with `after-arrival`: a base is named and not checked yet."""


class GitHostRepository:
    """The host's side; see the port for what each operation promises."""

    def __init__(self, git: Git, data: Path, key: str, seams: Seams = Seams()) -> None:
        """Take the program, the host's data folder and the repository's key; touch nothing."""
        self._git = git
        self._fail_point = seams.fail_point
        self._bare = Bare(git, Layout(data, key))
        self._objects = self._bare.layout.bare / "objects"
        self._worktrees = Worktrees(self._bare, seams.locking)
        self._collector = Collector(self._bare)
        self._looked: dict[Path, pipe_removal.Cache] = {}

    async def await_base(self, commit: Commit) -> Waiting:
        """Say what is lacking for a base."""
        await self._bare.ensure(commit)
        place = base_transfer.identity(self._bare.layout.bare)
        ends = tuple(sorted(self._bare.ends()))
        if await history_import.is_complete(self._bare, commit):
            return Waiting(is_there=True, known=(commit,), place=place, ends=ends)
        known = await history_import.known(self._bare)
        return Waiting(is_there=False, known=known, place=place, ends=ends)

    async def import_base(self, asked: HistoryImport) -> None:
        """Take a base in and name it."""
        await self._bare.ensure(asked.commit)
        await history_import.import_history(self._bare, asked, self._fail_point)

    async def kept_commits(self, commit: Commit, own: tuple[Commit, ...]) -> int | None:
        """Return how many commits of a cut history are here."""
        return await history_import.kept_commits(self._bare, commit, own)

    async def import_names(self, names: bytes) -> None:
        """Import tags and remote-tracking names."""
        if names:
            await base_names.take_in(self._bare, names)

    async def import_excludes(self, excludes: bytes) -> None:
        """Take in what the person's git ignores."""
        await self._bare.set_excludes(excludes)

    async def import_rules(self, rules: AttributeRules) -> None:
        """Convert files by the person's own rules too."""
        await self._bare.set_rules(rules)

    async def create_worktree(self, name: str, commit: Commit) -> WorktreePlace:
        """Make a worktree, or find a complete one."""
        return await self._worktrees.create(name, commit)

    async def remove_worktree(self, name: str) -> None:
        """Delete a worktree with all its files."""
        await self._worktrees.remove(name)
        self._collector.forget(self._worktrees.place(name).path)
        self._looked.pop(self._worktrees.place(name).path, None)

    def lock(
        self, name: str, on_wait: Callable[[], None] | None = None
    ) -> AbstractAsyncContextManager[int]:
        """Hold a worktree exclusively."""
        return self._worktrees.lock(name, on_wait)

    async def restore(self, name: str, commit: Commit, *, is_used: bool = True) -> None:
        """Bring a worktree exactly to `commit`."""
        scope = self._worktrees.scope(name)
        if not self._worktrees.is_at(name, commit):
            self._worktrees.mark(name, None)
            await self._disarm(scope.cwd)
            await restoring.restore(self._bare, scope, commit)
        self._worktrees.mark(name, None if is_used else commit)

    async def collect(self, name: str, *, lists_changes: bool = True) -> Collected:
        """Turn a worktree's files into a tree."""
        scope = self._worktrees.scope(name)
        deleted = await self._disarm(scope.cwd)
        collected = await self._collector.collect(scope, lists_changes=lists_changes)
        findings = sorted((*deleted, *collected.findings), key=lambda finding: finding.path)
        collected = Collected(
            tree=collected.tree, changes=collected.changes, findings=tuple(findings)
        )
        if collected.changes or collected.findings or not lists_changes:
            self._worktrees.mark(name, None)
        return collected

    async def collect_at(self, name: str, commit: Commit) -> Collected:
        """Bring a worktree to `commit` and collect what it holds then."""
        last = self._collector.last(self._worktrees.scope(name))
        if last is not None and self._worktrees.is_at(name, commit):
            return last
        await self.restore(name, commit)
        return await self.collect(name)

    async def standing_tree(self, name: str) -> Tree:
        """Return the tree that a worktree was restored to or collected as last."""
        return await self._collector.indexed(self._worktrees.scope(name))

    async def _disarm(self, worktree: Path) -> tuple[Finding, ...]:
        cache = self._looked.setdefault(worktree, {})
        return await asyncio.to_thread(pipe_removal.disarm, os.fsencode(worktree), cache)

    async def ignored(self, name: str, limit: int = 200) -> tuple[str, ...]:
        """List ignored files and folders that were not marked."""
        marked = self._worktrees.marked_ignored(name)
        paths = (path for path in await self.ignored_paths(name) if path.rstrip(b"/") not in marked)
        return tuple(shown(path) for path in islice(paths, limit))

    async def mark_ignored(self, name: str, also: tuple[str, ...] = ()) -> None:
        """Mark ignored files and folders as not written by an agent."""
        paths = (*await self.ignored_paths(name), *(os.fsencode(path) for path in also))
        self._worktrees.mark_ignored(name, (path.rstrip(b"/") for path in paths))

    async def ignored_paths(self, name: str) -> tuple[bytes, ...]:
        """List all ignored files and folders as raw bytes."""
        scope = self._worktrees.scope(name)
        await self._disarm(scope.cwd)
        arguments = ("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
        listed = (await self._git.run(scope, *arguments)).records()
        # For a folder that ignores itself, git also lists its content.
        whole = {path for path in listed if path.endswith(b"/")}
        return tuple(sorted(path for path in listed if not _is_below(path, whole)))

    async def stray_paths(self, name: str) -> tuple[bytes, ...]:
        """List files and whole folders that are neither tracked nor ignored."""
        scope = self._worktrees.scope(name)
        arguments = ("ls-files", "-z", "-o", "--exclude-standard", "--directory")
        return tuple((await self._git.run(scope, *arguments, "--no-empty-directory")).records())

    async def discard_ignored(self, name: str, also: tuple[bytes, ...] = ()) -> None:
        """Delete ignored files and folders, and everything at the paths in `also`."""
        scope = self._worktrees.scope(name)
        doomed = (*await self.ignored_paths(name), *also)
        await asyncio.to_thread(restoring.discard, os.fsencode(scope.cwd), doomed)

    async def checkpoint(self, request: CheckpointRequest) -> Commit:
        """Record the collected tree with its observations."""
        self._worktrees.scope(request.name)
        commit = await asyncio.to_thread(checkpoints.write, self._objects, request)
        self._fail_point("after-commit")
        await self._bare.update_ref(request.ref, commit, request.previous)
        self._worktrees.mark(request.name, commit)
        return commit

    async def tip(self, ref: str) -> Commit | None:
        """Return the commit that `ref` names."""
        return await self._bare.tip(ref)

    async def read_checkpoint(self, ref: str) -> Checkpoint | None:
        """Return the checkpoint that `ref` names."""
        return await checkpoints.read(self._bare, ref)

    async def recorded_turns(
        self, ref: str, session: SessionId, task: TaskId
    ) -> RecordedTurns | None:
        """Return the checkpoints that `ref` reaches."""
        tip = await self.tip(ref)
        return await recorded_turns.recorded(self._bare, tip, session, task) if tip else None

    async def past_subjects(self, commit: Commit, most: int) -> tuple[PastSubject, ...]:
        """Return the subjects of the newest commits."""
        form = f"--format=%s%x1f%(trailers:key={checkpoints.SESSION},valueonly,separator=%x20)"
        arguments = ("log", "-z", "--no-merges", f"--max-count={most}", form, commit)
        records = (await self._git.run(self._bare.scope(), *arguments)).stdout.split(b"\0")
        pairs = (each.decode("utf-8", "replace").partition("\x1f") for each in records if each)
        return tuple(PastSubject(subject, session.strip()) for subject, _, session in pairs)

    async def squash(self, task: TaskCommit) -> Commit:
        """Make a task's one commit."""
        message = loose_objects.with_trailers(task.message, task.trailers)
        text = loose_objects.commit_text(task.tree, (task.base,), message, task.when)
        written = await asyncio.to_thread(
            loose_objects.write, self._objects, "commit", text, task.base
        )
        return Commit(written)

    async def merge(
        self, head: Commit, parts: tuple[MergePart, ...], when: datetime
    ) -> MergeOutcome:
        """Merge `parts` in order into `head`."""
        return await merging.merge(self._bare, head, parts, when)

    async def rebase(self, request: Rebase) -> Rebased:
        """Move work onto another base."""
        return await work_rebase.rebase(self._bare, request)

    async def advance(self, ref: str, new: Commit, old: Commit | None) -> None:
        """Move a ref by compare-and-swap."""
        await self._bare.update_ref(ref, new, old)

    async def merged_before(self, ref: str, old: Commit, tree: Tree) -> Commit | None:
        """Return the commit on a ref that has this tree."""
        return await commit_comparison.with_tree(self._bare, old, ref, tree)

    async def bundle(self, ref: str, since: Commit | None) -> bytes:
        """Bundle the commits of `ref` that are not in `since`."""
        tip = await self._bare.resolve(ref)
        if tip is None:
            raise BundleError(f"ref {ref!r} does not exist; there is nothing to bundle")
        exclude = () if since is None else (since,)
        return await bundles.create(self._git, self._bare.scope(), tip, exclude)

    async def diff(self, base: Commit, commit: Commit) -> bytes:
        """Return the patch between two commits."""
        return await commit_comparison.diff(self._bare, base, commit)

    async def changed_files(self, base: Commit, commit: Commit) -> tuple[ChangedFile, ...]:
        """List the differences, with modes, sizes and whether a file is binary."""
        return await added_lines.changed_files(self._bare, base, commit)

    async def added_lines(self, base: Commit, commit: Commit) -> tuple[AddedLines, ...]:
        """Return the lines that `commit` adds."""
        return await added_lines.added_lines(self._bare, base, commit)

    async def new_markers(self, base: Commit, commit: Commit) -> tuple[str, ...]:
        """List files with new conflict markers."""
        return await merging.new_markers(self._bare, base, commit)

    async def link_faults(self, base: Commit, commit: Commit) -> tuple[tuple[str, str], ...]:
        """List links that lead outside."""
        return await commit_comparison.link_faults(self._bare, base, commit)

    async def filtered(self, base: Commit, commit: Commit) -> tuple[tuple[str, str], ...]:
        """List changed files that belong to a filter."""
        found = await commit_filters.filtered(self._bare, base, commit)
        return tuple((shown(path), name) for path, name in sorted(found.items()))

    async def changed_lines(
        self, base: Commit, commit: Commit, path: str
    ) -> tuple[tuple[int, int], ...]:
        """Return the changed lines of a file."""
        return await added_lines.changed_lines(self._bare, base, commit, path)

    async def paths(self, commit: Commit) -> tuple[str, ...]:
        """List every file of `commit`."""
        return await commit_comparison.paths(self._bare, commit)

    async def entries(self, commit: Commit) -> dict[bytes, str]:
        """Return the object of every file of a commit by its path."""
        found = await tree_reading.entries(self._bare, commit)
        return {path: entry.blob for path, entry in found.items()}

    async def tree_of(self, commit: Commit) -> Tree:
        """Return the tree of `commit`."""
        return await tree_reading.tree_of(self._bare, commit)

    async def read_file(self, commit: Commit, path: str) -> bytes | None:
        """Return a file's bytes in `commit`."""
        return await commit_comparison.read_file(self._bare, commit, path)

    async def free_bytes(self) -> int:
        """Return the free space on the disk."""
        place = self._bare.layout.data
        place.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(place).free
