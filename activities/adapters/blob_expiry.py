"""Deletes the blobs of a local store that were last written long enough ago.

Every put renews a blob's time, so an open session refers only to blobs no older than itself
(`starter.machine.cleaning.cleanup_request` says what counts). Writers never wait: a blob is first
moved aside, and put back if it was renewed in between; a later writer finds it missing and writes
it again.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LEFT = re.compile(r"\.[0-9a-f]{16}\.(new|doomed)")
"""Files that killed writers and collections left behind."""


class Collected(NamedTuple):
    """How much was deleted, or would be."""

    blobs: int
    size_bytes: int


def collect(directory: Path, before: datetime, *, dry_run: bool = False) -> Collected:
    """Delete every blob that was last put before a time.

    Args:
        directory: the store's; may be missing.
        before: with a time zone.
        dry_run: only count.
    """
    count = size = 0
    for path in _candidates(directory):
        status = path.stat(follow_symlinks=False)
        if _is_newer(status.st_mtime, before):
            continue
        if dry_run or _delete(path, directory, before):
            count += 1
            size += status.st_blocks * 512
    return Collected(count, size)


def _candidates(directory: Path) -> Iterator[Path]:
    yield from (path for path in directory.glob("[0-9a-f][0-9a-f]/*") if _is_blob(path))
    yield from (path for path in directory.glob(".*") if _LEFT.fullmatch(path.name))


def _is_blob(path: Path) -> bool:
    return _DIGEST.fullmatch(path.name) is not None


def _delete(path: Path, directory: Path, before: datetime) -> bool:
    """Delete one file; return False if it was put again at the last moment."""
    aside = directory / f".{path.name[-16:]}.doomed"
    if not _is_blob(path):
        path.unlink(missing_ok=True)
        return True
    try:
        path.rename(aside)
    except FileNotFoundError:
        return False  # another collection was faster
    if _is_newer(aside.stat().st_mtime, before):
        aside.rename(path)
        return False
    aside.unlink()
    return True


def _is_newer(seconds: float, before: datetime) -> bool:
    return datetime.fromtimestamp(seconds, UTC) >= before
