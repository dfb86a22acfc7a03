"""Whether the disk of the data directory is full: said once, and again when it has room again.

Server, workers and agents all write there. They try again by themselves; a person has to make room.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

_FULL_BYTES: Final = 4_000_000
"""Less, and neither the server's database nor a worktree can be counted on."""
_ROOM_BYTES: Final = 4 * _FULL_BYTES


def free_bytes(directory: Path) -> int:
    """Return what is free on the disk of a directory, or of the nearest one that is there."""
    place = next(place for place in (directory, *directory.parents) if place.exists())
    return shutil.disk_usage(place).free


class Disk:
    """The disk of one data directory, looked at again and again."""

    def __init__(self, directory: Path, free: Callable[[Path], int] = free_bytes) -> None:
        self._directory = directory
        self._free = free
        self._is_full = False

    def news(self) -> list[str]:
        """Return what has changed since the last look, in words; mostly nothing."""
        try:
            free = self._free(self._directory)
        except OSError:
            return []  # the code that needs the disk reports that it is gone
        if not self._is_full and free < _FULL_BYTES:
            self._is_full = True
            where = f"{free / 1e6:.1f} MB are free for the data directory {str(self._directory)!r}"
            what = "nothing can be saved; free some, and the session goes on by itself"
            return [f"the disk is full: {where}, and {what}"]
        if self._is_full and free >= _ROOM_BYTES:
            self._is_full = False
            return [f"the disk has room again: {free / 1e6:.0f} MB are free"]
        return []
