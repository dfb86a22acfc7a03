"""Finds and opens the user's repository without running anything of it.

Every command names the git directory, so git searches for none. Therefore neither a foreign owner
(`safe.directory`) nor a bare repository planted on the way matters. No command here starts a server
process, which would not inherit that.
"""

import asyncio
import contextlib
import errno
import hashlib
import os
import pwd
from collections.abc import Generator
from dataclasses import dataclass
from dataclasses import replace as with_changes
from pathlib import Path

from activities.adapters.git.git_command import Git, Scope, configuration
from activities.ports.git_errors import (
    GitCommandError,
    NotARepositoryError,
    RepositoryUnreadableError,
)
from workflows.domain.ids import Commit


@dataclass(frozen=True)
class Found:
    """The paths of a repository's parts, all resolved."""

    root: Path
    git_dir: Path
    common_dir: Path
    """Differs from `git_dir` in a linked worktree."""
    is_bare: bool

    @property
    def key(self) -> str:
        """One name for the repository, whichever path or worktree led to it."""
        return hashlib.sha256(os.fsencode(self.common_dir)).hexdigest()[:32]

    @property
    def owner_uid(self) -> int:
        """The owner's user id."""
        return self.common_dir.stat().st_uid

    @property
    def owner(self) -> str:
        """The owner's name, or the number if this machine has no name for it."""
        try:
            return pwd.getpwuid(self.owner_uid).pw_name
        except KeyError:
            return str(self.owner_uid)

    @property
    def is_writable(self) -> bool:
        """Whether this process can write objects and refs."""
        places = (self.common_dir, self.common_dir / "objects", self.common_dir / "refs")
        return all(os.access(place, os.W_OK | os.X_OK) for place in places)

    def scope(self) -> Scope:
        """Return a scope for reading."""
        env = {"GIT_DIR": str(self.git_dir)}
        if not self.is_bare:
            env["GIT_WORK_TREE"] = str(self.root)
        return Scope(self.root, env)


async def find(path: Path) -> Found:
    """Find the repository that `path` is in.

    Raises:
        NotARepositoryError: there is none, or only a broken `.git`.
        RepositoryUnreadableError: this process may not read the path.
    """
    try:
        return await asyncio.to_thread(_find, path)
    except PermissionError as error:
        raise RepositoryUnreadableError(
            f"{str(error.filename or path)!r} cannot be read ({error.strerror}); give the account "
            "that runs Blue Flame read access, or start it as the owner"
        ) from error


def _find(path: Path) -> Found:
    with _nothing_run():
        from git import InvalidGitRepositoryError, NoSuchPathError, Repo
    resolved = path.resolve()
    try:
        next(resolved.iterdir(), None)
        with Repo(resolved, search_parent_directories=True, expand_vars=False) as repository:
            found = Found(
                root=Path(repository.working_tree_dir or repository.git_dir).resolve(),
                git_dir=Path(repository.git_dir).resolve(),
                common_dir=Path(repository.common_dir).resolve(),
                is_bare=repository.bare,
            )
            named = str(repository.config_reader("repository").get_value("core", "worktree", ""))
    except (FileNotFoundError, NotADirectoryError, NoSuchPathError) as error:
        raise NotARepositoryError(
            f"{str(path)!r} is not a folder; name the folder of a git repository"
        ) from error
    except InvalidGitRepositoryError as error:
        if (nearest := _nearest(resolved)) is not None:
            _require_readable(nearest / ".git", nearest / ".git" / "HEAD")
        raise NotARepositoryError(_advice(path, resolved)) from error
    if not found.is_bare and _nearest(resolved) != found.root:
        raise NotARepositoryError(_advice(path, resolved))
    is_main = found.git_dir == found.common_dir and not found.is_bare
    if named and is_main and (found.git_dir / named).resolve() != found.root:
        raise NotARepositoryError(
            f"{str(found.root)!r} is not the checkout of its repository: `core.worktree` names "
            f"{named!r}; start Blue Flame on a `git clone` of it"
        )
    # If git may not read a repository's objects, it reports that there is no repository.
    common = found.common_dir
    folders = (found.git_dir, common / "objects", common / "refs")
    _require_readable(*folders, found.git_dir / "HEAD", found.git_dir / "index")
    _require_readable(common / "config", common / "packed-refs")
    return found


def require_readable_refs(found: Found) -> None:
    """Raise `PermissionError` for the first unreadable ref, which git would treat as missing."""
    for folder, _, names in os.walk(found.common_dir / "refs"):
        _require_readable(Path(folder), *(Path(folder, name) for name in names))


@contextlib.contextmanager
def _nothing_run() -> Generator[None]:
    """Keep GitPython's import from running git by name from PATH, which is not hardened.

    On its first import it asks the program that the environment names for its version. It silently
    accepts a program that cannot run; here GitPython only reads files.
    """
    meant = {"GIT_PYTHON_GIT_EXECUTABLE": os.devnull, "GIT_PYTHON_REFRESH": "quiet"}
    before = {name: os.environ.get(name) for name in meant}
    os.environ |= meant
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _require_readable(*places: Path) -> None:
    """Raise `PermissionError` for the first place that exists and is closed to this process."""
    for place in places:
        wanted = os.R_OK | os.X_OK if place.is_dir() else os.R_OK
        if place.exists() and not os.access(place, wanted):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))


def _nearest(resolved: Path) -> Path | None:
    """Return the nearest parent folder that has a `.git`, valid or broken."""
    folders = (resolved, *resolved.parents)
    return next((folder for folder in folders if os.path.lexists(folder / ".git")), None)


def _advice(path: Path, resolved: Path) -> str:
    nearest = _nearest(resolved)
    if nearest is None:
        return f"{str(path)!r} is not in a git repository; run `git init` and commit, or go to one"
    return (
        f"`.git` in {str(nearest)!r} leads to no repository; fix it (`git worktree repair`, or "
        "clone again)"
    )


async def without_programs(git: Git, scope: Scope) -> Scope:
    """Return the scope with all filters and configured hooks of the repository switched off."""
    listed = await git.run(scope, "config", "--list", "--name-only", "-z", "--includes")
    names = {record.decode("utf-8", "surrogateescape") for record in listed.records()}
    pairs: list[tuple[str, str]] = []
    for name in sorted({key.rpartition(".")[0] for key in names}):
        if name.startswith("filter."):
            pairs += [(f"{name}.{part}", "") for part in ("clean", "smudge", "process")]
            pairs.append((f"{name}.required", "false"))
        elif name.startswith("hook."):
            pairs.append((f"{name}.enabled", "false"))
    return scope.having(**configuration(pairs))


async def as_owner(git: Git, found: Found, scope: Scope) -> Scope:
    """Return the scope with the owner's rights if this process is root and the owner is not.

    The owner could not change files that root wrote in their repository. If the owner cannot reach
    the repository, nothing is lost by writing as root.
    """
    owner = found.owner_uid
    if os.geteuid() != 0 or owner == 0:
        return scope
    dropped = with_changes(scope, uid=owner, gid=found.common_dir.stat().st_gid)
    try:
        await git.run(dropped, "rev-parse", "--git-dir")
    except (GitCommandError, OSError):
        return scope
    return dropped


async def resolve(git: Git, scope: Scope, name: str) -> Commit | None:
    """Return the commit that a name stands for; None if there is none."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    answer = await git.run(scope, *arguments, accept=(0, 1, 128))
    return Commit(answer.line().splitlines()[-1]) if answer.code == 0 else None
