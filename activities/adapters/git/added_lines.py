"""What a diff adds, for the check of collected work: files with their modes, and lines.

Everything comes from `diff-tree` on stored objects: it opens no file and runs nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.commit_comparison import DIFF_BYTES
from activities.adapters.git.tree_reading import SAFE, Difference, differences, sizes
from activities.adapters.git.worktrees.collected_names import shown
from workflows.domain.ids import Commit
from workflows.policy.review.diff_rules import AddedLines, ChangedFile

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_HEAD = b"diff --git "
_STATUS = {"A": "added", "D": "deleted"}


async def changed_files(bare: Bare, base: Commit, commit: Commit) -> tuple[ChangedFile, ...]:
    """List the files that differ, in git's order; a rename is two."""
    found = await differences(bare, base, commit)
    blobs = [each.new.blob for each in found if each.new and not each.new.is_submodule]
    lengths = dict(zip(blobs, await sizes(bare, blobs), strict=True))
    return tuple(_changed(each, lengths.get(each.new.blob, 0) if each.new else 0) for each in found)


def _changed(difference: Difference, size: int) -> ChangedFile:
    return ChangedFile(
        path=shown(difference.path),
        status=_STATUS.get(difference.status, "modified"),  # pyright: ignore[reportArgumentType] -- of the two
        old_mode=difference.old_mode,
        mode=difference.new.mode if difference.new else None,
        size=size,
        is_binary=difference.is_binary,
    )


async def added_lines(bare: Bare, base: Commit, commit: Commit) -> tuple[AddedLines, ...]:
    """Return all lines that `commit` has and `base` lacks.

    Raises:
        OutputTooLargeError: the patch is too large to hold; check sizes first.
    """
    names = [each.path for each in await differences(bare, base, commit)]
    if not names:
        return ()
    options = ("-r", "--no-renames", *SAFE)
    scope = replace(bare.scope(), limit_bytes=DIFF_BYTES)
    command = ("diff-tree", "-p", "-U0", "--full-index", "--text")
    patch = await bare.git.run(scope, *command, *options, base, commit)
    return tuple(read_added(patch.stdout, names))


async def changed_lines(
    bare: Bare, base: Commit, commit: Commit, path: str
) -> tuple[tuple[int, int], ...]:
    """Return the first and last line of each change to one file, as in `commit`.

    If lines were only removed, the two are the lines around the gap.
    """
    scope = replace(bare.scope(), limit_bytes=DIFF_BYTES)
    command = ("diff-tree", "-r", "-p", "-U0", "--no-renames", "--text", *SAFE, base, commit)
    patch = (await bare.git.run(scope, *command, "--", path)).stdout
    # Every line of content has its mark, so no content line looks like a hunk header.
    heads = (found for line in patch.split(b"\n") if (found := _HUNK.match(line)))
    return tuple(_changed_range(int(head[2]), int(head[3] or 1)) for head in heads)


def _changed_range(start: int, lines: int) -> tuple[int, int]:
    return (start, start + lines - 1) if lines else (start, start + 1)


def read_added(patch: bytes, paths: list[bytes]) -> Iterator[AddedLines]:
    """Parse a patch without context lines.

    Its file names may be quoted, so they are not read: files come in the order of `paths`. A file
    that becomes a link comes as two files with one header.
    """
    # Every line of content has its mark; other lines report a missing line end.
    lines = (line for line in patch.split(b"\n") if not line.startswith(b"\\"))
    number, last = -1, b""
    for line in lines:
        if line.startswith(_HEAD):
            number += line != last
            last = line
        elif found := _HUNK.match(line):
            gone, start, new = (int(part) if part else 1 for part in found.groups())
            for _ in range(gone):
                next(lines)
            text = b"\n".join(next(lines)[1:] for _ in range(new))
            if new:
                yield AddedLines(shown(paths[number]), start, text)
