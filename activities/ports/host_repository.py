"""The activities' port to a session's bare repository and its worktrees (role `host`).

    WorktreeStore    worktrees, their locks, checkpoints
    SessionHistory   bases, task commits, merges, refs
    CommitReader     files of a commit, and the differences between two

It exchanges only bundles and packs with the user's repository, and runs no hook, filter or driver.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from activities.ports.history_values import HistoryImport, Waiting
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

FindingKind = Literal[
    "nested_git", "submodule", "not_regular", "name", "symlink", "lfs", "filter", "encoding"
]


class Finding(BaseModel, frozen=True, extra="forbid"):
    """Something in the worktree that is not collected, and why."""

    kind: FindingKind
    path: str
    text: str
    """For the agent: the rule, and what to do instead."""


class Change(BaseModel, frozen=True, extra="forbid"):
    """One path that differs. A rename is a removal and an addition."""

    path: str
    status: Literal["added", "modified", "deleted"]
    mode: Literal["100644", "100755", "120000", "160000"] | None
    """The new mode; None if deleted."""
    size: int
    """Size of the new content in bytes; 0 if deleted."""


class Collected(BaseModel, frozen=True, extra="forbid"):
    """The worktree as a tree, without ignored files."""

    tree: Tree
    changes: tuple[Change, ...] = ()
    """Differences from the last collection or restoration, whichever was later; by path."""
    findings: tuple[Finding, ...] = ()


class CheckpointRequest(BaseModel, frozen=True, extra="forbid"):
    """A checkpoint to make. The same request makes the same commit."""

    name: str
    """The worktree."""
    ref: str = Field(pattern=r"^refs/blueflame/.+")
    previous: Commit | None
    """The commit that `ref` holds now; None: it must not exist yet."""
    parent: Commit
    tree: Tree
    session: SessionId
    task: TaskId
    attempt: int = Field(ge=1)
    turn: int = Field(ge=0)
    observations: bytes
    when: datetime
    """With a time zone, in whole seconds."""


class Checkpoint(BaseModel, frozen=True, extra="forbid"):
    """A recorded checkpoint."""

    commit: Commit
    parent: Commit
    tree: Tree
    session: SessionId
    task: TaskId
    attempt: int
    turn: int
    observations: bytes


class RecordedTurn(BaseModel, frozen=True, extra="forbid"):
    """One turn's checkpoint."""

    agent: str
    turn: int
    commit: Commit


class RecordedTurns(BaseModel, frozen=True, extra="forbid"):
    """All checkpoints of a task's work beneath one ref."""

    turns: tuple[RecordedTurn, ...]
    """The newest first. An attempt that continued an earlier one's work has that one's beneath."""
    base: Commit
    """What the newest attempt's work is based on, apart from earlier work of the task."""


class WorktreePlace(BaseModel, frozen=True, extra="forbid"):
    """The location of a worktree, for a sandbox."""

    name: str
    path: Path
    git_dir: Path
    """The bare repository; only Blue Flame writes it."""
    state: Path
    """A folder for the worktree's state, outside every sandbox; it may not exist yet."""


