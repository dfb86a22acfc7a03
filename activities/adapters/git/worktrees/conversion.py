"""How git converts files on their way in and out: line endings, encodings, `$Id$`, filters.

Git converts files by the worktree's own attributes in every command that Blue Flame runs. This
module finds out what that means: which files git would hand to a filter, which stay as they were
checked out, and which it cannot encode. No filter runs: they are switched off (`bare_repository`),
so a look-up for them takes place in an empty repository where they are not.
"""

import asyncio
import filecmp
import os
import stat
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.git_command import Scope
from activities.adapters.git.worktrees.file_heads import read_head
from activities.ports.user_repository import AttributeRules

LFS: Final = "lfs"
_READ_BYTES: Final = 1 << 20
_NO_FILTER: Final = frozenset({b"unspecified", b"unset", b"set"})
"""Values of the attribute `filter` that name none."""


def attribute_files(paths: Iterable[bytes]) -> set[bytes]:
    """Return the paths that are `.gitattributes` files."""
    return {
        path for path in paths if path == b".gitattributes" or path.endswith(b"/.gitattributes")
    }


def filter_patterns(texts: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """Return the patterns of attribute files that name a filter, each with the filter.

    Args:
        texts: folder (`""`: the root) and content of each file; macros of all are known in all.
    """
    lines = [
        (folder, words)
        for folder, text in texts
        for line in text.decode("utf-8", "replace").splitlines()
        if (words := line.split()) and not words[0].startswith("#")
    ]
    macros: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for folder, (pattern, *attributes) in lines:
        names = [
            macros.get(each, each.removeprefix("filter="))
            for each in attributes
            if each.startswith("filter=") or each in macros
        ]
        if not names:
            continue
        if pattern.startswith("[attr]"):
            macros[pattern.removeprefix("[attr]")] = names[-1]
        else:
            found.append((f"{folder}/{pattern}".lstrip("/"), names[-1]))
    return found


async def filters(bare: Bare, scope: Scope, paths: Iterable[bytes]) -> Mapping[bytes, str]:
    """Return the filter of each of the paths that attributes give to one."""
    asked = b"".join(path + b"\0" for path in paths if not path.endswith(b"/"))
    inside = scope.having(GIT_DIR=str(bare.layout.attributes))
    answer = await bare.git.run(inside, "check-attr", "-z", "--stdin", "filter", stdin=asked)
    records = answer.records()
    triples = zip(records[::3], records[1::3], records[2::3], strict=True)
    return {
        path: value.decode("utf-8", "replace")
        for path, _, value in triples
        if value not in _NO_FILTER
    }


def may_filter(bare: Bare, root: Path, files: Iterable[bytes]) -> bool:
    """Say whether an attribute file names a filter: those of a worktree, and the person's own."""
    places = [*(os.path.join(os.fsencode(root), file) for file in files)]
    places += [os.fsencode(place) for place in (bare.layout.outranking, bare.layout.outranked)]
    return any(b"filter" in read_head(place, _READ_BYTES) for place in places)


def may_convert(bare: Bare, files: Collection[bytes]) -> bool:
    """Say whether git converts any file of a worktree with these `.gitattributes` files."""
    return bool(files) or bare.rules != AttributeRules()


async def same_as_checked_out(
    bare: Bare, scope: Scope, paths: Collection[bytes]
) -> frozenset[bytes]:
    """Return those of the tracked paths whose files are what a checkout of the index writes.

    Git calls some of them different all the same, for it compares what it would store: files with
    CRLF in a repository that asks for LF, until someone normalises them.
    """
    if not paths:
        return frozenset()
    with tempfile.TemporaryDirectory(dir=bare.layout.data) as folder:
        written = ("checkout-index", "-q", "-f", "-z", "--stdin", f"--prefix={folder}/")
        asked = b"".join(path + b"\0" for path in paths)
        await bare.git.run(scope, *written, stdin=asked, accept=(0, 1, 128))
        tops = os.fsencode(folder), os.fsencode(scope.cwd)
        same = [path for path in paths if await asyncio.to_thread(_is_same, *tops, path)]
    return frozenset(same)


def _is_same(one: bytes, other: bytes, path: bytes) -> bool:
    places = os.path.join(one, path), os.path.join(other, path)
    if not all(os.path.isfile(place) and not os.path.islink(place) for place in places):
        return False
    first, second = (os.stat(place).st_mode & stat.S_IXUSR for place in places)
    return first == second and filecmp.cmp(*places, shallow=False)


async def not_encodable(bare: Bare, scope: Scope, paths: Iterable[bytes]) -> frozenset[bytes]:
    """Return those of the paths that git cannot convert to store them, one by one."""
    found: set[bytes] = set()
    for path in paths:
        place = os.path.join(os.fsencode(scope.cwd), path)
        if stat.S_ISREG((await asyncio.to_thread(os.lstat, place)).st_mode):
            tried = await bare.git.run(scope, "hash-object", "-w", "--", path, accept=(0, 128))
            found |= {path} if tried.code else set()
    return frozenset(found)
