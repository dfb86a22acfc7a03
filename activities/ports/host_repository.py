"""What the activities ask of our own bare repository and its worktrees (role `host`).

    WorktreeStore    worktrees, their locks, checkpoints
    SessionHistory   bases, task commits, merges, refs
    CommitReader     files of a commit, and what differs between two

It meets the user's repository (`user_repository`) only through bundles. Nothing runs that the
repository names: no hook, no filter, no driver.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from activities.ports.user_repository import BaseBundle
from workflows.domain.ids import Commit, SessionId, TaskId, Tree
from workflows.policy.review.diff_rules import AddedLines, ChangedFile

FindingKind = Literal["nested_git", "submodule", "not_regular", "name", "symlink", "lfs"]


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
    """The new mode; None where deleted."""
    size: int
    """Bytes of the new content; 0 where deleted."""


class Collected(BaseModel, frozen=True, extra="forbid"):
    """The worktree as a tree. Ignored files are not in it."""

    tree: Tree
    changes: tuple[Change, ...] = ()
    """Against the last collection, or the last restoration if that was later; by path."""
    findings: tuple[Finding, ...] = ()


class CheckpointRequest(BaseModel, frozen=True, extra="forbid"):
    """A checkpoint to be made. The same request makes the same commit."""

    name: str
    """The worktree."""
    ref: str = Field(pattern=r"^refs/blueflame/.+")
    previous: Commit | None
    """What `ref` holds now; None: it must not exist yet."""
    parent: Commit
    tree: Tree
    session: SessionId
    task: TaskId
    attempt: int = Field(ge=1)
    turn: int = Field(ge=0)
    observations: bytes
    when: datetime
    """With a time zone; whole seconds count."""


class Checkpoint(BaseModel, frozen=True, extra="forbid"):
    """A checkpoint as it was recorded."""

    commit: Commit
    parent: Commit
    tree: Tree
    session: SessionId
    task: TaskId
    attempt: int
    turn: int
    observations: bytes


class TaskCommit(BaseModel, frozen=True, extra="forbid"):
    """One commit on the task's base that holds all of a task's work."""

    base: Commit
    tree: Tree
    message: str
    trailers: tuple[tuple[str, str], ...] = ()
    when: datetime


class MergePart(BaseModel, frozen=True, extra="forbid"):
    """One commit to merge, with the message for its merge commit."""

    commit: Commit
    message: str


class Merged(BaseModel, frozen=True, extra="forbid"):
    """All parts merged."""

    kind: Literal["merged"] = "merged"
    commit: Commit
    tree: Tree
    heads: tuple[Commit, ...]
    """The head after each part, in order; the last is `commit`."""


class Conflict(BaseModel, frozen=True, extra="forbid"):
    """The first part that does not merge; nothing was changed."""

    kind: Literal["conflict"] = "conflict"
    head: Commit
    """What it was to be merged into: all parts before it, merged."""
    commit: Commit
    kinds: tuple[str, ...]
    """git's names: `contents`, `modify/delete`, `rename/rename`, `markers` for ours …; sorted."""
    paths: tuple[str, ...]
    messages: tuple[str, ...]


MergeOutcome = Merged | Conflict


class Rebase(BaseModel, frozen=True, extra="forbid"):
    """Work to be brought from one base onto another."""

    base: Commit
    """The new one."""
    work: Commit
    work_base: Commit
    message: str
    when: datetime


class Rebased(BaseModel, frozen=True, extra="forbid"):
    """The work as one commit on the new base; conflicts stand in its files, with markers."""

    commit: Commit
    paths: tuple[str, ...] = ()
    """Where the two sides conflict."""
    messages: tuple[str, ...] = ()
    """One for each of these paths: what both sides did, and what stands there."""


class WorktreePlace(BaseModel, frozen=True, extra="forbid"):
    """Where a worktree stands; what a sandbox needs to know of it."""

    name: str
    path: Path
    git_dir: Path
    """The own bare repository; read-only for everyone but us."""
    state: Path
    """A folder for what is known of it, outside every sandbox; it may not exist yet."""