class WorktreeStore(Protocol):
    """Worktrees of one user repository, and their checkpoints.

    The operations on a worktree's files need its lock (`lock`): restore, collect, checkpoint.
    """

    async def create_worktree(self, name: str, commit: Commit) -> WorktreePlace:
        """Make a locked, detached worktree; one left half-made by a kill is made again.

        A complete one stays as it is, whatever it holds.

        Args:
            name: `[a-z0-9][a-z0-9._-]*`, unique in this repository.
            commit: the commit to check out; HEAD names it.
        """
        ...

    async def remove_worktree(self, name: str) -> None:
        """Delete a worktree with all its files, even ignored ones. If it is missing, do nothing."""
        ...

    def lock(
        self, name: str, on_wait: Callable[[], None] | None = None
    ) -> AbstractAsyncContextManager[int]:
        """Hold the worktree exclusively, across processes; waits without limit.

        Args:
            name: the worktree.
            on_wait: called between tries, to send a heartbeat.

        Returns:
            A context manager; its value is a descriptor for `Sandbox.run(hold=…)`. The lock is free
            when the last process that inherited it is dead.
        """
        ...

    async def restore(self, name: str, commit: Commit, *, is_used: bool = True) -> None:
        """Bring the worktree exactly to `commit`, except ignored files, and mark it as in use.

        Costs almost nothing if `commit` is the last checkpoint, or what it was made for, and it was
        not in use since.

        Args:
            name: the worktree.
            commit: what its files shall be.
            is_used: whether something may be written from here on. If not, it is not marked.

        Raises:
            WorktreeDamagedError: it cannot be restored; remove and create it.
        """
        ...

    async def collect(self, name: str, *, lists_changes: bool = True) -> Collected:
        """Turn the files of the worktree into a tree. No process may be writing to it.

        Args:
            name: the worktree.
            lists_changes: whether to compare the tree with the last one; if not, `changes` is
                empty.
        """
        ...

    async def collect_at(self, name: str, commit: Commit) -> Collected:
        """Restore the worktree to `commit`, and collect it.

        Costs almost nothing if `commit` is the last checkpoint and was made by this process.
        """
        ...

    async def standing_tree(self, name: str) -> Tree:
        """Return the tree of the last restore or collection; looks at no file, so costs nothing."""
        ...

    async def ignored(self, name: str, limit: int = 200) -> tuple[str, ...]:
        """List ignored files and folders (`x/`) that were not marked, at most `limit`."""
        ...

    async def mark_ignored(self, name: str, also: tuple[str, ...] = ()) -> None:
        """Mark the ignored files and folders that are there as no one's work.

        Args:
            name: the worktree.
            also: further ones, which are not there but seen beneath the worktree.
        """
        ...

    async def ignored_paths(self, name: str) -> tuple[bytes, ...]:
        """List all ignored files and folders (`x/`) as raw bytes; for a person see `ignored`."""
        ...

    async def stray_paths(self, name: str) -> tuple[bytes, ...]:
        """List files and whole folders (`x/`) that are neither tracked nor ignored."""
        ...

    async def discard_ignored(self, name: str, also: tuple[bytes, ...] = ()) -> None:
        """Delete all ignored files and folders, and everything at the paths in `also`."""
        ...

    async def checkpoint(self, request: CheckpointRequest) -> Commit:
        """Record the collected tree with its observations. Repeating a request is not an error.

        Raises:
            RefMovedError: the ref holds another checkpoint.
        """
        ...

    async def read_checkpoint(self, ref: str) -> Checkpoint | None:
        """Return the checkpoint that `ref` names; None if there is none."""
        ...

    async def recorded_turns(
        self, ref: str, session: SessionId, task: TaskId
    ) -> RecordedTurns | None:
        """Return the checkpoints of a task that a ref reaches; None if the ref does not exist."""
        ...

    async def free_bytes(self) -> int:
        """Return the free space of the host's data disk."""
        ...


