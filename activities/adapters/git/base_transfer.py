"""Brings the base's history to the host: into a file, or straight from repository to repository.

Only what the receiver lacks is sent, and nothing of it passes through this process. Neither
repository is written to beyond the receiver's new pack: no ref moves, and of the sender's settings
nothing is executed (`pack-objects` runs no hook and no filter). Whether all has arrived, the
receiver checks (`history_import`).
"""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from activities.adapters.git import git_bundle
from activities.adapters.git.git_bundle import Bundle
from activities.adapters.git.git_command import SETTINGS, Completed, Git, Scope, ending_at
from activities.ports.git_errors import BundleError
from activities.ports.history_values import HistoryPart
from workflows.domain.ids import Commit

_HEAD_BYTES: Final = 64 << 10
_SETTINGS: Final = (
    *SETTINGS,
    "core.sharedRepository=umask",
    "core.fsync=default",
    "pack.packSizeLimit=0",
)
"""The receiver's files follow the receiver's rules, not the sender's."""
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


async def write_bundle(git: Git, scope: Scope, part: HistoryPart, sink: int) -> None:
    """Write a bundle of a commit with its history to a descriptor.

    Args:
        git: the program.
        scope: the repository.
        part: what to send.
        sink: an empty file.

    Raises:
        GitCommandError: an object is missing.
    """
    known = await shared(git, scope, part.known)
    os.write(sink, git_bundle.head(part.commit, known).encode())
    writing = replace(scope, limit_seconds=git_bundle.LIMIT_SECONDS, sink=sink)
    with _cut(writing, part) as cut:
        wanted = _wanted(part, known)
        options = (*git_bundle.packing(known), *_walking(part))
        await git.run(cut, "pack-objects", *options, stdin=wanted)


async def bring(git: Git, source: Scope, part: HistoryPart, receiving: Path) -> None:
    """Pack a commit with its history in one repository, and store the pack elsewhere.

    What is packed already is copied as it is, and checked by its CRC; what is loose is compressed
    quickly and not compared. For this one command the receiver's object folder stands in for the
    sender's, which is only borrowed from. The pack gets its name when it is complete and on disk.

    Args:
        git: the program.
        source: the sender.
        part: what to send.
        receiving: the receiver's object folder, with a folder `pack`.

    Raises:
        GitCommandError: an object is missing, or there is no room.
    """
    known = await shared(git, source, part.known)
    named = await git.run(source, "rev-parse", "--git-path", "objects")
    lent = source.cwd / os.fsdecode(named.stdout[:-1])
    borrowing = source.having(
        GIT_OBJECT_DIRECTORY=str(receiving), GIT_ALTERNATE_OBJECT_DIRECTORIES=_quoted(lent)
    )
    pack = str(receiving / "pack" / "pack")
    options = ("--revs", "-q", "--delta-base-offset", "--window=0", "--compression=1")
    scope = replace(borrowing, limit_seconds=git_bundle.LIMIT_SECONDS, settings=_SETTINGS)
    with _cut(scope, part) as cut:
        wanted = _wanted(part, known)
        await git.run(cut, "pack-objects", *options, *_walking(part), pack, stdin=wanted)


def _walking(part: HistoryPart) -> tuple[str, ...]:
    """Return the options to find what is shared: git's own choice is for few new commits."""
    return ("--no-sparse",) if part.more else ()


def _cut(scope: Scope, part: HistoryPart) -> AbstractContextManager[Scope]:
    return nullcontext(scope) if part.cuts is None else ending_at(scope, part.cuts)


def _quoted(path: Path) -> str:
    """Quote a path as git's lists of object folders ask for; they are separated by colons."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


async def shared(git: Git, scope: Scope, names: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """Return the commits that are in this repository too."""
    lacking = set(await git_bundle.lacking(git, scope, names))
    return tuple(name for name in names if name not in lacking)


def _wanted(part: HistoryPart, known: tuple[Commit, ...]) -> bytes:
    lines = (part.commit, *part.more, *(f"^{name}" for name in known))
    return "".join(f"{line}\n" for line in lines).encode()


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
