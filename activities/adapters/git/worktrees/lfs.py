"""Detects pointers of Git LFS. Its filter never runs; pointers stay pointers."""

import os

POINTER_HEAD = b"version https://git-lfs.github.com/spec/v1\n"
POINTER_BYTES = 1024


def is_pointer(place: bytes) -> bool:
    """Say whether a file is an LFS pointer."""
    return _read(place).startswith(POINTER_HEAD) and os.lstat(place).st_size <= POINTER_BYTES


def _read(place: bytes) -> bytes:
    try:
        # Neither follow a link nor wait for a pipe's writer.
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(POINTER_BYTES + 1) or b""
