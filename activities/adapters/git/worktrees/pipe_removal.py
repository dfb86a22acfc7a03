"""Deletes pipes anywhere in a worktree, because git would wait for them.

Git opens `.gitignore` and `.gitattributes` in each folder, and `HEAD` and `commondir` in what may
be a repository inside, without checking their type: a pipe there blocks it for ever. Which names it
opens depends on what it finds, so every pipe is deleted, even an ignored one. No process can be at
its other end, because the worktree's processes are dead before git runs. Git also reads without
end from a device, but only through a link named `commondir`.
"""

import os
import stat
import time
from dataclasses import dataclass

from activities.adapters.git.worktrees.collected_names import shown
from activities.adapters.git.worktrees.folder_scan import SETTLED_NS, entries
from activities.ports.host_repository import Finding

ENDLESS_LINK = b"commondir"


@dataclass(frozen=True)
class Folder:
    """The content of a folder when its time of change was `changed_ns`."""

    changed_ns: int
    folders: tuple[bytes, ...]
    pipes: tuple[bytes, ...]
    links: tuple[bytes, ...]
    """Links named `commondir`."""


Cache = dict[bytes, Folder]
"""Folders by path. A process that changes a folder cannot set its time of change."""


def disarm(root: bytes, cache: Cache) -> tuple[Finding, ...]:
    """Delete what git would wait for, and return a finding for each deletion.

    Args:
        root: the worktree, absolute; no process of it is left.
        cache: of earlier calls for the same worktree; kept up to date.
    """
    settled_ns = time.time_ns() - SETTLED_NS
    doomed: list[bytes] = []
    waiting = [b""]
    while waiting:
        folder = _folder(root, waiting.pop(), cache, settled_ns)
        doomed += folder.pipes
        doomed += [link for link in folder.links if _is_endless(os.path.join(root, link))]
        waiting += folder.folders
    for path in doomed:
        os.unlink(os.path.join(root, path))
    return tuple(map(_finding, sorted(doomed)))


def _folder(root: bytes, path: bytes, cache: Cache, settled_ns: int) -> Folder:
    place = os.path.join(root, path)
    try:
        changed_ns = os.lstat(place).st_ctime_ns
    except OSError:
        return Folder(0, (), (), ())
    known = cache.get(path)
    if known is None or known.changed_ns != changed_ns:
        known = _look(place, path + b"/" if path else b"", changed_ns)
        if changed_ns < settled_ns:
            cache[path] = known
    return known


def _look(place: bytes, prefix: bytes, changed_ns: int) -> Folder:
    folders: list[bytes] = []
    pipes: list[bytes] = []
    links: list[bytes] = []
    for entry in entries(place):
        if entry.is_file(follow_symlinks=False):
            continue
        if entry.is_dir(follow_symlinks=False):
            folders.append(prefix + entry.name)
        elif entry.is_symlink():
            links += [prefix + entry.name] * (entry.name == ENDLESS_LINK)
        elif stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode):
            pipes.append(prefix + entry.name)
    return Folder(changed_ns, tuple(folders), tuple(pipes), tuple(links))


def _is_endless(place: bytes) -> bool:
    try:
        mode = os.stat(place).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _finding(path: bytes) -> Finding:
    name = shown(path)
    text = f"{name!r} was deleted: git would wait for it for ever; use files, folders and links"
    return Finding(kind="not_regular", path=name, text=text)
