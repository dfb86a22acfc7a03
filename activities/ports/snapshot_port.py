"""Snapshots: the results of one set-up in ignored paths, kept once on a host for many worktrees."""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Protocol

from pydantic import BaseModel, Field

USED_SNAPSHOT: Final = "snapshot.json"
"""The name of `UsedSnapshot` in a worktree's state."""
SNAPSHOT_FILES: Final = "files"
"""The folder of a snapshot that holds the kept files."""


class SnapshotError(Exception):
    """The results of a set-up cannot be kept or copied; the message says what and why."""


class InputsRead(BaseModel, frozen=True, extra="forbid"):
    """What a set-up read of its tree. Paths are text, with bytes that are not UTF-8 escaped."""

    files: dict[str, str] = Field(default_factory=dict[str, str])
    """Files, with the objects that they were."""
    names: dict[str, str] = Field(default_factory=dict[str, str])
    """Folders whose sources were read, each with a digest of all names in it."""
    folders: dict[str, str] = Field(default_factory=dict[str, str])
    """Folders that were listed, each with a digest of the names of its folders."""


class SnapshotRecord(BaseModel, frozen=True, extra="forbid"):
    """The facts about a snapshot."""

    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    tree: str
    """The digest of the tree that was set up, which the snapshot always fits."""
    read: InputsRead | None
    """None: reads cannot be observed on this file system, so it fits no other tree."""
    paths: tuple[str, ...]
    """Its topmost files and folders, relative to the worktree; as in `InputsRead`."""
    size_bytes: int
    notices: tuple[str, ...] = ()
    """Network requests of set-up that failed, and files that it made in vain, although set-up
    succeeded."""


class Snapshot(BaseModel, frozen=True, extra="forbid"):
    """A snapshot on this host."""

    place: str
    """Its folder, relative to the host's data."""
    record: SnapshotRecord


class UsedSnapshot(BaseModel, frozen=True, extra="forbid"):
    """Which snapshot a worktree uses; its record in the worktree's state keeps the snapshot."""

    place: str
    mounted: bool
    """True: mounted as a layer. False: its files were copied."""


class ReadWatch(Protocol):
    """Reports what was read of a tree since the watch began."""

    def read(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """Return the files that were read or changed, and the folders that were listed."""
        ...


class SnapshotStore(Protocol):
    """The snapshots of one host."""

    def lock(
        self, key: str, on_wait: Callable[[], None] | None = None
    ) -> AbstractAsyncContextManager[int]:
        """Hold a key exclusively, across processes; like `WorktreeStore.lock`."""
        ...

    def find(self, key: str) -> tuple[Snapshot, ...]:
        """Return the complete snapshots of a key, the last used first."""
        ...

    async def watch(self, tree: Path, files: Iterable[bytes]) -> ReadWatch | None:
        """Start to watch what is read of a tree; None if the file system does not report it.

        Args:
            tree: a fresh checkout.
            files: the tracked files there, relative.
        """
        ...

    async def keep(
        self, key: str, tree: Path, paths: tuple[bytes, ...], record: SnapshotRecord
    ) -> Snapshot:
        """Move files and folders out of a tree into a new snapshot, whole or not at all.

        Pipes, sockets and devices are left out; no link is followed; no file gives rights.

        Args:
            key: its lock is held.
            tree: where set-up ran. No process of it is left, and the tree is useless afterwards.
            paths: relative; a folder may end with a slash.
            record: with any paths and size.

        Raises:
            SnapshotError: a path is not where it was listed.
        """
        ...

    async def give(self, snapshot: Snapshot, tree: Path, state: Path, *, mounted: bool) -> None:
        """Record that a worktree uses a snapshot, which keeps it, and add what the worktree needs.

        Args:
            snapshot: the lock of its key is held, or the worktree already uses it.
            tree: the worktree.
            state: its `WorktreePlace.state`.
            mounted: show the snapshot as a layer; otherwise each file is copied.

        Raises:
            SnapshotError: a file could not be copied.
        """
        ...
