"""The snapshots of one host, under `snapshots/` of its data.

    snapshots/<key>/<name>/record.json   written last, before the folder gets its name
                           files/        the results of set-up
                           on-disk       the disk has all of it
    snapshots/<key>/.making-*            half-made, ignored
    locks/snapshots/<key>                the key's lock
    state/<repository>/<worktree>/snapshot.json      which snapshot that worktree uses

One rename gives a snapshot its name, so half-made ones left by a kill do not count. After a power
cut files may be shorter than their snapshot says, so a snapshot from an earlier boot counts only
if the disk was seen to have all of it. A user of a snapshot records that in the worktree's state
before it releases the key's lock, and nothing is removed without that lock.
"""

import asyncio
import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from activities.adapters.snapshots import kept_files
from activities.adapters.snapshots.expiry import (
    MAKING,
    RECORD,
    all_snapshots,
    lock_of,
    remove,
    remove_unused,
    size_of,
    used_at,
    whole_snapshots,
)
from activities.adapters.snapshots.read_times import ReadTimes, watch_reads
from activities.ports.snapshot_port import (
    SNAPSHOT_FILES,
    USED_SNAPSHOT,
    Snapshot,
    SnapshotRecord,
    UsedSnapshot,
)

_ON_DISK, _BOOT = "on-disk", "boot"
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")

Locking = Callable[[Path, Callable[[], None] | None], AbstractAsyncContextManager[int]]


class LocalSnapshots:
    """Snapshots in a folder. Implements `SnapshotStore`."""

    def __init__(
        self,
        data: Path,
        locking: Locking,
        limit_bytes: int,
        see_on_disk: Callable[[Path], None] | None = None,
    ) -> None:
        """Take the folder and the settings; nothing is touched yet.

        Args:
            data: the host's data.
            locking: how a key is locked, as for worktrees.
            limit_bytes: the limit for all; the least recently used ones go first, unless in use.
            see_on_disk: marks a snapshot when the disk has all of it; None: in a thread, which ends
                with the process.
        """
        self._data = data
        self._top = data / "snapshots"
        self._locking = locking
        self._limit_bytes = limit_bytes
        self._see_on_disk = see_on_disk or _begin_to_see

    def lock(
        self, key: str, on_wait: Callable[[], None] | None = None
    ) -> AbstractAsyncContextManager[int]:
        """Hold a key exclusively."""
        return self._locking(lock_of(self._data, key), on_wait)

    def find(self, key: str) -> tuple[Snapshot, ...]:
        """Return the complete snapshots of a key, the last used first."""
        places = sorted(whole_snapshots(self._top / key), key=used_at, reverse=True)
        return tuple(self._read(place) for place in places if _is_sound(place))

    def _read(self, place: Path) -> Snapshot:
        record = SnapshotRecord.model_validate_json((place / RECORD).read_bytes())
        return Snapshot(place=str(place.relative_to(self._data)), record=record)

    async def watch(self, tree: Path, files: Iterable[bytes]) -> ReadTimes | None:
        """Start to watch what is read of a tree."""
        return await watch_reads(tree, files)

    async def keep(
        self, key: str, tree: Path, paths: tuple[bytes, ...], record: SnapshotRecord
    ) -> Snapshot:
        """Move files and folders out of a tree into a new snapshot."""
        place = await asyncio.to_thread(self._keep, self._top / key, tree, paths, record)
        self._see_on_disk(place)
        await asyncio.to_thread(self._make_room, place)
        return self._read(place)

    def _keep(
        self, folder: Path, tree: Path, paths: tuple[bytes, ...], record: SnapshotRecord
    ) -> Path:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for half in folder.glob(f"{MAKING}*"):
            remove(half)
        name = secrets.token_hex(8)
        making = folder / f"{MAKING}{name}"
        (making / SNAPSHOT_FILES).mkdir(parents=True)
        size = kept_files.move(tree, paths, making / SNAPSHOT_FILES)
        texts = tuple(path.decode("utf-8", "backslashreplace") for path in paths)
        whole = SnapshotRecord(
            schema=1,
            tree=record.tree,
            read=record.read,
            paths=texts,
            size_bytes=size,
            notices=record.notices,
        )
        (making / _BOOT).write_text(_boot())
        (making / RECORD).write_text(whole.model_dump_json(by_alias=True))
        return making.rename(folder / name)

    async def give(self, snapshot: Snapshot, tree: Path, state: Path, *, mounted: bool) -> None:
        """Record that a worktree uses a snapshot, and add what the worktree needs."""
        used = UsedSnapshot(place=snapshot.place, mounted=mounted)
        os.utime(self._data / snapshot.place / RECORD)
        _note(state, used)
        files = self._data / snapshot.place / SNAPSHOT_FILES
        if mounted:
            kept_files.copy_ignore_rules(files, snapshot.record.paths, tree)
        else:
            await asyncio.to_thread(kept_files.copy, files, tree)

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used snapshots until all are within the limit."""
        places = sorted(all_snapshots(self._data), key=used_at)
        total = sum(size_of(place) for place in places)
        for place in places:
            if total <= self._limit_bytes:
                return
            if place != newest and (freed := remove_unused(self._data, place)):
                total -= freed


def _note(state: Path, used: UsedSnapshot) -> None:
    """Record in a worktree's state what it uses, whole or not at all."""
    state.mkdir(parents=True, exist_ok=True)
    half = state / f".{USED_SNAPSHOT}.half"
    half.write_text(used.model_dump_json())
    half.replace(state / USED_SNAPSHOT)


def _boot() -> str:
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else "-"


def _is_sound(place: Path) -> bool:
    with contextlib.suppress(OSError):
        return (place / _BOOT).read_text() == _boot() or (place / _ON_DISK).exists()
    return False


def _begin_to_see(place: Path) -> None:
    threading.Thread(target=_see, args=(place,), daemon=True).start()


def _see(place: Path) -> None:
    """Wait until the disk has everything, then record it."""
    os.sync()
    with contextlib.suppress(OSError):
        (place / _ON_DISK).touch()
