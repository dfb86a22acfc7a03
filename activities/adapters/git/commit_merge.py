"""Merges commits without a worktree, and compares commits.

Git's exit code and its structured messages decide what is a conflict, not markers in files:
deletions, renames and type changes conflict without markers. Runs inside the bare repository, where
no attribute of the content can name a merge driver.
"""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from activities.adapters.git import loose_objects
from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.tree_reading import tree_of
from activities.adapters.git.worktrees.collected_names import shown
from activities.ports.merge_values import Conflict, Merged, MergeOutcome, MergePart
from workflows.domain.ids import Commit, Tree

MARKER = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: .*)?\r?$", re.MULTILINE)
MARKER_FOR_GIT = r"^(<<<<<<<|>>>>>>>|[|]{7})([ \r]|$)"
CONFLICT = re.compile(r"CONFLICT \((.*)\)")


@dataclass(frozen=True)
class Report:
    """The output of `merge-tree -z --name-only --messages`."""

    tree: Tree
    paths: tuple[str, ...]
    kinds: tuple[str, ...]
    messages: tuple[str, ...]


def parse_report(output: bytes) -> Report:
    """Parse git's answer: the tree, conflicted names, a blank, then messages with their paths."""
    tree, *rest = output.split(b"\0")
    blank = rest.index(b"")
    paths = {shown(path) for path in rest[:blank]}
    kinds: set[str] = set()
    messages: list[str] = []
    fields = iter(rest[blank + 1 :])
    while count := next(fields, b""):
        touched = [shown(next(fields)) for _ in range(int(count))]
        kind, text = next(fields).decode(), shown(next(fields).strip())
        if not kind.startswith("CONFLICT"):
            continue
        match = CONFLICT.fullmatch(kind)
        kinds.add(match[1] if match else kind)
        messages.append(text)
        paths.update(touched)
    return Report(Tree(tree.decode()), tuple(sorted(paths)), tuple(sorted(kinds)), tuple(messages))


async def merge(
    bare: Bare, head: Commit, parts: tuple[MergePart, ...], when: datetime
) -> MergeOutcome:
    """Merge in order; see the port."""
    heads: list[Commit] = []
    for part in parts:
        outcome = await _merge_one(bare, heads[-1] if heads else head, part, when)
        if isinstance(outcome, Conflict):
            return outcome
        heads.append(outcome)
    last = heads[-1] if heads else head
    return Merged(commit=last, tree=await tree_of(bare, last), heads=tuple(heads))


async def _merge_one(
    bare: Bare, head: Commit, part: MergePart, when: datetime
) -> Commit | Conflict:
    common = await bare.git.run(bare.scope(), "merge-base", head, part.commit, accept=(0, 1))
    if common.line() == part.commit:
        return head
    if common.line() == head:
        return await _without_markers(bare, head, part, part.commit)
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--messages")
    done = await bare.git.run(bare.scope(), *arguments, head, part.commit, accept=(0, 1))
    report = parse_report(done.stdout)
    if done.code != 0 or report.kinds:
        return Conflict(
            head=head,
            commit=part.commit,
            kinds=report.kinds,
            paths=report.paths,
            messages=report.messages,
        )
    text = loose_objects.commit_text(report.tree, (head, part.commit), part.message, when)
    merged = Commit(loose_objects.write(bare.layout.bare / "objects", "commit", text, head))
    return await _without_markers(bare, head, part, merged)


async def _without_markers(
    bare: Bare, head: Commit, part: MergePart, merged: Commit
) -> Commit | Conflict:
    paths = await new_markers(bare, head, merged)
    if not paths:
        return merged
    messages = tuple(f"{path!r} has conflict markers that were not there before" for path in paths)
    return Conflict(
        head=head, commit=part.commit, kinds=("markers",), paths=paths, messages=messages
    )


async def new_markers(bare: Bare, base: Commit, commit: Commit) -> tuple[str, ...]:
    """List files that have more marker lines than in `base`.

    A line of `=======` alone does not count, because it underlines headings.
    """
    arguments = ("diff-tree", "-r", "-z", "--raw", "-M", "--no-ext-diff", "--no-textconv")
    trees = (await tree_of(bare, base), await tree_of(bare, commit))
    listed = await bare.ask(*arguments, "-G", MARKER_FOR_GIT, *trees)
    fields = iter(listed.records())
    found: list[str] = []
    for head in fields:
        _, _, before, after, status = head.decode().split(" ")
        path = next(fields)
        if status.startswith("R"):
            path = next(fields)
        if (await _markers(bare, after)) - (await _markers(bare, before)):
            found.append(shown(path))
    return tuple(sorted(found))


async def _markers(bare: Bare, blob: str) -> Counter[bytes]:
    if not blob.strip("0"):
        return Counter()
    content = await bare.git.run(bare.scope(), "cat-file", "blob", blob)
    return Counter(MARKER.findall(content.stdout))
