"""Worktrees: created, found complete or created again, held exclusively, removed.

A worktree is complete when the file `made` says so; it is written last and removed first. A second
file, `at`, exists while the files are known to be exactly one commit. It holds the commit and the
boot id, because after a power cut files may be older than what was written after them.
"""

import asyncio
import os
import stat
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

from activities.adapters.git.bare_repository import Bare, replace
from activities.adapters.git.git_command import Scope
from activities.adapters.git.repository_locks import Locking, exclusive, remove_stale
from activities.ports.git_errors import (
    WorktreeDamagedError,
    WorktreeMissingError,
    WorktreeNotHeldError,
)
from activities.ports.host_repository import WorktreePlace
from workflows.domain.ids import Commit

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PARALLEL = ("-c", "checkout.workers=0", "-c", "checkout.thresholdForParallelism=5000")
"""For small trees the processes of a parallel checkout cost more than they save: up to six times
the processor time on 300 files."""


_HERE: ContextVar[Mapping[Path, int]] = ContextVar("held worktrees", default=MappingProxyType({}))
"""The locks that the current task holds, by their files."""


class Worktrees:
    """The worktrees of one bare repository."""

    def __init__(self, bare: Bare, locking: Locking = exclusive) -> None:
        """Take the repository and the way to lock a worktree; nothing is touched yet."""
        self.bare = bare
        self._locking = locking
        self._held: dict[str, int] = {}

    def place(self, name: str) -> WorktreePlace:
        """Return the paths of a worktree, whether it exists or not."""
        layout = self.bare.layout
        return WorktreePlace(
            name=name, path=layout.worktree(name), git_dir=layout.bare, state=layout.state(name)
        )

    @asynccontextmanager
    async def lock(
        self, name: str, on_wait: Callable[[], None] | None = None
    ) -> AsyncGenerator[int, None]:
        """Hold a worktree; see the port."""
        async with self._locking(self.bare.layout.lock(name), on_wait) as descriptor:
            remove_stale(self.bare.layout.admin(name))
            self._held[name] = descriptor
            here = _HERE.set({**_HERE.get(), self.bare.layout.lock(name): descriptor})
            try:
                yield descriptor
            finally:
                _HERE.reset(here)
                del self._held[name]

    @asynccontextmanager
    async def _locked(self, name: str) -> AsyncGenerator[int, None]:
        """Hold a worktree, or use the lock that the caller's task already holds."""
        descriptor = _HERE.get().get(self.bare.layout.lock(name))
        if descriptor is not None:
            yield descriptor
            return
        async with self.lock(name) as descriptor:
            yield descriptor

    def scope(self, name: str) -> Scope:
        """Return a scope in a held worktree, after checking that its `.git` is Blue Flame's file.

        Raises:
            WorktreeNotHeldError: this task does not hold its lock.
            WorktreeMissingError: there is none, or an incomplete one.
            WorktreeDamagedError: its `.git` is something else.
        """
        if name not in self._held:
            raise WorktreeNotHeldError(f"worktree {name!r} is used without its lock; hold it first")
        if not self._made(name).exists():
            raise WorktreeMissingError(f"there is no complete worktree {name!r}; create it first")
        if not self._is_whole(name):
            raise WorktreeDamagedError(
                f"`.git` of worktree {name!r} is not the file that was made; create it again"
            )
        return self._scope(name, self._held[name])

    def _scope(self, name: str, descriptor: int) -> Scope:
        layout = self.bare.layout
        env = {"GIT_DIR": str(layout.admin(name)), "GIT_WORK_TREE": str(layout.worktree(name))}
        return self.bare.within(layout.worktree(name), env, (descriptor,))

    def _is_whole(self, name: str) -> bool:
        layout = self.bare.layout
        _open(layout.worktree(name))
        link = layout.worktree(name) / ".git"
        expected = f"gitdir: {layout.admin(name)}\n"
        is_link_whole = link.is_file() and not link.is_symlink() and link.read_text() == expected
        return is_link_whole and (layout.admin(name) / "index").is_file()

    async def create(self, name: str, commit: Commit) -> WorktreePlace:
        """Create a worktree, or find a complete one; see the port."""
        async with self._locked(name) as descriptor:
            if not (self._made(name).exists() and self._is_whole(name)):
                await self._wipe(name)
                await self._add(name, commit, descriptor)
                self.mark(name, commit)
                replace(self._made(name), b"")
        return self.place(name)

    async def _add(self, name: str, commit: Commit, descriptor: int) -> None:
        path = self.bare.layout.worktree(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        git = self.bare.git
        async with self.bare.mutex() as scope:
            options = ("--lock", "--detach", "--no-checkout", "-q")
            await git.run(scope, "worktree", "add", *options, str(path), commit)
        inside = self._scope(name, descriptor)
        await git.run(inside, "read-tree", commit)
        await git.run(inside, *PARALLEL, "checkout-index", "-a", "-f", "-u", "-q")

    async def remove(self, name: str) -> None:
        """Delete a worktree; see the port."""
        async with self._locked(name):
            await self._wipe(name)

    async def _wipe(self, name: str) -> None:
        layout = self.bare.layout
        self._made(name).unlink(missing_ok=True)
        await asyncio.to_thread(delete, layout.state(name))
        await asyncio.to_thread(delete, layout.worktree(name))
        async with self.bare.mutex():
            await asyncio.to_thread(delete, layout.admin(name))

    def mark(self, name: str, commit: Commit | None) -> None:
        """Record that the files are exactly `commit`; None: they may differ from any commit."""
        place = self._at(name)
        # Never renamed over an old one, because some file systems then wait for the disk.
        place.unlink(missing_ok=True)
        if commit is not None:
            replace(place, f"{commit} {_boot()}".encode())

    def is_at(self, name: str, commit: Commit) -> bool:
        """Say whether the files are known to be exactly `commit`."""
        try:
            return self._at(name).read_text() == f"{commit} {_boot()}"
        except FileNotFoundError:
            return False

    def mark_ignored(self, name: str, paths: Iterable[bytes]) -> None:
        """Record paths as not written by an agent."""
        replace(self._marked(name), b"\0".join(paths))

    def marked_ignored(self, name: str) -> frozenset[bytes]:
        """Return the paths that were recorded last."""
        try:
            return frozenset(self._marked(name).read_bytes().split(b"\0"))
        except FileNotFoundError:
            return frozenset()

    def _marked(self, name: str) -> Path:
        return self.bare.layout.state(name) / "ignored"

    def _made(self, name: str) -> Path:
        return self.bare.layout.state(name) / "made"

    def _at(self, name: str) -> Path:
        return self.bare.layout.state(name) / "at"


def _open(folder: Path) -> None:
    """Give this process access to a worktree's own folder, which a command may have closed."""
    with suppress(FileNotFoundError):
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(stat.S_IMODE(status.st_mode) | stat.S_IRWXU)


def _boot() -> str:
    return BOOT_ID.read_text().strip() if BOOT_ID.exists() else "-"


def delete(path: Path) -> None:
    """Delete a file, or a folder with anything that an agent can have made in it.

    Uses `chmod` and `rm`, because they handle folders nested deeper than a path can name, and
    neither follows links on the way.
    """
    if not os.path.lexists(path):
        return
    _run("rm", "-rf", "--", str(path))
    if path.is_dir() and not path.is_symlink():
        # Rare: a folder whose mode denies access.
        unlock_folders(path)
        _run("rm", "-rf", "--", str(path))
    if os.path.lexists(path):
        raise WorktreeDamagedError(f"{str(path)!r} cannot be deleted; look at its owner and mode")


def unlock_folders(top: Path) -> None:
    """Give this process access to the folders below `top` whose mode denies it."""
    shut = ("-type", "d", "!", "-perm", "-u=rwx")
    _run("find", str(top), *shut, "-exec", "chmod", "u+rwx", "{}", ";")


def _run(*arguments: str) -> None:
    subprocess.run(arguments, check=False, capture_output=True, env={"PATH": "/usr/bin:/bin"})
