"""Scans a worktree's folders for what git does not report: nested `.git`, pipes, sockets.

It enters only folders with tracked or collectable files; ignored folders may be huge, and nothing
in them reaches a tree. A new folder that holds only a pipe is therefore not seen.
"""

import errno
import os
import stat
import time
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from activities.adapters.git.worktrees.collected_names import DOT_GIT_BEGINS, is_dot_git

SETTLED_NS = 100_000_000
"""A folder listed sooner than this after a change may change again with the same time."""


@dataclass(frozen=True)
class Oddities:
    """Paths relative to the root."""

    nested_git: tuple[bytes, ...]
    not_regular: tuple[bytes, ...]


@dataclass(frozen=True)
class Listing:
    """The content of a folder when its time of change was `changed_ns`."""

    changed_ns: int
    folders: tuple[bytes, ...]
    nested_git: tuple[bytes, ...]
    not_regular: tuple[bytes, ...]


Cache = dict[bytes, Listing]
"""Listings by folder. A process that changes a folder cannot set its time of change."""


def folders_of(paths: Iterable[bytes]) -> set[bytes]:
    """Return all folders that hold the paths, including `b""` (the root)."""
    folders = {path.rpartition(b"/")[0] for path in paths}
    for folder in tuple(folders):
        above = folder.rpartition(b"/")[0]
        while above not in folders:
            folders.add(above)
            above = above.rpartition(b"/")[0]
    folders.add(b"")
    return folders


def scan(
    root: bytes,
    folders: AbstractSet[bytes],
    start: Iterable[bytes] = (b"",),
    cache: Cache | None = None,
) -> Oddities:
    """Scan the given folders.

    Args:
        root: the worktree, absolute.
        folders: relative paths of the folders to enter when they are found.
        start: the folders to start with.
        cache: listings of earlier scans of the same root; kept up to date.
    """
    known = {} if cache is None else cache
    settled_ns = time.time_ns() - SETTLED_NS
    nested: list[bytes] = []
    odd: list[bytes] = []
    waiting = list(start)
    while waiting:
        listing = _listing(root, waiting.pop(), known, settled_ns)
        nested += listing.nested_git
        odd += listing.not_regular
        waiting += [folder for folder in listing.folders if folder in folders]
    # The root's own `.git` is checked separately, under its exact name.
    return Oddities(tuple(sorted({*nested} - {b".git"})), tuple(sorted(odd)))


def _listing(root: bytes, folder: bytes, known: Cache, settled_ns: int) -> Listing:
    place = os.path.join(root, folder)
    try:
        changed_ns = os.lstat(place).st_ctime_ns
    except OSError:
        return Listing(0, (), (), ())
    listing = known.get(folder)
    if listing is None or listing.changed_ns != changed_ns:
        listing = _list(place, folder + b"/" if folder else b"", changed_ns)
        if changed_ns < settled_ns:
            known[folder] = listing
    return listing


def _list(place: bytes, prefix: bytes, changed_ns: int) -> Listing:
    folders: list[bytes] = []
    nested: list[bytes] = []
    odd: list[bytes] = []
    # This runs ten thousand times: the likeliest case first, and as few calls as possible.
    for entry in entries(place):
        name = entry.name
        if (name[0] in DOT_GIT_BEGINS or not name.isascii()) and is_dot_git(name):
            nested.append(prefix + name)
        elif entry.is_file(follow_symlinks=False):
            continue
        elif entry.is_dir(follow_symlinks=False):
            folders.append(prefix + name)
        elif not entry.is_symlink() and not is_whiteout(entry):
            odd.append(prefix + name)
    return Listing(changed_ns, tuple(folders), tuple(nested), tuple(odd))


def is_whiteout(entry: os.DirEntry[bytes]) -> bool:
    """Say whether this is the kernel's mark for a snapshot's file that was deleted here.

    A command cannot make one, because creating a device needs rights that the sandbox lacks.
    """
    found = entry.stat(follow_symlinks=False)
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    """List a folder, after making it accessible if its mode forbids access; empty if missing."""
    try:
        if os.lstat(folder).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(folder, stat.S_IRWXU)
        with os.scandir(folder) as listing:
            return list(listing)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        # Deeper than a path can name: nothing there can be collected or run by path.
        if error.errno != errno.ENAMETOOLONG:
            raise
        return []
