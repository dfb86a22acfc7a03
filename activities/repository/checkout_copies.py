"""Reads what `worktree.copy` names from the person's checkout, with the person's rights.

The command line reads it first, only to refuse; the session's export reads it again and keeps it.
What may be copied at all is decided in `copied_files`; what git ignores, by git.

| an entry names                                   | answer                                  |
|--------------------------------------------------|-----------------------------------------|
| a file that git ignores                          | copied                                  |
| a folder, or a pattern                           | all that git ignores there is copied    |
| … a link among them that stays inside            | copied as a link                        |
| … a link that leads out, a repository of its own | refused                                 |
| a file that git does not ignore; nothing         | refused                                 |
| what looks secret, and no one marked             | refused                                 |
| too many files, or too large                     | refused                                 |
"""

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.ports.git_errors import RepositoryRefusedError
from activities.ports.user_repository import IgnoredFile, UserRepository
from activities.repository import copied_files
from activities.repository.copy_archive import FileToCopy
from activities.repository.safe_open import open_inside
from workflows.domain.session.session_config import WorktreeConfig

MAX_FILES: Final = 2_000
MAX_BYTES: Final = 64 << 20
"""Of the files of all folders and patterns together."""
_WILD: Final = frozenset("*?[")
_LET_SET_UP: Final = "name less, or let set-up make them (`worktree.setup`)"


@dataclass(frozen=True)
class CopiedEntry:
    """What one entry of `worktree.copy` stands for."""

    entry: str
    files: tuple[FileToCopy, ...]
    is_one_file: bool


async def read_copies(
    repository: UserRepository, root: Path, worktree: WorktreeConfig, *, is_bare: bool
) -> AsyncGenerator[CopiedEntry]:
    """Yield each entry with its files, in order.

    Args:
        repository: reads the person's.
        root: the top of the checkout.
        worktree: the configuration.
        is_bare: there is no checkout, so nothing may be named.

    Raises:
        RepositoryRefusedError: an entry is refused; the message says what to do.
    """
    if worktree.copies and is_bare:
        raise RepositoryRefusedError(
            "`worktree.copy` needs a checkout, and this repository is bare"
        )
    room = _Room()
    for entry in worktree.copies:
        if fault := copied_files.refuse(entry.rstrip("/"), 0, worktree.allow_secret):
            raise RepositoryRefusedError(fault)
        yield await _read_entry(repository, root, entry.rstrip("/"), worktree, room)


async def _read_entry(
    repository: UserRepository, root: Path, entry: str, worktree: WorktreeConfig, room: "_Room"
) -> CopiedEntry:
    if not _WILD & set(entry) and not (root / entry).is_dir():
        file = await asyncio.to_thread(_read_file, root, entry, worktree)
        if not await repository.ignored_files(root, entry):
            raise _refused(entry, "git does not ignore it: commit it instead, or ignore it")
        return CopiedEntry(entry, (file,), is_one_file=True)
    listed = await repository.ignored_files(root, entry)
    if not listed:
        raise _refused(entry, "nothing that git ignores is there")
    room.take(entry, len(listed))
    files = await asyncio.to_thread(_read_all, root, entry, listed, worktree, room)
    return CopiedEntry(entry, files, is_one_file=False)


class _Room:
    """What folders and patterns may still take."""

    def __init__(self) -> None:
        self._files, self._bytes = MAX_FILES, MAX_BYTES

    def take(self, entry: str, files: int = 0, size: int = 0) -> None:
        self._files -= files
        self._bytes -= size
        if self._files < 0:
            raise _refused(
                entry, f"folders and patterns hold over {MAX_FILES} files: {_LET_SET_UP}"
            )
        if self._bytes < 0:
            limit = f"{MAX_BYTES >> 20} MiB"
            raise _refused(entry, f"folders and patterns hold over {limit}: {_LET_SET_UP}")


def _read_all(
    root: Path,
    entry: str,
    listed: tuple[IgnoredFile, ...],
    worktree: WorktreeConfig,
    room: _Room,
) -> tuple[FileToCopy, ...]:
    files: list[FileToCopy] = []
    for each in listed:
        if each.fault is not None:
            what = f"{each.path!r} in it cannot be copied: {each.fault}; name the others one by one"
            raise _refused(entry, f"{what}, or let set-up make it (`worktree.setup`)")
        if each.link is not None:
            files.append(FileToCopy(each.path, link=each.link))
            continue
        files.append(_read_file(root, each.path, worktree))
        room.take(entry, size=len(files[-1].content))
    return tuple(files)


def _read_file(root: Path, path: str, worktree: WorktreeConfig) -> FileToCopy:
    """Read one file; judged is what was opened, not what has its name."""
    try:
        descriptor = open_inside(root, path, os.O_RDONLY)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise _refused(path, f"{said}; no link on its way is followed") from error
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _refused(path, "it is not a regular file")
        if fault := copied_files.refuse(path, status.st_size, worktree.allow_secret):
            raise RepositoryRefusedError(fault)
        stack.pop_all()
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(status.st_size)
    if fault := copied_files.refuse_content(path, content, worktree.allow_secret):
        raise RepositoryRefusedError(fault)
    return FileToCopy(path, content, executable=bool(status.st_mode & stat.S_IXUSR))


def _refused(entry: str, why: str) -> RepositoryRefusedError:
    return RepositoryRefusedError(f"`worktree.copy` names {entry!r}: {why}")
