"""Snapshots: what one set-up left in ignored paths, kept once on a host, seen by many worktrees."""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Protocol

from pydantic import BaseModel, Field

USED_SNAPSHOT: Final = "snapshot.json"
"""The name of `UsedSnapshot` in a worktree's state."""
SNAPSHOT_FILES: Final = "files"
"""The folder of a snapshot in which the kept files are."""


class SnapshotError(Exception):
    """What a set-up made cannot be kept or copied; the message says what and why."""


class InputsRead(BaseModel, frozen=True, extra="forbid"):
    """What a set-up read of its tree. Paths are texts; a byte that is not UTF-8 is escaped."""

    files: dict[str, str] = Field(default_factory=dict[str, str])
    """Files with the objects that they were."""
    names: dict[str, str] = Field(default_factory=dict[str, str])
    """Folders of which the sources were read, with a digest over the names of all in each."""
    folders: dict[str, str] = Field(default_factory=dict[str, str])
    """Folders that were listed, with a digest over the names of the folders in each."""


class SnapshotRecord(BaseModel, frozen=True, extra="forbid"):
    """What is known of a snapshot."""

    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    tree: str
    """The digest of the tree that was set up; it fits that one in any case."""
    read: InputsRead | None
    """None: reads cannot be seen on this file system, so it fits no other tree."""
    paths: tuple[str, ...]
    """Its topmost files and folders, relative to the worktree; as in `InputsRead`."""
    size_bytes: int
    notices: tuple[str, ...] = ()
    """What set-up asked of the network and did not get, and what it made in vain."""


class Snapshot(BaseModel, frozen=True, extra="forbid"):
    """A snapshot on this host."""

    place: str
    """Its folder, relative to the host's data."""
    record: SnapshotRecord


class UsedSnapshot(BaseModel, frozen=True, extra="forbid"):
    """Which snapshot a worktree uses; stands in its state, and keeps the snapshot."""

    place: str
    mounted: bool
    """It is seen as a layer; else its files were copied."""


class ReadWatch(Protocol):
    """Tells what was read of a tree since the watch began."""

    def read(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """Return the files that were read or changed, and the folders that were listed."""
        ...


class SnapshotStore(Protocol):
    """The snapshots of one host."""

    def lock(
        self, key: str, on_wait: Callable[[], None] | None = None
    ) -> AbstractAsyncContextManager[int]:
        """Hold a key alone, across processes; as `WorktreeStore.lock`."""
        ...

    def find(self, key: str) -> tuple[Snapshot, ...]:
        """Return the whole snapshots of a key, those used last first."""
        ...

    async def watch(self, tree: Path, files: Iterable[bytes]) -> ReadWatch | None:
        """Begin to watch what is read of a tree; None where the file system does not tell.

        Args:
            tree: a fresh checkout.
            files: what is tracked there, relative.
        """
        ...

    async def keep(
        self, key: str, tree: Path, paths: tuple[bytes, ...], record: SnapshotRecord
    ) -> Snapshot:
        """Move files and folders out of a tree into a new snapshot, whole or not at all.

        Pipes, sockets and devices are left out; no link is followed; no file gives rights.

        Args:
            key: its lock is held.
            tree: where set-up ran; no process of it is left, and it is of no use afterwards.
            paths: relative; a folder may end with a slash.
            record: with any paths and size.

        Raises:
            SnapshotError: something is not where it was listed.
        """
        ...

    async def give(self, snapshot: Snapshot, tree: Path, state: Path, *, mounted: bool) -> None:
        """Record that a worktree uses a snapshot, which keeps it, and put into it what it needs.

        Args:
            snapshot: the lock of its key is held, or the worktree uses it already.
            tree: the worktree.
            state: its `WorktreePlace.state`.
            mounted: see the snapshot as a layer; else each file is copied.

        Raises:
            SnapshotError: something could not be copied.
        """
        ...
