"""Moves the results of a set-up into a snapshot, and copies them into worktrees.

These results are untrusted: each folder is opened relative to its parent and no link is followed,
so nothing outside the tree is moved, changed or read. Whatever gives rights or blocks a reader is
removed: set-user-ID bits, pipes, sockets, devices, and the attributes by which an overlay would
mistake a file for something else.
"""

import contextlib
import os
import stat
import subprocess
from collections.abc import Generator, Iterable
from pathlib import Path

from activities.ports.snapshot_port import SnapshotError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OVERLAY_MARK = "user.overlay."
_BLOCK_BYTES = 512


def move(tree: Path, paths: Iterable[bytes], into: Path) -> int:
    """Move files and folders, each to the same path below another folder, and clean them.

    Args:
        tree: no process writes to it.
        paths: relative to both; a folder may end with a slash.
        into: an empty folder on the same file system.

    Returns:
        Their size on disk in bytes.

    Raises:
        SnapshotError: a path is not where it was listed, or cannot be moved.
    """
    for path in paths:
        *folders, name = path.rstrip(b"/").split(b"/")
        try:
            with _inside(tree, folders) as source, _inside(into, folders, make=True) as target:
                _open_up(name, source)
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
        except OSError as error:
            shown = path.decode("utf-8", "backslashreplace")
            raise SnapshotError(
                f"{shown!r}, which set-up made, cannot be kept: {error.strerror}; "
                "a link may stand in its way"
            ) from error
    with _inside(into, ()) as top:
        return _clean(top)


def copy(files: Path, into: Path) -> None:
    """Copy a snapshot's content into a worktree, sharing blocks if the disk can.

    Raises:
        SnapshotError: a file could not be copied.
    """
    # A link in the worktree is replaced, never followed.
    options = ("-a", "--reflink=auto", "--remove-destination", "--no-target-directory")
    command = ("cp", *options, "--", str(files), str(into))
    ran = subprocess.run(command, check=False, capture_output=True, env={"PATH": "/usr/bin:/bin"})
    if ran.returncode != 0:
        said = ran.stderr.decode("utf-8", "replace").strip()[:500]
        raise SnapshotError(f"a set-up snapshot cannot be copied to {str(into)!r}: {said}")


def copy_ignore_rules(files: Path, paths: Iterable[str], into: Path) -> None:
    """Copy the `.gitignore` at the top of each kept folder that ignores itself with it.

    Git sees only the worktree, and would take an agent's file in such a folder for work.
    """
    for path in paths:
        folders = path.rstrip("/").split("/")
        if folders[-1] == ".gitignore":
            folders.pop()
        parts = [os.fsencode(part) for part in folders]
        with contextlib.suppress(OSError), _inside(files, parts) as source:
            rules = os.open(
                ".gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=source
            )
            with open(rules, "rb") as file, _inside(into, parts, make=True) as target:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with open(os.open(".gitignore", flags, 0o644, dir_fd=target), "wb") as written:
                    written.write(file.read())


@contextlib.contextmanager
def _inside(root: Path, folders: Iterable[bytes], *, make: bool = False) -> Generator[int]:
    """Open a folder below `root`, component by component, and close it at the end."""
    folder = os.open(root, _FOLDER)
    try:
        for part in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _open_up(name: bytes, folder: int) -> None:
    """Give this process access to a folder: to be moved it must be writable."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IMODE(found.st_mode) | stat.S_IRWXU, dir_fd=folder)


def _clean(folder: int) -> int:
    """Clean everything below an open folder; return the bytes that remain."""
    total = 0
    pending = [os.dup(folder)]
    while pending:
        current = pending.pop()
        try:
            total += sum(_clean_one(name, current, pending) for name in os.listdir(current))
        finally:
            os.close(current)
    return total


def _clean_one(name: str, folder: int, pending: list[int]) -> int:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    mode = found.st_mode
    if stat.S_ISLNK(mode):
        return found.st_blocks * _BLOCK_BYTES
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.unlink(name, dir_fd=folder)
        return 0
    wanted = stat.S_IMODE(mode) & 0o1777 | (stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR)
    if wanted != stat.S_IMODE(mode):
        os.chmod(name, wanted, dir_fd=folder)
    opened = os.open(
        name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
    )
    _drop_marks(opened)
    if stat.S_ISDIR(mode):
        pending.append(opened)
    else:
        os.close(opened)
    return found.st_blocks * _BLOCK_BYTES


def _drop_marks(opened: int) -> None:
    with contextlib.suppress(OSError):
        for mark in os.listxattr(opened):
            if mark.startswith(_OVERLAY_MARK):
                os.removexattr(opened, mark)
