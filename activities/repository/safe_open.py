"""Opens a file below a folder that a stranger may have filled: no link on the way is followed.

Each component is opened in the one before it, so what was checked is what is used, whatever is
moved since it was named. What the opened thing is (file, pipe, device) is for the caller to ask of
the descriptor.
"""

import contextlib
import os
import stat
from collections.abc import Generator
from pathlib import Path, PurePosixPath

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_inside(root: Path, path: str, flags: int, mode: int | None = None) -> int:
    """Open `path` below `root` and return its descriptor; the caller closes it.

    Args:
        root: a folder that is trusted as a path; itself no link.
        path: relative, with `/`.
        flags: of `os.open`; that links are not followed and pipes not waited for is added.
        mode: with it, a file that is created gets this mode and missing folders are made.

    Raises:
        ValueError: the path is empty or absolute, or has a component `..`.
        OSError: something is missing, or a link stands in the way.
    """
    with _folder_of(root, path, is_made=mode is not None) as (folder, name):
        careful = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, careful, mode or 0, dir_fd=folder)


def link_inside(root: Path, path: str, target: str) -> None:
    """Make `path` below `root` a link to `target`, in the place of one that is there.

    Raises:
        ValueError: the path is empty or absolute, or has a component `..`.
        OSError: a link is in the way, or something other than a link is already there.
    """
    with _folder_of(root, path, is_made=True) as (folder, name):
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
                os.unlink(name, dir_fd=folder)
        os.symlink(target, name, dir_fd=folder)


@contextlib.contextmanager
def _folder_of(root: Path, path: str, *, is_made: bool) -> Generator[tuple[int, str]]:
    """Open the folder that `path` is in, without following a link; yield it and the last name."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or not pure.parts or ".." in pure.parts:
        raise ValueError(f"{path!r} does not lead inside a folder; write it relative, without '..'")
    *folders, name = pure.parts
    folder = os.open(root, _FOLDER)
    try:
        for part in folders:
            if is_made:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder, name
    finally:
        os.close(folder)
