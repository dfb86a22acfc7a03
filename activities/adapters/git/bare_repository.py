"""The host's bare repository: where it is, how it is made, and how its refs move.

`CONFIG` and `ATTRIBUTES` define its content, not a template or another repository. Worktrees are in
`worktrees.worktree`, objects from outside in `git_bundle`, what its own objects hold in
`tree_reading`.
"""

import asyncio
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from activities.adapters.git import loose_objects
from activities.adapters.git.git_command import SETTINGS, Completed, Git, Scope
from activities.adapters.git.repository_locks import exclusive, remove_stale
from activities.ports.git_errors import GitCommandError, RefMovedError
from activities.ports.user_repository import AttributeRules
from workflows.domain.ids import Commit

CONFIG = """\
[gc]
\tauto = 0
[core]
\tlogAllRefUpdates = false
[index]
\tversion = 4
"""

# Line endings, encodings and `$Id$` are converted as git does for the person; no filter is run.
# `!diff` and `!merge` (unspecified) instead of `-diff` and `-merge` (unset), which would make every
# file binary and every double edit a conflict.
ATTRIBUTES = b"* -filter !diff !merge !conflict-marker-size\n"
AUTOCRLF = b"[core]\n\tautocrlf = input\n"
"""What git stores is the same as with `true`, which would also write CRLF into worktrees."""

KEPT_BYTES = 16 << 20
"""The list of a tree of 10,000 files has about 1 MB."""
OWN_REF = re.compile(
    r"refs/blueflame(?:/[A-Za-z0-9](?:[\w-]|\.(?!\.|lock(?:/|$)|/|$))*)+", re.ASCII
)
"""A plain name of one of Blue Flame's refs; git itself judges any other."""
COMPLETE: Final = ("refs/blueflame/*/base", "refs/blueflame/*/merged")
"""The histories of these were checked, or made here on one that was."""
LOOSE = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")
NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?!\.|lock$|$)){0,199}")
"""Long enough for a session, a task and their suffixes; NAME_MAX leaves room for endings."""


@dataclass(frozen=True)
class Layout:
    """The paths of one repository under the host's data."""

    data: Path
    key: str

    @cached_property
    def bare(self) -> Path:
        """The repository."""
        return self.data / "repositories" / f"{self.key}.git"

    @property
    def mutex(self) -> Path:
        """The lock for administration."""
        return self.data / "locks" / f"{self.key}.lock"

    @property
    def attributes(self) -> Path:
        """An empty repository in which filters are not switched off, to look attributes up."""
        return self.bare / "attributes.git"

    @property
    def outranking(self) -> Path:
        """The attributes of the person's repository that outrank `.gitattributes` files."""
        return self.attributes / "info" / "attributes"

    @property
    def outranked(self) -> Path:
        """The person's attributes for all repositories, which `.gitattributes` files outrank."""
        return self.bare / "info" / "outranked"

    def worktree(self, name: str) -> Path:
        """The folder that a sandbox sees."""
        return self.data / "worktrees" / self.key / checked_name(name)

    def admin(self, name: str) -> Path:
        """The worktree's own git directory."""
        return self.bare / "worktrees" / checked_name(name)

    def lock(self, name: str) -> Path:
        """The worktree's lock."""
        return self.data / "locks" / self.key / checked_name(name)

    def state(self, name: str) -> Path:
        """The folder of the worktree's state; see `worktrees.worktree`."""
        return self.data / "state" / self.key / checked_name(name)


def checked_name(name: str) -> str:
    """Return `name` if it is a valid worktree name.

    Raises:
        ValueError: it could leave its folder, or git would name the worktree differently.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"worktree name {name!r} is not of the form {NAME.pattern}")
    return name


class _Answers:
    """What git has answered, within a limit; what was not asked for longest goes first."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str | bytes, ...], Completed] = OrderedDict()

    def find(self, asked: tuple[str | bytes, ...]) -> Completed | None:
        """Return the answer, if it is kept."""
        answer = self._kept.get(asked)
        if answer is not None:
            self._kept.move_to_end(asked)
        return answer

    def keep(self, asked: tuple[str | bytes, ...], answer: Completed) -> None:
        """Keep an answer, unless it would take the room of too many others."""
        if asked in self._kept or _size(asked, answer) > self._most // 4:
            return
        self._kept[asked] = answer
        self._bytes += _size(asked, answer)
        while self._bytes > self._most:
            self._bytes -= _size(*self._kept.popitem(last=False))


def _size(asked: tuple[str | bytes, ...], answer: Completed) -> int:
    return 1024 + len(answer.stdout) + sum(map(len, asked))