class SessionHistory(Protocol):
    """The commits and refs of the sessions: their base, task commits, merges."""

    async def await_base(self, commit: Commit) -> Waiting:
        """Make the repository if it is missing, and say what it lacks for a base."""
        ...

    async def import_base(self, asked: HistoryImport) -> None:
        """Take a base in and name it `refs/blueflame/<session>/base`.

        Raises:
            PrerequisiteMissingError: not all of it has arrived; have it sent whole.
            BundleError: a whole bundle does not hold the base and all that it needs.
            RefMovedError: the session already has another base.
        """
        ...

    async def kept_commits(self, commit: Commit, own: tuple[Commit, ...]) -> int | None:
        """Return how many commits of a history are here; None: it was not cut.

        Args:
            commit: the base.
            own: where the history ends in the person's repository too.
        """
        ...

    async def import_names(self, names: bytes) -> None:
        """Import a bundle of tags and remote-tracking names; does nothing if it is empty.

        Raises:
            BundleError: the bundle is damaged.
        """
        ...

    async def import_excludes(self, excludes: bytes) -> None:
        """Let worktrees ignore, beside what `.gitignore` files say, what the person's git does.

        Args:
            excludes: the text of one such file; it takes the place of what was imported before.
        """
        ...

    async def import_rules(self, rules: AttributeRules) -> None:
        """Let git convert files by the person's own rules too, in place of those before."""
        ...

    async def tip(self, ref: str) -> Commit | None:
        """Return the commit that `ref` names; None if it does not exist."""
        ...

    async def past_subjects(self, commit: Commit, most: int) -> tuple[PastSubject, ...]:
        """Return the newest commits from `commit` down that are not merges, the newest first."""
        ...

    async def squash(self, task: TaskCommit) -> Commit:
        """Make a task's one commit. No ref reaches it until `advance`."""
        ...

    async def merge(
        self, head: Commit, parts: tuple[MergePart, ...], when: datetime
    ) -> MergeOutcome:
        """Merge `parts` in order into `head`, without a worktree and without moving a ref."""
        ...

    async def rebase(self, request: Rebase) -> Rebased:
        """Move work onto another base, without a worktree and without moving a ref.

        Renames are not followed: work stays under the paths that its task claims.
        """
        ...

    async def advance(self, ref: str, new: Commit, old: Commit | None) -> None:
        """Move `ref` from `old` (None: absent) to `new`; it is not an error if it is there already.

        Raises:
            RefMovedError: it holds another commit.
        """
        ...

    async def merged_before(self, ref: str, old: Commit, tree: Tree) -> Commit | None:
        """Return the commit after `old` on a ref's first parents that has this tree, if any."""
        ...

    async def bundle(self, ref: str, since: Commit | None) -> bytes:
        """Bundle the commits of a ref or commit that are not in `since`; None: all of them."""
        ...


class CommitReader(Protocol):
    """Reads commits, and the differences between two of them."""

    async def diff(self, base: Commit, commit: Commit) -> bytes:
        """Return the patch between two commits, with renames and modes, for reading."""
        ...

    async def changed_files(self, base: Commit, commit: Commit) -> tuple[ChangedFile, ...]:
        """List the differences between two commits, with the facts that the diff check needs."""
        ...

    async def added_lines(self, base: Commit, commit: Commit) -> tuple[AddedLines, ...]:
        """Return the lines that `commit` has and `base` lacks.

        Raises:
            OutputTooLargeError: there are too many lines to hold; check the sizes first.
        """
        ...

    async def new_markers(self, base: Commit, commit: Commit) -> tuple[str, ...]:
        """List the files in which `commit` has more conflict markers than `base`."""
        ...

    async def link_faults(self, base: Commit, commit: Commit) -> tuple[tuple[str, str], ...]:
        """List path and fault of each link that leads outside in `commit`, but not in `base`."""
        ...

    async def filtered(self, base: Commit, commit: Commit) -> tuple[tuple[str, str], ...]:
        """List path and filter, other than LFS, of each file that `commit` adds or changes."""
        ...

    async def changed_lines(
        self, base: Commit, commit: Commit, path: str
    ) -> tuple[tuple[int, int], ...]:
        """Return the first and last line of each change that `commit` makes to a file.

        Lines are counted from 1, in the new file. If lines were only removed, the two are the lines
        around the gap; the first can be 0.
        """
        ...

    async def paths(self, commit: Commit) -> tuple[str, ...]:
        """List every file of `commit`, except names that are not UTF-8."""
        ...

    async def entries(self, commit: Commit) -> dict[bytes, str]:
        """Return the object of every file of `commit` by its path, as raw bytes."""
        ...

    async def tree_of(self, commit: Commit) -> Tree:
        """Return the tree of `commit`."""
        ...

    async def read_file(self, commit: Commit, path: str) -> bytes | None:
        """Return a file's bytes (a symlink's target) in `commit`; None if there is no file."""
        ...


class HostRepository(WorktreeStore, SessionHistory, CommitReader, Protocol):
    """The bare repository on the host for one user repository, with its worktrees.

    Every operation may be killed at any point and repeated. Callers ask for only the part that they
    need.
    """
