"""Writes and reads commits and blobs as loose objects, and formats Blue Flame's commits.

This saves two processes per checkpoint (a third of its time). The format is git's own
(gitformat-loose); git handles everything else about objects.
"""

import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from workflows.domain.ids import Commit, Tree

IDENTITY = "Blue Flame <blueflame@localhost>"
SHA256_DIGITS = 64
TRAILER = re.compile(r"^([A-Za-z][A-Za-z-]*): (.+)$")


def is_sha256(name: str) -> bool:
    """Say whether an object name is a SHA-256."""
    return len(name) == SHA256_DIGITS


def digest(kind: str, data: bytes, like: str) -> str:
    """Return the object name that git gives `data`.

    Args:
        kind: `blob`, `commit` …
        data: the content.
        like: any object name of the repository; its length distinguishes SHA-1 from SHA-256.
    """
    framed = f"{kind} {len(data)}\0".encode() + data
    if is_sha256(like):
        return hashlib.sha256(framed).hexdigest()
    return hashlib.sha1(framed, usedforsecurity=False).hexdigest()


def write(objects: Path, kind: str, data: bytes, like: str) -> str:
    """Store one object unless it is there, and return its name.

    Args:
        objects: the repository's `objects` folder.
        kind: `blob`, `commit` …
        data: the content.
        like: any object name of the repository.
    """
    name = digest(kind, data, like)
    place = objects / name[:2] / name[2:]
    if place.exists():
        return name
    place.parent.mkdir(exist_ok=True)
    packed = zlib.compress(f"{kind} {len(data)}\0".encode() + data, 1)
    descriptor, temporary = tempfile.mkstemp(prefix="tmp_obj_", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(packed)
            os.fchmod(file.fileno(), 0o444)
        # A rename is atomic: no reader ever sees half an object, even after a kill.
        os.replace(temporary, place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return name


def read(objects: Path, kind: str, name: str) -> bytes | None:
    """Return a loose object's content; None if it is packed, missing, damaged or of another kind.

    Args:
        objects: the repository's `objects` folder.
        kind: `blob`, `commit` …
        name: the object's full name.
    """
    try:
        framed = zlib.decompress((objects / name[:2] / name[2:]).read_bytes())
    except (OSError, zlib.error):
        return None
    _, _, data = framed.partition(b"\0")
    return data if digest(kind, data, name) == name else None


def commit_text(tree: Tree, parents: Sequence[Commit], message: str, when: datetime) -> bytes:
    """Return a commit object's content; the same arguments give the same bytes."""
    if when.tzinfo is None:
        raise ValueError(f"commit time {when!r} has no time zone; give one")
    stamp = f"{IDENTITY} {int(when.timestamp())} +0000"
    head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    head += [f"author {stamp}", f"committer {stamp}"]
    body = message.replace("\0", "\N{REPLACEMENT CHARACTER}").strip("\n")
    return ("\n".join(head) + f"\n\n{body}\n").encode("utf-8", "replace")


def with_trailers(message: str, trailers: Iterable[tuple[str, str]]) -> str:
    """Append trailers as a separate paragraph; a value's line breaks become spaces."""
    lines = [f"{key}: {' '.join(value.split())}" for key, value in trailers]
    return "\n\n".join(part for part in (message.strip(), "\n".join(lines)) if part)


def read_trailers(message: str) -> dict[str, str]:
    """Return the trailers in the last paragraph; empty if it has other lines."""
    found = [TRAILER.match(line) for line in message.strip().split("\n\n")[-1].splitlines()]
    return {match[1]: match[2] for match in found if match} if all(found) else {}