class Bare:
    """The repository itself."""

    def __init__(self, git: Git, layout: Layout, kept_bytes: int = KEPT_BYTES) -> None:
        """Take the program and the paths; nothing is touched yet.

        Args:
            git: the program.
            layout: the paths.
            kept_bytes: how much of the answers of `ask` is kept in memory.
        """
        self.git = git
        self.layout = layout
        self._answers = _Answers(kept_bytes)

    async def ask(self, *arguments: str, stdin: bytes = b"") -> Completed:
        """Ask git about objects by their full names; what it has answered, it is not asked again.

        Objects never change. But they may come and go, so not for whether one is there.

        Raises:
            GitCommandError: one is missing; that is not kept.
        """
        asked = (*arguments, stdin)
        answer = self._answers.find(asked)
        if answer is None:
            answer = await self.git.run(self.scope(), *arguments, stdin=stdin)
            self._answers.keep(asked, answer)
        return answer

    def scope(self, *hold: int) -> Scope:
        """Return a scope inside the repository, outside any worktree's attributes."""
        return self.within(self.layout.bare, {"GIT_DIR": str(self.layout.bare)}, hold)

    def within(self, cwd: Path, env: Mapping[str, str], hold: tuple[int, ...]) -> Scope:
        """Return a scope with the person's attributes for all repositories."""
        settings = (*SETTINGS, f"core.attributesFile={self.layout.outranked}")
        return Scope(cwd, env, hold, settings=settings)

    @asynccontextmanager
    async def mutex(self) -> AsyncGenerator[Scope, None]:
        """Hold the repository for administration; yield a scope whose children also hold it."""
        async with exclusive(self.layout.mutex) as descriptor:
            remove_stale(self.layout.bare)
            yield self.scope(descriptor)

    async def ensure(self, like: Commit) -> None:
        """Make the repository if it is missing, and correct its settings.

        Args:
            like: any commit of it; shows the object format.
        """
        async with self.mutex() as scope:
            if not self.layout.bare.exists():
                await self._make(scope, "sha256" if loose_objects.is_sha256(like) else "sha1")
            if not self.layout.attributes.exists():
                await self._make_attributes(scope)
            await asyncio.to_thread(self._protect)

    async def _make(self, scope: Scope, object_format: str) -> None:
        # Made aside and renamed: after a kill there is a complete repository or none.
        half = self.layout.bare.with_suffix(".half")
        await asyncio.to_thread(shutil.rmtree, half, ignore_errors=True)
        half.mkdir(parents=True, mode=0o700)
        arguments = ("init", "-q", "--bare", "--template=", "--initial-branch=none")
        arguments += (f"--object-format={object_format}", str(half))
        await self.git.run(Scope(half, hold=scope.hold), *arguments)
        with (half / "config").open("a") as config:
            config.write(CONFIG)
        shutil.copyfile(half / "config", half / "config.made")
        (half / "info").mkdir()
        half.rename(self.layout.bare)

    async def _make_attributes(self, scope: Scope) -> None:
        half = self.layout.attributes.with_suffix(".half")
        await self.git.run(scope, "init", "-q", "--bare", "--template=", str(half))
        half.rename(self.layout.attributes)

    @property
    def rules(self) -> AttributeRules:
        """The person's own rules for how git converts files."""
        try:
            return AttributeRules.model_validate_json(self._rules.read_bytes())
        except FileNotFoundError:
            return AttributeRules()

    @property
    def _rules(self) -> Path:
        return self.layout.bare / "rules.json"

    async def set_rules(self, rules: AttributeRules) -> None:
        """Let git convert files in worktrees by these rules too."""
        async with self.mutex():
            if rules != self.rules:
                replace(self._rules, rules.model_dump_json().encode())
            await asyncio.to_thread(self._protect)

    def _protect(self) -> None:
        """Restore the files that only Blue Flame writes, if another program changed them."""
        bare, rules = self.layout.bare, self.rules
        made = (bare / "config.made").read_bytes()
        for place, text in (
            (bare / "config", made + (AUTOCRLF if rules.is_autocrlf else b"")),
            (bare / "info" / "attributes", rules.outranking + ATTRIBUTES),
            (self.layout.outranked, rules.outranked),
            (self.layout.outranking, rules.outranking),
        ):
            if not place.is_file() or place.is_symlink() or place.read_bytes() != text:
                replace(place, text)
        shutil.rmtree(bare / "hooks", ignore_errors=True)

    async def set_excludes(self, excludes: bytes) -> None:
        """Write what worktrees ignore beside `.gitignore` files, if it is not there already."""
        place = self.layout.bare / "info" / "exclude"
        async with self.mutex():
            if excludes != (place.read_bytes() if place.exists() else b""):
                replace(place, excludes)

    def ends(self) -> frozenset[Commit]:
        """Return the commits with which histories end here: their parents may be missing."""
        try:
            return frozenset(Commit(name) for name in self._ends.read_text().split())
        except FileNotFoundError:
            return frozenset()

    def set_ends(self, ends: AbstractSet[Commit]) -> None:
        """Say where histories end; only for a caller that holds the mutex."""
        if ends:
            replace(self._ends, "".join(f"{name}\n" for name in sorted(ends)).encode())
        else:
            self._ends.unlink(missing_ok=True)

    async def complete_commits(self, scope: Scope) -> frozenset[Commit]:
        """Return all commits of complete histories."""
        globs = (f"--glob={ref}" for ref in COMPLETE)
        listed = await self.git.run(scope, "rev-list", *globs)
        return frozenset(Commit(name) for name in listed.stdout.decode().split())

    @property
    def _ends(self) -> Path:
        return self.layout.bare / "shallow"

    async def resolve(self, ref: str) -> Commit | None:
        """Return the commit that a ref, or a full name, stands for; None if it does not exist."""
        if loose_objects.read(self.layout.bare / "objects", "commit", ref) is not None:
            return Commit(ref)
        arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        answer = await self.git.run(self.scope(), *arguments, accept=(0, 1, 128))
        # Git also exits with 128 for a missing object, which is just as useless.
        return Commit(answer.line().splitlines()[-1]) if answer.code == 0 else None

    async def tip(self, ref: str) -> Commit | None:
        """Return the commit that one of Blue Flame's refs holds, mostly without a process."""
        found = self.loose(ref)
        return found if found or self.is_absent(ref) else await self.resolve(ref)

    def loose(self, ref: str) -> Commit | None:
        """Return the commit in a ref's own file, without a process; None if git must look it up."""
        try:
            text = (self.layout.bare / ref).read_text()
        except OSError:
            return None
        return Commit(text[:-1]) if LOOSE.fullmatch(text) else None

    def is_absent(self, ref: str) -> bool:
        """Say whether one of Blue Flame's refs does not exist, without a process; False: ask git.

        They are never packed (`base_names`), and git deletes the file of a packed ref last.
        """
        if not OWN_REF.fullmatch(ref) or os.path.lexists(self.layout.bare / ref):
            return False
        try:
            packed = (self.layout.bare / "packed-refs").read_bytes()
        except FileNotFoundError:
            return True
        return b" refs/blueflame/" not in packed

    async def update_ref(self, ref: str, new: Commit, old: Commit | None) -> None:
        """Move a ref by compare-and-swap; it is not an error if it is there already.

        Raises:
            RefMovedError: it holds neither `old` nor `new`.
        """
        async with self.mutex() as scope:
            await self.move_ref(scope, ref, new, old)

    async def move_ref(self, scope: Scope, ref: str, new: Commit, old: Commit | None) -> None:
        """Move a ref as `update_ref` does, within the mutex that gave the scope."""
        self._remove_stale_lock(ref)
        if self._move_loose(ref, new, old):
            return
        arguments = ("update-ref", "--no-deref", ref, new, old or "0" * len(new))
        try:
            await self.git.run(scope, *arguments)
        except GitCommandError as error:
            found = await self.resolve(ref)
            if found == new:
                return
            if found == old:
                raise
            raise RefMovedError(ref, old, found) from error

    def _move_loose(self, ref: str, new: Commit, old: Commit | None) -> bool:
        """Move a ref as git does, by a rename, without a process; False: git must do it.

        Only for the simple case: the ref's file holds `old`, or there is no ref, and `new` was just
        written as a loose object. The mutex keeps all other writers out until then.
        """
        is_written = (self.layout.bare / "objects" / new[:2] / new[2:]).is_file()
        is_expected = self.is_absent(ref) if old is None else self.loose(ref) == old
        if not is_written or not is_expected:
            return False
        replace(self.layout.bare / ref, f"{new}\n".encode())
        return True

    async def delete_refs(self, doomed: Mapping[str, Commit]) -> None:
        """Delete refs, all or none, if each holds the given commit."""
        asked = "".join(f"delete {ref} {commit}\n" for ref, commit in sorted(doomed.items()))
        async with self.mutex() as scope:
            for ref in doomed:
                self._remove_stale_lock(ref)
            await self.git.run(scope, "update-ref", "--no-deref", "--stdin", stdin=asked.encode())

    def _remove_stale_lock(self, ref: str) -> None:
        # This process and all its children hold the mutex, so this lock belongs to a dead process.
        (self.layout.bare / f"{ref}.lock").unlink(missing_ok=True)


def replace(place: Path, data: bytes) -> None:
    """Write a file so that it is always complete; the caller is the only writer of the folder."""
    place.parent.mkdir(parents=True, exist_ok=True)
    half = place.with_name(f".{place.name}.{os.getpid()}.half")
    half.write_bytes(data)
    half.replace(place)
