"""Gathers what the check of a collected diff asks for, and has it judged (`policy.postcheck`).

Lines are read only once paths and sizes are in order: what is too large is never held.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from activities.ports.host_repository import CommitReader, Finding, FindingKind
from workflows.contracts.host_contracts import FinishTask
from workflows.domain.violation import DiffRule, Violation
from workflows.policy.commands.protection import denies
from workflows.policy.review.diff_rules import ChangedFile, judge_files, judge_lines

_RULES: Final[dict[FindingKind, DiffRule]] = {
    "nested_git": DiffRule.NESTED_GIT,
    "submodule": DiffRule.SUBMODULE,
    "not_regular": DiffRule.NOT_REGULAR,
    "name": DiffRule.NAME,
    "symlink": DiffRule.SYMLINK,
    "lfs": DiffRule.LFS,
}


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
    broken = (*seen, *judged.violations)
    if changes and not any(each.rule is DiffRule.DIFF_SIZE for each in broken):
        added = await commits.added_lines(base, commit)
        broken = (*broken, *judge_lines(added, request.allow_secret))
    return Checked(changes, broken, judged.notices)
