"""Detects a full disk of the data directory; reports it once, and again when it has room.

Server, workers and agents all write there. They retry by themselves; a person must make room.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

_FULL_BYTES: Final = 4_000_000
"""With less, neither the server's database nor a worktree works reliably."""
_ROOM_BYTES: Final = 4 * _FULL_BYTES


def free_bytes(directory: Path) -> int:
    """Return the free space on the disk of a directory, or of its nearest existing parent."""
    place = next(place for place in (directory, *directory.parents) if place.exists())
    return shutil.disk_usage(place).free


class Disk:
    """The disk of one data directory, checked repeatedly."""

    def __init__(self, directory: Path, free: Callable[[Path], int] = free_bytes) -> None:
        self._directory = directory
        self._free = free
        self._is_full = False

    def news(self) -> list[str]:
        """Return the changes since the last check, in words; mostly none."""
        try:
            free = self._free(self._directory)
        except OSError:
            return []  # the code that needs the disk reports the error
        if not self._is_full and free < _FULL_BYTES:
            self._is_full = True
            where = f"{free / 1e6:.1f} MB are free for the data directory {str(self._directory)!r}"
            what = "nothing can be saved; free some, and the session goes on by itself"
            return [f"the disk is full: {where}, and {what}"]
        if self._is_full and free >= _ROOM_BYTES:
            self._is_full = False
            return [f"the disk has room again: {free / 1e6:.0f} MB are free"]
        return []
