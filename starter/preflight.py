"""A look at the person's repository before anything starts: is it one, which base, which gates.

Reads only, through git's plumbing, with everything off that a repository could make git run. The
session examines the repository thoroughly itself; this is for an early, plain answer.
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starter.errors import CommandError

if TYPE_CHECKING:
    from workflows.domain.gate import GateSpec

_GIT: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")
_KEPT: Final = ("PATH", "HOME", "XDG_CONFIG_HOME")


@dataclass(frozen=True)
class Repository:
    """What the preflight found."""

    root: Path
    """The checkout's top, or the repository itself where it is bare."""
    commit: str
    base: str
    """In words: the branch, tag or commit that work starts from."""
    is_bare: bool = False
    """There is no checkout: `root` is the repository itself."""


async def examine(path: Path, base: str | None) -> Repository:
    """Find the repository at `path` and its base.

    Args:
        path: the repository or a folder in it.
        base: a branch, tag or commit; None: what is checked out.

    Raises:
        CommandError: it is no repository, has no commit, or the base is not in it.
    """
    if not path.is_dir():  # noqa: ASYNC240 (one stat before anything runs)
        raise CommandError(f"repository {str(path)!r} is no folder; name one with --repo")
    root, is_bare = await _root(path)
    commit = await _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", _spec(base))
    if commit is None and base is None:
        raise CommandError(
            f"repository {str(root)!r} has no commit yet; commit what is there, then start again"
        )
    if commit is None:
        raise CommandError(
            f"base {base!r} is no commit of {str(root)!r}; `git branch -a` lists them"
        )
    return Repository(root, commit, base or await _head(root, commit), is_bare)


async def find_root(path: Path) -> Path | None:
    """Return the root of the repository that `path` is in; None where it is in none.

    Raises:
        CommandError: git is not there, or does not trust the folder.
    """
    if not path.is_dir():  # noqa: ASYNC240 (one stat before anything runs)
        raise CommandError(f"repository {str(path)!r} is no folder; name one with --repo")
    root, _ = await _found(path)
    return root


async def gates(repository: Repository) -> list[str]:
    """Return the names of the gates that the base shows, with their commands."""
    return [f"{gate.name} ({' '.join(gate.argv)})" for gate in await detected_gates(repository)]


async def detected_gates(repository: Repository) -> "tuple[GateSpec, ...]":
    """Return the gates that the base shows."""
    # Later than the rest: only a dry run and `init` ask.
    from activities.gate_detection import detect_gates, files_to_read

    listing = await _git(repository.root, "ls-tree", "-r", "--name-only", "-z", repository.commit)
    paths = [path for path in (listing or "").split("\0") if path]
    files = dict.fromkeys(paths, b"")
    for path in files_to_read(paths):
        text = await _git(repository.root, "cat-file", "blob", f"{repository.commit}:{path}")
        files[path] = (text or "").encode()
    return detect_gates(files)


def _spec(base: str | None) -> str:
    return f"{base or 'HEAD'}^{{commit}}"


async def _root(path: Path) -> tuple[Path, bool]:
    root, is_bare = await _found(path)
    if root is None:
        raise CommandError(
            f"{str(path)!r} is not in a git repository; `git init` and a first commit make one, "
            "--repo names another"
        )
    return root, is_bare


async def _found(path: Path) -> tuple[Path | None, bool]:
    """The checkout's top, or the repository itself and that it is bare."""
    if top := await _git(path, "rev-parse", "--show-toplevel"):
        return Path(top), False
    bare = await _git(path, "rev-parse", "--absolute-git-dir")
    return (Path(bare), True) if bare else (None, False)


async def _head(root: Path, commit: str) -> str:
    branch = await _git(root, "symbolic-ref", "--quiet", "--short", "HEAD")
    return branch or f"{commit[:12]} (detached)"


async def _git(path: Path, *arguments: str) -> str | None:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *_GIT,
            "-C",
            str(path),
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
    except FileNotFoundError as error:
        raise CommandError("the program `git` is not installed; install it first") from error
    out, errors = await process.communicate()
    if b"dubious ownership" in errors:
        raise CommandError(
            f"repository {str(path)!r} belongs to another user; run as that user, or trust it with "
            f"`git config --global --add safe.directory {path}`"
        )
    return out.decode(errors="replace").rstrip("\n") if process.returncode == 0 else None
