"""Finds the ignored files of the person's checkout that an entry of `worktree.copy` names.

Git itself decides, with the person's own excludes. Links are listed as links and never followed.
"""

import os
from dataclasses import replace
from pathlib import Path

from activities.adapters.git.git_command import Git
from activities.adapters.git.user.file_settings import FileSettings
from activities.adapters.git.user.user_git import Found, without_programs
from activities.adapters.git.worktrees.collected_names import link_fault, name_fault, shown
from activities.ports.user_repository import IgnoredFile

_WILD = frozenset("*?[")


async def list_ignored(
    git: Git, found: Found, settings: FileSettings, entry: str
) -> tuple[IgnoredFile, ...]:
    """Return the ignored, untracked files of the checkout that an entry names, sorted.

    Args:
        git: the program.
        found: the repository; it has a checkout.
        settings: the person's.
        entry: a file, a folder or a pattern (`*` stays within a folder, `**` crosses them),
            relative to the root.
    """
    scope = settings.within(await without_programs(git, found.scope()))
    scope = replace(scope, env={**scope.env, "GIT_LITERAL_PATHSPECS": "0"})
    magic = "glob" if _WILD & set(entry) else "literal"
    asked = ("ls-files", "-z", "-o", "-i", "--exclude-standard", "--", f":(top,{magic}){entry}")
    paths = sorted((await git.run(scope, *asked)).records())
    return tuple(_look(found.root, path) for path in paths)


def _look(root: Path, path: bytes) -> IgnoredFile:
    if path.endswith(b"/"):
        return IgnoredFile(path=shown(path), fault="it is a repository of its own")
    if fault := name_fault(path):
        return IgnoredFile(path=shown(path), fault=fault)
    top = os.fsencode(root)
    try:
        target = os.readlink(os.path.join(top, path))
    except OSError:
        return IgnoredFile(path=path.decode())
    if fault := link_fault(top, path) or name_fault(target):
        return IgnoredFile(path=path.decode(), fault=f"it is a link: {fault}")
    return IgnoredFile(path=path.decode(), link=target.decode())