class WorktreeStore(Protocol):
    """Worktrees of one user repository, and the checkpoints that are made in them.

    Operations that touch a worktree's files ask for its lock (`lock`) first: restore, collect,
    checkpoint.
    """

    async def create_worktree(self, name: str, commit: Commit) -> WorktreePlace:
        """Make a locked, detached worktree; what a kill left half made is made again.

        One that is whole stays as it is, whatever it holds.

        Args:
            name: `[a-z0-9][a-z0-9._-]*`, unique in this repository.
            commit: what HEAD names inside, and what is checked out.
        """
        ...

    async def remove_worktree(self, name: str) -> None:
        """Delete a worktree with all its files, ignored ones too. None there: nothing to do."""
        ...

    def lock(
        self, name: str, on_wait: Callable[[], None] | None = None
    ) -> AbstractAsyncContextManager[int]:
        """Hold the worktree alone, across processes; waits as long as it takes.

        Args:
            name: the worktree.
            on_wait: called between tries, to send a heartbeat.

        Returns:
            A context manager; its value is a descriptor to hand to `Sandbox.run(hold=…)`. The lock
            is free when the last process that inherited it is dead.
        """
        ...

    async def restore(self, name: str, commit: Commit) -> None:
        """Bring the worktree exactly to `commit`, ignored files apart, and count it as in use.

        Costs next to nothing when `commit` is the last checkpoint and nothing was restored since.

        Raises:
            WorktreeDamagedError: it cannot be brought there; remove and create it.
        """
        ...

    async def collect(self, name: str) -> Collected:
        """Turn the files of the worktree into a tree. No process may be at work in it."""
        ...

    async def ignored(self, name: str, limit: int = 200) -> tuple[str, ...]:
        """List ignored files and folders (`x/`), at most `limit`."""
        ...

    async def ignored_paths(self, name: str) -> tuple[bytes, ...]:
        """List all ignored files and folders (`x/`) as they are; for a person see `ignored`."""
        ...

    async def stray_paths(self, name: str) -> tuple[bytes, ...]:
        """List files and whole folders (`x/`) that are neither tracked nor ignored."""
        ...

    async def discard_ignored(self, name: str, also: tuple[bytes, ...] = ()) -> None:
        """Delete all ignored files and folders, and what stands at the paths in `also`."""
        ...

    async def checkpoint(self, request: CheckpointRequest) -> Commit:
        """Record the collected tree with its observations. The same request again: no error.

        Raises:
            RefMovedError: another holds the ref.
        """
        ...

    async def read_checkpoint(self, ref: str) -> Checkpoint | None:
        """Return the checkpoint that `ref` names; None where it names none."""
        ...

    async def free_bytes(self) -> int:
        """Return what the disk under the host's data has left for us."""
        ...


class SessionHistory(Protocol):
    """The commits and refs of the sessions: their base, task commits, merges."""

    async def has_base(self, commit: Commit) -> bool:
        """Say whether `commit` was imported before, so that its bundle need not be fetched."""
        ...

    async def import_base(
        self, base: BaseBundle | None, commit: Commit, session: SessionId
    ) -> None:
        """Take a base in and name it `refs/blueflame/<session>/base`.

        Args:
            base: its bundle; None only where `has_base(commit)`.
            commit: the base.
            session: whose base it is.

        Raises:
            BundleError: the bundle does not hold `commit` with all it needs.
            RefMovedError: the session has another base already.
        """
        ...

    async def import_names(self, names: bytes) -> None:
        """Take in a bundle of tags and remote-tracking names; empty, it does nothing.

        Raises:
            BundleError: it is damaged.
        """
        ...

    async def tip(self, ref: str) -> Commit | None:
        """Return what `ref` names; None where it does not exist."""
        ...

    async def squash(self, task: TaskCommit) -> Commit:
        """Make the one commit of a task. It is reachable from no ref until `advance`."""
        ...

    async def merge(
        self, head: Commit, parts: tuple[MergePart, ...], when: datetime
    ) -> MergeOutcome:
        """Merge `parts` in order into `head`, without a worktree and without moving a ref."""
        ...

    async def rebase(self, request: Rebase) -> Rebased:
        """Bring work onto another base, without a worktree and without moving a ref.

        Renames are not followed: work stays under the paths that its task claims.
        """
        ...

    async def advance(self, ref: str, new: Commit, old: Commit | None) -> None:
        """Set `ref` from `old` (None: absent) to `new`; it being there already is not an error.

        Raises:
            RefMovedError: it holds something else.
        """
        ...

    async def bundle(self, ref: str, base: Commit) -> bytes:
        """Bundle what a ref or commit has beyond `base`."""
        ...


class CommitReader(Protocol):
    """Reads commits, and what differs between two of them."""

    async def diff(self, base: Commit, commit: Commit) -> bytes:
        """Return the patch between two commits, with renames and modes, for reading."""
        ...

    async def changed_files(self, base: Commit, commit: Commit) -> tuple[ChangedFile, ...]:
        """List what differs between two commits, with what the check of a diff asks for."""
        ...

    async def added_lines(self, base: Commit, commit: Commit) -> tuple[AddedLines, ...]:
        """Return the lines that `commit` has and `base` has not.

        Raises:
            OutputTooLargeError: there are too many to hold; judge the sizes first.
        """
        ...

    async def new_markers(self, base: Commit, commit: Commit) -> tuple[str, ...]:
        """List the files of `commit` with conflict markers that `base` has fewer of."""
        ...

    async def link_faults(self, base: Commit, commit: Commit) -> tuple[tuple[str, str], ...]:
        """List path and fault of the links of `commit` that lead outside, and not in `base`."""
        ...

    async def changed_lines(
        self, base: Commit, commit: Commit, path: str
    ) -> tuple[tuple[int, int], ...]:
        """Return the first and last line of each change that `commit` makes to a file.

        Lines are counted from 1, in the new file. Where lines were only taken away, the two are
        those around the gap; the first can be 0.
        """
        ...

    async def paths(self, commit: Commit) -> tuple[str, ...]:
        """List every file of `commit`; names that are not UTF-8 are left out."""
        ...

    async def entries(self, commit: Commit) -> dict[bytes, str]:
        """Return the object of every file of `commit` by its path, whatever bytes its name has."""
        ...

    async def tree_of(self, commit: Commit) -> Tree:
        """Return the tree of `commit`."""
        ...

    async def read_file(self, commit: Commit, path: str) -> bytes | None:
        """Return a file's bytes (a symlink's target) in `commit`; None where there is no file."""
        ...


class HostRepository(WorktreeStore, SessionHistory, CommitReader, Protocol):
    """The own bare repository of one user repository, with its worktrees.

    Every operation may be killed at any point and repeated. What uses it asks for the part that it
    needs.
    """
