"""What was read of a fresh checkout, by the time of access that the kernel keeps of each file.

With `relatime`, the default of Linux, the first reading after a file was made moves the time of
access; only with `noatime` it does not. It is a fact of the inode, so it is seen whatever mount
namespace the reader was in, and a file that is only mapped counts too.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_TICK_SECONDS = 0.02
"""Longer than the kernel's clock for such times takes to move on."""
_UNSEEN = os.ST_NOATIME | os.ST_NODIRATIME | os.ST_RDONLY


class ReadTimes:
    """The times of a tree's files and folders. Implements `ReadWatch`."""

    def __init__(self, tree: Path, files: Iterable[bytes]) -> None:
        """Remember the times as they are now."""
        self._tree = os.fsencode(tree)
        paths = tuple(files)
        self._files = {path: _times(self._place(path)) for path in paths}
        folders = {above for path in paths for above in _folders_above(path)}
        self._folders = {path: _times(self._place(path)) for path in folders}

    def read(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """Return the files that were read or changed, and the folders that were listed."""
        files = (path for path, old in self._files.items() if _times(self._place(path)) != old)
        # What is made in a folder changes it too; only that it was listed counts.
        folders = (
            path for path, old in self._folders.items() if _times(self._place(path))[:1] != old[:1]
        )
        return frozenset(files), frozenset(folders)

    def _place(self, path: bytes) -> bytes:
        return os.path.join(self._tree, path)


async def watch_reads(tree: Path, files: Iterable[bytes]) -> ReadTimes | None:
    """Begin to watch a tree; None where its file system keeps no time of access."""
    if os.statvfs(tree).f_flag & _UNSEEN:
        return None
    watch = await asyncio.to_thread(ReadTimes, tree, files)
    await asyncio.sleep(_TICK_SECONDS)
    return watch


def _times(place: bytes) -> tuple[int, ...]:
    """Return the times of access, of content and of change; nothing where nothing is.

    The last because a program may set the first two back, to hide that its own file was read, and
    by that moves the last.
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
