"""Finds the user's checkouts that show or work on a branch. Read-only."""

import os
from pathlib import Path

from activities.adapters.git.git_command import Git, Scope

OPERATIONS = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "index.lock",
)


async def holding(git: Git, scope: Scope, ref: str) -> list[Path]:
    """Return the checkouts whose HEAD is the ref."""
    listed = await git.run(scope, "worktree", "list", "--porcelain", "-z")
    found: list[Path] = []
    place = b""
    for record in listed.records():
        if record.startswith(b"worktree "):
            place = record.removeprefix(b"worktree ")
        elif record == b"branch " + os.fsencode(ref):
            found.append(Path(os.fsdecode(place)))
    return found


def under_way(git_dir: Path) -> str | None:
    """Return the operation that a checkout is in the middle of; None if there is none."""
    return next((name for name in OPERATIONS if os.path.lexists(git_dir / name)), None)


def worked_on(common_dir: Path, ref: str) -> Path | None:
    """Return the git directory of a checkout that rebases or bisects the branch."""
    short = ref.removeprefix("refs/heads/")
    for git_dir in (common_dir, *common_dir.glob("worktrees/*")):
        heads = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
        for place in (git_dir / head for head in heads):
            if place.is_file() and place.read_text(errors="replace").strip() in (ref, short):
                return git_dir
    return None
