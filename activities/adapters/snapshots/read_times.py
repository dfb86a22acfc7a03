"""What was read of a fresh checkout, by the access times that the kernel keeps for each file.

With `relatime`, Linux's default, the first read after a file's creation updates its access time;
only with `noatime` it does not. The time belongs to the inode, so it shows reads from any mount
namespace, and also files that were only mapped.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_TICK_SECONDS = 0.02
"""Longer than the kernel's clock for such times takes to advance."""
_UNSEEN = os.ST_NOATIME | os.ST_NODIRATIME | os.ST_RDONLY


class ReadTimes:
    """The times of a tree's files and folders. Implements `ReadWatch`."""

    def __init__(self, tree: Path, files: Iterable[bytes]) -> None:
        """Record the current times."""
        self._tree = os.fsencode(tree)
        paths = tuple(files)
        self._files = {path: _times(self._place(path)) for path in paths}
        folders = {above for path in paths for above in _folders_above(path)}
        self._folders = {path: _times(self._place(path)) for path in folders}

    def read(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """Return the files that were read or changed, and the folders that were listed."""
        files = (path for path, old in self._files.items() if _times(self._place(path)) != old)
        # Creating a file in a folder also changes the folder; only listing it counts.
        folders = (
            path for path, old in self._folders.items() if _times(self._place(path))[:1] != old[:1]
        )
        return frozenset(files), frozenset(folders)

    def _place(self, path: bytes) -> bytes:
        return os.path.join(self._tree, path)


async def watch_reads(tree: Path, files: Iterable[bytes]) -> ReadTimes | None:
    """Start to watch a tree; None if its file system keeps no access times."""
    if os.statvfs(tree).f_flag & _UNSEEN:
        return None
    watch = await asyncio.to_thread(ReadTimes, tree, files)
    await asyncio.sleep(_TICK_SECONDS)
    return watch


def _times(place: bytes) -> tuple[int, ...]:
    """Return the times of access, content and change; empty if there is no such path.

    The last one is included because a program may reset the first two to hide that its own file
    was read; a reset updates the last one.
    """
    try:
        found = os.lstat(place)
    except OSError:
        return ()
    return found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns


def _folders_above(path: bytes) -> Iterator[bytes]:
    while path:
        path = path.rpartition(b"/")[0]
        yield path
