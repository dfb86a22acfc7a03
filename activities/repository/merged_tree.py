"""Checks a merged tree for what neither side has alone: links, names and structured files.

Each task's tree was checked when it was collected; git merges them line by line and path by path,
without knowing what they mean.
"""

from collections.abc import Iterable
from typing import NamedTuple

from activities.ports.host_repository import CommitReader
from activities.repository.structured_files import is_structured, structure_fault
from workflows.domain.ids import Commit
from workflows.policy.review.diff_rules import collisions


class MergeFault(NamedTuple):
    """What is wrong with one path of a merged tree."""

    kind: str
    path: str
    text: str


async def merge_faults(
    commits: CommitReader, head: Commit, part: Commit, merged: Commit
) -> tuple[MergeFault, ...]:
    """Judge one merge.

    Args:
        commits: the host's repository.
        head: what was merged into.
        part: what was merged.
        merged: the merge of both; where it is one of them, nothing was joined.
    """
    if merged in (head, part):
        return ()
    links = await commits.link_faults(head, merged)
    changes = await commits.changed_files(head, merged)
    added = [each.path for each in changes if each.status == "added"]
    names = collisions(added, await commits.paths(merged))
    other = {each.path for each in await commits.changed_files(part, merged)}
    joined = [each.path for each in changes if each.path in other and each.status != "deleted"]
    return (
        *(MergeFault("links", path, f"the link leads outside: {text}") for path, text in links),
        *(MergeFault("names", each.path or "", each.text) for each in names),
        *[
            MergeFault("structure", path, fault)
            for path in joined
            if (fault := await new_structure_fault(commits, path, (head, part), merged))
        ],
    )


async def new_structure_fault(
    commits: CommitReader, path: str, before: Iterable[Commit], commit: Commit
) -> str | None:
    """Say what is wrong with a structured file that was sound in all commits before that have it.

    None where nothing is, where one of them had a fault as well, or where none had the file.
    """
    if not is_structured(path):
        return None
    fault = structure_fault(path, await commits.read_file(commit, path) or b"")
    if fault is None:
        return None
    olds = [await commits.read_file(each, path) for each in before]
    known = [old for old in olds if old is not None]
    return None if not known or any(structure_fault(path, old) for old in known) else fault
