"""Finds what sessions left in the host's repositories, and removes it under the same locks.

It does not know which sessions have ended. A worktree whose lock is held, or a repository whose
mutex is held, is in use: it is left alone and reported.
"""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from activities.adapters.git.bare_repository import Bare, Layout
from activities.adapters.git.git_bundle import LIMIT_SECONDS
from activities.adapters.git.git_command import Git
from activities.adapters.git.worktrees.worktree import Worktrees, delete
from workflows.domain.ids import Commit

_PATIENCE_SECONDS: Final = 2.0
_REF: Final = re.compile(r"refs/blueflame/([^/]+)/.+")


_T = TypeVar("_T")


class BusyError(Exception):
    """Another process holds the lock."""


@dataclass(frozen=True)
class Leftover:
    """One worktree on disk."""

    name: str
    """`<session>.<agent>`."""
    size_bytes: int

    @property
    def session(self) -> str:
        """The session that it was made for."""
        return self.name.split(".", maxsplit=1)[0]


def repositories(data: Path) -> list[str]:
    """Return the keys of the repositories on this host."""
    return sorted(path.stem for path in (data / "repositories").glob("*.git"))


def size_of(path: Path) -> int:
    """Return a path's size on disk in bytes; files removed in the meantime do not count."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


class Cleanup:
    """One repository of the host."""

    def __init__(self, git: Git, data: Path, key: str) -> None:
        """Take the program, the host's data folder and the repository's key; touch nothing."""
        self._git = git
        self._layout = Layout(data, key)
        self._bare = Bare(git, self._layout)
        self._worktrees = Worktrees(self._bare)

    def worktrees(self) -> Iterator[Leftover]:
        """Find the worktrees on disk, complete or not."""
        for name in sorted(self._worktree_names()):
            yield Leftover(name, size_of(self._layout.worktree(name)))

    def traces(self) -> Iterator[Leftover]:
        """Find what else is left of removed worktrees: their locks and states."""
        data, key = self._layout.data, self._layout.key
        names = _names_in(data / "locks" / key, data / "state" / key)
        for name in sorted(names - self._worktree_names()):
            yield Leftover(name, 0)

    def _worktree_names(self) -> set[str]:
        data, key = self._layout.data, self._layout.key
        return _names_in(data / "worktrees" / key, self._layout.bare / "worktrees")

    async def refs(self) -> dict[str, dict[str, Commit]]:
        """Return the refs, grouped by session."""
        arguments = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/blueflame/")
        listed = await self._git.run(self._bare.scope(), *arguments)
        found: dict[str, dict[str, Commit]] = {}
        for line in listed.stdout.decode().splitlines():
            commit, ref = line.split(" ", 1)
            if (match := _REF.fullmatch(ref)) is not None:
                found.setdefault(match[1], {})[ref] = Commit(commit)
        return found

    async def remove_worktree(self, name: str) -> None:
        """Remove a worktree with all its files.

        Raises:
            BusyError: its lock is held.
            WorktreeDamagedError: it cannot be deleted.
        """
        async with _held(self._worktrees.lock(name)):
            await self._worktrees.remove(name)
            shutil.rmtree(self._layout.state(name), ignore_errors=True)
            # While it is held; see `file_locks`.
            self._layout.lock(name).unlink(missing_ok=True)

    async def delete_refs(self, refs: dict[str, Commit]) -> None:
        """Delete refs, if each still holds the given commit."""
        await self._bare.delete_refs(refs)

    async def prune(self, before: datetime, *, is_idle: bool) -> int:
        """Delete unreferenced objects, without ever unpacking them; pack the others.

        An object that a base needs may go before the base is named. The import then finds it
        missing (`history_import`).

        Args:
            before: younger objects without a ref may belong to a running command, and stay.
            is_idle: no session is open that could be about to begin here; what is packed then
                goes whatever its age. If not, it moves to one cruft pack until it is old enough.

        Returns:
            By how many bytes the repository became smaller; negative if it grew.

        Raises:
            BusyError: the repository's mutex is held.
        """
        size = size_of(self._layout.bare)
        async with _held(self._bare.mutex()) as held:
            scope = replace(held, limit_seconds=LIMIT_SECONDS)
            expiry = f"{int(before.timestamp())} +0000"
            kept = ("-a",) if is_idle else ("--cruft", f"--cruft-expiration={expiry}")
            arguments = ("-q", "-d", "-l", "--no-write-bitmap-index", *kept)
            await self._git.run(scope, "repack", *arguments)
            await self._git.run(scope, "prune", f"--expire={expiry}")
        return size - size_of(self._layout.bare)

    async def remove_repository(self, before: datetime) -> int:
        """Remove the whole repository if it has no sessions and was not used recently.

        Args:
            before: anything newer in it keeps it.

        Returns:
            The number of freed bytes; 0 if it was kept.

        Raises:
            BusyError: its mutex is held.
        """
        size = size_of(self._layout.bare)
        async with _held(self._bare.mutex()):
            if await self.refs():
                return 0
            bare = self._layout.bare
            places = [bare, *bare.iterdir(), *(bare / "objects").iterdir()]
            if max(place.stat().st_mtime for place in places) >= before.timestamp():
                return 0
            await asyncio.to_thread(delete, self._layout.bare)
            self._forget()
        return size

    def _forget(self) -> None:
        """Remove the repository's folders that are empty, and its mutex, which is held."""
        data, key = self._layout.data, self._layout.key
        for name in ("worktrees", "state", "locks"):
            with suppress(OSError):
                (data / name / key).rmdir()
        self._layout.mutex.unlink(missing_ok=True)


def _names_in(*places: Path) -> set[str]:
    return {path.name for place in places if place.is_dir() for path in place.iterdir()}


@asynccontextmanager
async def _held(lock: AbstractAsyncContextManager[_T]) -> AsyncGenerator[_T]:
    """Hold a lock while the block runs; give up if another process holds it for long."""
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                held = await stack.enter_async_context(lock)
        except TimeoutError as error:
            raise BusyError from error
        yield held
