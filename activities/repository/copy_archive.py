"""The person's copied files on their way to worktrees: packed into the store, and written out.

A folder or a pattern travels as one archive, however many files it has, so that a session's history
stays short. The same files make the same archive: set-up is known again by it.
"""

import asyncio
import errno
import io
import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from activities.ports.blob_store_port import BlobStore
from activities.ports.git_errors import RepositoryRefusedError
from activities.repository.safe_open import link_inside, open_inside
from workflows.domain.repository import CopiedFile

_EXECUTABLE, _PLAIN = 0o755, 0o644
_IN_THE_WAY = {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}


@dataclass(frozen=True)
class FileToCopy:
    """One file, or a link that stays inside the repository."""

    path: str
    """Relative to the root, with `/`."""
    content: bytes = b""
    executable: bool = False
    link: str | None = None
    """Where it leads; None: it is a file."""


def packed(files: Iterable[FileToCopy]) -> bytes:
    """Return an archive of files; the same files make the same bytes."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            info = tarfile.TarInfo(file.path)
            info.mode = _EXECUTABLE if file.executable else _PLAIN
            if file.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, file.link
            info.size = len(file.content)
            archive.addfile(info, io.BytesIO(file.content))
    return target.getvalue()


def unpacked(data: bytes) -> Iterator[FileToCopy]:
    """Return what `packed` put into an archive, one after the other."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for info in archive:
            opened = archive.extractfile(info) if info.isreg() else None
            yield FileToCopy(
                path=info.name,
                content=b"" if opened is None else opened.read(),
                executable=info.mode == _EXECUTABLE,
                link=info.linkname if info.issym() else None,
            )


async def write_copied(store: BlobStore, root: Path, copied: tuple[CopiedFile, ...]) -> None:
    """Write the person's copied files into a fresh worktree.

    The tree is a stranger's: no component of a path is followed if it is a link.

    Raises:
        RepositoryRefusedError: the base has something else in the way.
    """
    for each in copied:
        data = await store.get(each.content)
        await asyncio.to_thread(_write_all, root, each, data)


async def copied_paths(store: BlobStore, copied: tuple[CopiedFile, ...]) -> frozenset[str]:
    """Return the paths of all files that were copied, those of folders and patterns included."""
    names: set[str] = set()
    for each in copied:
        if each.kind == "archive":
            names.update(file.path for file in unpacked(await store.get(each.content)))
        else:
            names.add(each.path)
    return frozenset(names)


def _write_all(root: Path, copied: CopiedFile, data: bytes) -> None:
    if copied.kind == "archive":
        for file in unpacked(data):
            _write(root, file)
    else:
        _write(root, FileToCopy(copied.path, data, executable=copied.executable))


def _write(root: Path, file: FileToCopy) -> None:
    try:
        _put(root, file)
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
        raise RepositoryRefusedError(
            f"`worktree.copy` cannot bring {file.path!r}: the base has a link, or something else "
            f"that is not a folder or file, on its way ({error.strerror}); take it out of "
            "`worktree.copy`"
        ) from error


def _put(root: Path, file: FileToCopy) -> None:
    if file.link is not None:
        link_inside(root, file.path, file.link)
        return
    mode = _EXECUTABLE if file.executable else _PLAIN
    create = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(open_inside(root, file.path, create, mode), "wb") as opened:
        opened.write(file.content)
