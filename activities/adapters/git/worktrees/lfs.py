"""Detects pointers of Git LFS. Its filter never runs; pointers stay pointers."""

import os

from activities.adapters.git.worktrees.file_heads import read_head

POINTER_HEAD = b"version https://git-lfs.github.com/spec/v1\n"
POINTER_BYTES = 1024


def is_pointer(place: bytes) -> bool:
    """Say whether a file is an LFS pointer."""
    head = read_head(place, len(POINTER_HEAD))
    return head == POINTER_HEAD and os.lstat(place).st_size <= POINTER_BYTES
