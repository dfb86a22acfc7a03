"""Lists a host's snapshots and their users, and removes unused ones.

`snapshot_store` chooses what to remove when space is short, `workers.hosting.session_cleaning` what
to remove by age.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from activities.file_locks import FileLock
from activities.ports.snapshot_port import USED_SNAPSHOT, SnapshotRecord, UsedSnapshot

RECORD: Final = "record.json"
MAKING: Final = ".making-"
"""The prefix of names that are half-made, or half-removed."""


def all_snapshots(data: Path) -> list[Path]:
    """Return the folders of all complete snapshots of a host."""
    top = data / "snapshots"
    folders = sorted(top.iterdir()) if top.is_dir() else []
    return [place for folder in folders for place in whole_snapshots(folder)]


def whole_snapshots(folder: Path) -> Iterator[Path]:
    """Return the folders of a key's complete snapshots."""
    if folder.is_dir():
        yield from (each for each in folder.iterdir() if not each.name.startswith(MAKING))


def used_at(place: Path) -> float:
    """Return when a snapshot was last given to a worktree, in seconds since the epoch."""
    with contextlib.suppress(OSError):
        return (place / RECORD).stat().st_mtime
    return 0.0


def size_of(place: Path) -> int:
    """Return the size of a snapshot in bytes, from its record."""
    try:
        return SnapshotRecord.model_validate_json((place / RECORD).read_bytes()).size_bytes
    except (OSError, ValueError):
        return 0


def remove_unused(data: Path, place: Path) -> int:
    """Remove a snapshot that no worktree uses.

    Returns:
        The number of freed bytes, at least 1; 0 if it is in use or its key is locked.
    """
    path = lock_of(data, place.parent.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    if not lock.try_acquire():
        return 0
    try:
        if str(place.relative_to(data)) in used_places(data):
            return 0
        size = size_of(place)
        doomed = place.with_name(f"{MAKING}{place.name}")
        place.rename(doomed)
        remove(doomed)
        return max(size, 1)
    finally:
        lock.release()


def used_places(data: Path) -> set[str]:
    """Return the places of all snapshots that some worktree uses."""
    found: set[str] = set()
    for said in (data / "state").glob(f"*/*/{USED_SNAPSHOT}"):
        with contextlib.suppress(OSError, ValueError):
            found.add(UsedSnapshot.model_validate_json(said.read_bytes()).place)
    return found


def remove(folder: Path) -> None:
    """Delete a folder with anything that a set-up can have made in it."""
    for current, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(current, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def lock_of(data: Path, key: str) -> Path:
    """Return the lock file of a key."""
    return data / "locks" / "snapshots" / key
