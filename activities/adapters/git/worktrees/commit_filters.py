"""Which paths the attributes of a commit give to a filter, whatever a worktree's say.

An agent may change `.gitattributes`, and no longer have a filter on what it then writes as plain
text. Therefore a path is filtered if the attributes of the base or those of the worktree say so.
Git LFS is left to the worktree's own: it hides nothing, and a task may give it up.

It goes by paths, not by content. A file that leaves the pattern (`git mv secrets/a public/a`) is
not filtered: no filter ran when it was checked out, so it is still encrypted, and what an agent
writes elsewhere is for secret patterns and reviewers to judge. One that enters the pattern is.
A base that no longer has the filter has decided: someone accepted the work that removed it.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.git_command import Scope
from activities.adapters.git.tree_reading import differences, entries
from activities.adapters.git.worktrees.conversion import LFS, attribute_files, filters
from workflows.domain.ids import Commit

_FILTER: Final = re.compile(rb"filter(?!=lfs(?:\s|$))")
"""What stands in each attribute file that names a filter other than LFS, and in few others."""


class Attributes(NamedTuple):
    """The `.gitattributes` files of a commit."""

    commit: Commit
    texts: Mapping[bytes, bytes]
    """The content of each, by path; links are left out, as git does not read them."""


async def attributes_of(bare: Bare, commit: Commit) -> Attributes:
    """Read the `.gitattributes` files of a commit."""
    listed = (await entries(bare, commit)).items()
    blobs = {path: entry.blob for path, entry in listed if entry.is_file}
    texts = {
        path: (await bare.ask("cat-file", "blob", blobs[path])).stdout
        for path in sorted(attribute_files(blobs))
    }
    return Attributes(commit, texts)


async def filters_by(
    bare: Bare, scope: Scope, attributes: Attributes, paths: Collection[bytes]
) -> Mapping[bytes, str]:
    """Return the filter, other than LFS, of each of the paths that a commit gives to one.

    Args:
        bare: the repository; the person's own attributes count too.
        scope: holds the locks.
        attributes: the commit's.
        paths: of files, in the commit or not.
    """
    if not paths or not _may_filter(bare, attributes.texts.values()):
        return {}
    with tempfile.TemporaryDirectory(dir=bare.layout.data) as folder:
        await asyncio.to_thread(_write, os.fsencode(folder), attributes.texts)
        inside = bare.within(Path(folder), {"GIT_WORK_TREE": folder}, scope.hold)
        found = await filters(bare, inside, paths)
    return {path: name for path, name in found.items() if name != LFS}


async def filtered(bare: Bare, base: Commit, commit: Commit) -> Mapping[bytes, str]:
    """Return the filter of each file that `commit` changes, by its attributes or the base's."""
    changed = await differences(bare, base, commit)
    paths = [each.path for each in changed if each.new and each.new.is_file]
    found: dict[bytes, str] = {}
    for each in (commit, base) if paths else ():
        found |= await filters_by(bare, bare.scope(), await attributes_of(bare, each), paths)
    return found


def _may_filter(bare: Bare, texts: Iterable[bytes]) -> bool:
    rules = bare.rules
    return any(_FILTER.search(text) for text in (rules.outranking, rules.outranked, *texts))


def _write(folder: bytes, texts: Mapping[bytes, bytes]) -> None:
    for path, text in texts.items():
        # Git checks out no such name, and nothing is written outside the folder.
        if b".." not in path.split(b"/"):
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            Path(os.fsdecode(place)).write_bytes(text)
