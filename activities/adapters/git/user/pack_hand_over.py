"""Gives packs to the repository of another user, for a process that is root.

Git never writes there with root's rights, because the other user could lead it elsewhere by a link.
The packs are made in a folder of root's own on the same disk, and are renamed from there: into a
folder that is opened part by part without following a link.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from activities.adapters.git.repository_locks import exclusive
from activities.ports.user_repository import HandOver

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LAST: Final = ".idx"
"""Git takes a pack for one once its index is there."""


def is_possible(handing: HandOver, bare: Path) -> bool:
    """Tell whether packs can be renamed into a repository: same disk, and no link on the way."""
    try:
        folder = _opened(handing.top, bare / "objects" / "pack")
    except (OSError, ValueError):
        return False
    try:
        return os.fstat(folder).st_dev == handing.top.stat().st_dev
    finally:
        os.close(folder)


@asynccontextmanager
async def receiving(bare: Path, handing: HandOver | None) -> AsyncGenerator[Path]:
    """Yield the object folder in which packs for a repository are made.

    Args:
        bare: the repository.
        handing: if it belongs to another user: the packs are given to it if the block ends well.

    Raises:
        OSError: a link or another file is where a folder of the receiver was.
    """
    if handing is None:
        yield bare / "objects"
        return
    objects = handing.staging / bare.name
    async with exclusive(handing.staging / f"{bare.name}.lock"):
        # A process that was killed may have left its half.
        await asyncio.to_thread(shutil.rmtree, objects, ignore_errors=True)
        (objects / "pack").mkdir(mode=0o700, parents=True)
        try:
            yield objects
            await asyncio.to_thread(_give, objects / "pack", handing, bare / "objects" / "pack")
        finally:
            await asyncio.to_thread(shutil.rmtree, objects, ignore_errors=True)


def _give(made: Path, handing: HandOver, receiving: Path) -> None:
    folder = _opened(handing.top, receiving)
    try:
        for path in sorted(made.iterdir(), key=lambda each: each.suffix == _LAST):
            os.chown(path, handing.uid, handing.gid, follow_symlinks=False)
            os.rename(path, path.name, dst_dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def _opened(top: Path, place: Path) -> int:
    """Open a folder below `top`; only `top` itself may be reached by links.

    Raises:
        OSError: a part is no folder.
        ValueError: the place is not below `top`.
    """
    folder = os.open(top, _FOLDER)
    for part in place.relative_to(top).parts:
        try:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder
