"""Detects files that belong to Git LFS. Never runs its filter; pointers stay pointers.

Blue Flame's repositories switch all filter attributes off, so attributes are looked up in an empty
repository that does not; a look-up executes nothing.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from activities.adapters.git.git_command import Git, Scope
from activities.adapters.git.repository_locks import exclusive

POINTER_HEAD = b"version https://git-lfs.github.com/spec/v1\n"
POINTER_BYTES = 1024
WORD = b"filter=lfs"


def attribute_files(paths: Iterable[bytes]) -> set[bytes]:
    """Return the paths that are `.gitattributes` files."""
    return {
        path for path in paths if path == b".gitattributes" or path.endswith(b"/.gitattributes")
    }


def are_named(root: Path, files: Iterable[bytes]) -> bool:
    """Say whether any of the `.gitattributes` files names LFS."""
    return any(WORD in _read(os.path.join(os.fsencode(root), file), 1 << 20) for file in files)


def is_pointer(place: bytes) -> bool:
    """Say whether a file is an LFS pointer."""
    return _read(place, POINTER_BYTES + 1).startswith(POINTER_HEAD) and (
        os.lstat(place).st_size <= POINTER_BYTES
    )


def patterns(text: bytes) -> list[str]:
    """Return the patterns of one `.gitattributes` file that name LFS."""
    lines = [line.split() for line in text.splitlines() if not line.lstrip().startswith(b"#")]
    return [words[0].decode("utf-8", "replace") for words in lines if WORD in words[1:]]


def _read(place: bytes, limit: int) -> bytes:
    try:
        # Neither follow a link nor wait for a pipe's writer.
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit) or b""


class AttributeRepository:
    """An empty repository for looking up attributes."""

    def __init__(self, git: Git, place: Path) -> None:
        """Take the program and a private folder; it is made when first needed."""
        self._git = git
        self._place = place

    async def lfs_paths(self, scope: Scope, paths: Iterable[bytes]) -> frozenset[bytes]:
        """Return the paths of the worktree in `scope` that its attributes assign to LFS."""
        await self._ensure()
        asked = b"".join(path + b"\0" for path in paths if not path.endswith(b"/"))
        inside = scope.having(GIT_DIR=str(self._place))
        answer = await self._git.run(inside, "check-attr", "-z", "--stdin", "filter", stdin=asked)
        records = answer.records()
        triples = zip(records[::3], records[1::3], records[2::3], strict=True)
        return frozenset(path for path, _, value in triples if value == b"lfs")

    async def _ensure(self) -> None:
        if self._place.exists():
            return
        async with exclusive(self._place.with_suffix(".lock")):
            half = self._place.with_suffix(".half")
            half.mkdir(parents=True, exist_ok=True)
            await self._git.run(Scope(half), "init", "-q", "--bare", "--template=", str(half))
            if not self._place.exists():
                half.rename(self._place)
