"""Gathers the facts for the check of a collected diff, and has `policy.review.diff_rules` judge it.

Lines are read only after paths and sizes are accepted, so nothing too large is ever held.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from activities.ports.host_repository import CommitReader, Finding, FindingKind
from activities.repository.merged_tree import new_structure_fault
from workflows.contracts.host_contracts import FinishTask
from workflows.domain.violation import DiffRule, Violation
from workflows.policy.commands.protection import denies
from workflows.policy.review.diff_rules import (
    AddedLines,
    ChangedFile,
    judge_files,
    judge_filtered,
    judge_lines,
)
from workflows.policy.review.lost_lines import lost_lines

_RULES: Final[dict[FindingKind, DiffRule]] = {
    "nested_git": DiffRule.NESTED_GIT,
    "submodule": DiffRule.SUBMODULE,
    "not_regular": DiffRule.NOT_REGULAR,
    "name": DiffRule.NAME,
    "symlink": DiffRule.SYMLINK,
    "lfs": DiffRule.LFS,
    "filter": DiffRule.FILTER,
    "encoding": DiffRule.ENCODING,
}
_MARKER: Final = "conflict markers are left in it; settle the conflict and take them out"


class Checked(NamedTuple):
    """The diff, and what was found in it."""

    changes: tuple[ChangedFile, ...]
    violations: tuple[Violation, ...]
    notices: tuple[str, ...]


async def check_diff(
    commits: CommitReader, request: FinishTask, found: Sequence[Finding]
) -> Checked:
    """Judge what a task's checkpoint holds against its base.

    Args:
        commits: the host's repository.
        request: names base and checkpoint, claims, limits and what the person allowed.
        found: what could not be collected.
    """
    base, commit = request.base, request.checkpoint
    changes = await commits.changed_files(base, commit)
    rules = (request.claims, request.policy, request.gate_files)
    judged = judge_files(
        changes,
        await commits.paths(commit),
        request.claims,
        lambda path: denies(path, *rules),
        request.limits,
    )
    seen = (Violation(rule=_RULES[f.kind], path=f.path, text=f.text) for f in found)
    filtered = judge_filtered(await commits.filtered(base, commit), {f.path for f in found})
    broken = (*seen, *judged.violations, *filtered)
    if changes and not any(each.rule is DiffRule.DIFF_SIZE for each in broken):
        added = await commits.added_lines(base, commit)
        broken = (
            *broken,
            *judge_lines(added, request.allow_secret),
            *await _lost(commits, request, added),
            *await _badly_merged(commits, request, changes, {f.path for f in found}),
        )
    return Checked(changes, broken, judged.notices)


async def _lost(
    commits: CommitReader, request: FinishTask, added: Sequence[AddedLines]
) -> tuple[Violation, ...]:
    """Find what others merged since the task's first attempt and its work takes away."""
    first, base = request.first_base, request.base
    if first is None or first == base:
        return ()
    removed = await commits.added_lines(request.checkpoint, base)
    if not removed:
        return ()
    return lost_lines(await commits.added_lines(first, base), removed, added, request.task_text)


async def _badly_merged(
    commits: CommitReader,
    request: FinishTask,
    changes: Sequence[ChangedFile],
    known: AbstractSet[str],
) -> tuple[Violation, ...]:
    """Find what a merge can leave in files: markers, links that lead outside, keys twice."""
    base, commit = request.base, request.checkpoint
    markers = [
        Violation(rule=DiffRule.MARKER, path=path, text=_MARKER)
        for path in await commits.new_markers(base, commit)
    ]
    links = [
        Violation(rule=DiffRule.SYMLINK, path=path, text=f"the link leads outside: {fault}")
        for path, fault in await commits.link_faults(base, commit)
        if path not in known
    ]
    marked = {each.path for each in markers}
    paths = [e.path for e in changes if e.status == "modified" and e.path not in marked]
    structure = [
        Violation(rule=DiffRule.STRUCTURE, path=path, text=f"{fault}; put it right")
        for path in paths
        if (fault := await new_structure_fault(commits, path, (base,), commit))
    ]
    return (*markers, *links, *structure)
