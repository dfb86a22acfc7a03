"""Brings the base's history to the host: into a file, or straight from repository to repository.

Only what the receiver lacks is sent, and nothing of it passes through this process. Neither
repository is written to beyond the receiver's new pack: no ref moves, and of the sender's settings
nothing is executed (`pack-objects` runs no hook and no filter). Whether all has arrived, the
receiver checks (`history_import`).
"""

import asyncio
import os
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from signal import SIGPIPE
from typing import IO, Final

from activities.adapters.git import git_bundle
from activities.adapters.git.git_bundle import Bundle
from activities.adapters.git.git_command import Completed, Git, Scope
from activities.ports.git_errors import BundleError, GitCommandError
from workflows.domain.ids import Commit

_HEAD_BYTES: Final = 64 << 10
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def identity(bare: Path) -> str | None:
    """Return what names a folder on its machine, the same in each process there.

    None: the folder is missing, or this system cannot tell its machine from another.
    """
    try:
        status, boot = bare.stat(), _BOOT.read_text().strip()
    except OSError:
        return None
    return f"{boot}:{status.st_dev}:{status.st_ino}"


async def write_bundle(
    git: Git, scope: Scope, tip: Commit, exclude: tuple[Commit, ...], sink: int
) -> None:
    """Write a bundle of `tip` with its history to a descriptor.

    Args:
        git: the program.
        scope: the repository.
        tip: the commit to send.
        exclude: commits that the receiver has; those that are not here are left out of account.
        sink: an empty file.

    Raises:
        GitCommandError: an object is missing.
    """
    shared = await _shared(git, scope, exclude)
    os.write(sink, git_bundle.head(tip, shared).encode())
    await _pack(git, scope, tip, shared, sink)


async def bring(
    git: Git, source: Scope, tip: Commit, exclude: tuple[Commit, ...], target: Scope
) -> None:
    """Pack `tip` with its history in one repository and index the pack in another, at once.

    A pack that breaks off is not kept: it lacks the checksum at its end.

    Raises:
        GitCommandError: an object is missing, or the pack cannot be stored.
    """
    shared = await _shared(git, source, exclude)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as end, os.fdopen(writing, "wb") as start:
        sent, stored = await asyncio.gather(
            _closing(start, _pack(git, source, tip, shared, writing)),
            _closing(end, index(git, target, reading)),
            return_exceptions=True,
        )
    is_cut = isinstance(sent, GitCommandError) and sent.code == -SIGPIPE
    for failure in (stored, sent) if is_cut else (sent, stored):
        if isinstance(failure, BaseException):
            raise failure


async def _closing(end: IO[bytes], work: Coroutine[object, object, Completed]) -> Completed:
    # The other process sees the end of the data, or of its reader, once no one holds this one.
    with end:
        return await work


async def _shared(git: Git, scope: Scope, names: tuple[Commit, ...]) -> tuple[Commit, ...]:
    lacking = set(await git_bundle.lacking(git, scope, names))
    return tuple(name for name in names if name not in lacking)


async def _pack(
    git: Git, scope: Scope, tip: Commit, exclude: tuple[Commit, ...], sink: int
) -> Completed:
    scope = replace(scope, limit_seconds=git_bundle.LIMIT_SECONDS, sink=sink)
    wanted = "".join(f"{line}\n" for line in (tip, *(f"^{name}" for name in exclude)))
    return await git.run(scope, "pack-objects", *git_bundle.packing(exclude), stdin=wanted.encode())


async def index(git: Git, scope: Scope, source: int) -> Completed:
    """Store the objects of the pack that a descriptor gives.

    Raises:
        GitCommandError: it is damaged, lacks what its deltas build on, or there is no room.
    """
    scope = replace(scope, limit_seconds=git_bundle.LIMIT_SECONDS, source=source)
    return await git.run(scope, "index-pack", "--stdin", "--fix-thin")


def read_head(source: int) -> Bundle:
    """Read a bundle's header from the start of a file, and leave the file at its pack.

    Raises:
        BundleError: this is not a bundle, or one of a kind that Blue Flame does not make.
    """
    data = os.pread(source, _HEAD_BYTES, 0)
    end = data.find(b"\n\n")
    if end < 0:
        raise BundleError(f"not a git bundle (begins with {data[:20]!r}); export it again")
    os.lseek(source, end + 2, os.SEEK_SET)
    return git_bundle.parse(data[: end + 2])
