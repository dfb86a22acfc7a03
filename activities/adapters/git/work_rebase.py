"""Rebases a task's earlier work onto a new base, with conflicts shown in the files.

A three-way merge path by path: a change of the work on its old base is applied to the new base
under the same path. Git's own merge follows renames, and could put work where its task may not
write.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from activities.adapters.git import loose_objects
from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.tree_reading import Entry, entries, tree_of
from activities.adapters.git.worktrees.collected_names import shown
from activities.ports.merge_values import Rebase, Rebased
from workflows.domain.ids import Commit, Tree

MERGED: Final = "merged work"
BEFORE: Final = "before both"
EARLIER: Final = "your earlier work"
_FILES: Final = frozenset({"100644", "100755"})
_MARKED: Final = "both sides changed the same lines; conflict markers show them"
_NOT_TEXT: Final = "both sides changed it, and it is not text; the merged version is kept"
_DELETED_THERE: Final = "the merged work deleted it, your earlier work changed it; yours is kept"
_DELETED_HERE: Final = "your earlier work deleted it, the merged work changed it; that is kept"
_SAME_NAME: Final = "one side has a file and the other a folder of that name; yours is left out"


Entries = Mapping[bytes, Entry]


class Merged(NamedTuple):
    """The result at one path."""

    entry: Entry | None
    fault: str = ""
    """The conflict in words; empty if there is none."""


async def rebase(bare: Bare, request: Rebase) -> Rebased:
    """Move work onto another base; see the port."""
    before = await entries(bare, request.work_base)
    own = await entries(bare, request.work)
    there = await entries(bare, request.base)
    touched = sorted(
        path for path in before.keys() | own.keys() if before.get(path) != own.get(path)
    )
    merged = {
        path: await _merged(bare, before.get(path), there.get(path), own.get(path))
        for path in touched
    }
    merged |= {path: Merged(None, _SAME_NAME) for path in _in_the_way(merged, there)}
    changes = {path: each.entry for path, each in merged.items() if each.entry != there.get(path)}
    faults = {shown(path): each.fault for path, each in merged.items() if each.fault}
    tree = await _with(bare, request.base, changes)
    text = loose_objects.commit_text(tree, (request.base,), request.message, request.when)
    objects = bare.layout.bare / "objects"
    return Rebased(
        commit=Commit(loose_objects.write(objects, "commit", text, request.base)),
        paths=tuple(faults),
        messages=tuple(f"{path}: {fault}" for path, fault in faults.items()),
    )


def _in_the_way(merged: Mapping[bytes, Merged], there: Entries) -> list[bytes]:
    """List the work's paths where the result would have both a file and a folder."""
    gone = {path for path, each in merged.items() if each.entry is None}
    files = (there.keys() | merged.keys()) - gone
    folders = {folder for path in files for folder in _above(path)}
    return [
        path
        for path in merged.keys() - gone
        if path not in there and (path in folders or not files.isdisjoint(_above(path)))
    ]


def _above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:length]) for length in range(1, len(parts))]


async def _merged(
    bare: Bare, before: Entry | None, there: Entry | None, own: Entry | None
) -> Merged:
    """Merge one path that the work changed.

    | the new base has                | the work has    | result                      |
    |---------------------------------|-----------------|-----------------------------|
    | what the old base had           | anything        | the work's                  |
    | the same as the work            | the same        | that                        |
    | nothing                         | a changed file  | the work's, as a conflict   |
    | a changed file                  | nothing         | the base's, as a conflict   |
    | a changed file                  | another one     | both, merged line by line   |
    | the same, but one is not text   | another one     | the base's, as a conflict   |
    """
    if there in {before, own}:
        return Merged(own)
    if there is None or own is None:
        return Merged(own, _DELETED_THERE) if there is None else Merged(there, _DELETED_HERE)
    if not {there.mode, own.mode} <= _FILES:
        return Merged(there, _NOT_TEXT)
    mode = own.mode if before and there.mode == before.mode else there.mode
    if before and there.blob == before.blob:
        return Merged(Entry(mode, own.blob))
    if own.blob == there.blob or (before and own.blob == before.blob):
        return Merged(Entry(mode, there.blob))
    old = before.blob if before and before.mode in _FILES else None
    return await _merged_lines(bare, Entry(mode, there.blob), old, own.blob)


async def _merged_lines(bare: Bare, there: Entry, before: str | None, own: str) -> Merged:
    with tempfile.TemporaryDirectory(dir=bare.layout.data) as folder:
        places: list[str] = []
        for name, blob in (("there", there.blob), ("before", before), ("own", own)):
            place = Path(folder) / name
            place.write_bytes(await _content(bare, blob) if blob else b"")
            places.append(str(place))
        labels = [word for label in (MERGED, BEFORE, EARLIER) for word in ("-L", label)]
        # The exit code counts the conflicts, up to 127; content that is not text cannot be merged.
        accept = tuple(range(128))
        done = await bare.git.run(
            bare.scope(), "merge-file", "-p", "-q", *labels, *places, accept=(*accept, 255)
        )
    if done.code not in accept:
        return Merged(there, _NOT_TEXT)
    blob = loose_objects.write(bare.layout.bare / "objects", "blob", done.stdout, there.blob)
    return Merged(Entry(there.mode, blob), _MARKED if done.code else "")


async def _content(bare: Bare, blob: str) -> bytes:
    return (await bare.git.run(bare.scope(), "cat-file", "blob", blob)).stdout


async def _with(bare: Bare, commit: Commit, changes: Mapping[bytes, Entry | None]) -> Tree:
    """Return a commit's tree with some paths changed, or removed if the new entry is None."""
    if not changes:
        return await tree_of(bare, commit)
    gone = Entry("0", "0" * len(commit))
    # Removals first, because a file may now be a folder, and vice versa.
    ordered = sorted(changes.items(), key=lambda change: (change[1] is not None, change[0]))
    lines = [
        f"{(entry or gone).mode} {(entry or gone).blob}\t".encode() + path + b"\0"
        for path, entry in ordered
    ]
    with tempfile.TemporaryDirectory(dir=bare.layout.data) as folder:
        scope = bare.scope().having(GIT_INDEX_FILE=str(Path(folder) / "index"))
        await bare.git.run(scope, "read-tree", commit)
        await bare.git.run(scope, "update-index", "-z", "--index-info", stdin=b"".join(lines))
        return Tree((await bare.git.run(scope, "write-tree")).line())
