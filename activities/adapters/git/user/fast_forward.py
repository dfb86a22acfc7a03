"""The safe fast-forward of a user's branch, on request.

A branch that no checkout shows is moved by compare-and-swap. A branch that a checkout shows is
moved with it by `git merge --ff-only`, after a trial on a copy of the index shows that no file of
the user is in the way. Ignored files count as the user's. Hooks do not run. The user's filters do,
as with a pull, because without them the checkout would be wrong.

If no one asked at this moment (`deliver: fast_forward`), no checkout moves: someone may be working
in it, and even a clean one would change behind their back. Such a branch stays where it is.
"""

import os
import pwd
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from activities.adapters.git.git_command import ENVIRONMENT, SETTINGS, Git, Scope, configuration
from activities.adapters.git.user.repository_preflight import copy_index
from activities.adapters.git.user.user_checkouts import holding, under_way, worked_on
from activities.adapters.git.user.user_git import Found, as_owner, find, resolve, without_programs
from activities.adapters.git.worktrees.collected_names import shown
from activities.ports.git_errors import GitCommandError, GitTimedOutError, NotARepositoryError
from activities.ports.user_repository import FastForwardRequest, Landed, LandOutcome, Refused
from workflows.domain.ids import Commit

# What a checkout must not do, even with the user's own configuration.
KEPT_SETTINGS = tuple(
    setting
    for setting in SETTINGS
    if setting.split("=")[0]
    in {"core.hooksPath", "core.fsmonitor", "submodule.recurse", "gc.auto", "maintenance.auto"}
)
_CHECKOUT_SECONDS = 60 * 60.0
"""A filter may fetch much data (LFS)."""
KEPT_VARIABLES = ("LC_ALL", "GIT_TERMINAL_PROMPT", "GIT_PAGER", "GIT_EDITOR")


@dataclass(frozen=True)
class Person:
    """What the person's own git settings and filters need."""

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """PATH and what configures git for filters. HOME and XDG_CONFIG_HOME say where git's own
    settings are: what it ignores, and how it reads text."""
    signing: Mapping[str, str] = field(default_factory=dict[str, str])
    """What git needs to sign commits as the person: PATH, HOME, the agents that hold keys."""


def signing_scope(scope: Scope, person: Person) -> Scope:
    """Return the scope in which git knows who the person is, and signs with their key."""
    kept = {name: ENVIRONMENT[name] for name in KEPT_VARIABLES}
    home = {} if scope.uid is None else {"HOME": _home(scope.uid)}
    return replace(scope, settings=KEPT_SETTINGS, base={**person.signing, **home, **kept})


async def fast_forward(git: Git, request: FastForwardRequest, person: Person) -> LandOutcome:
    """Move the branch, or say why not; see the port."""
    found = await find(request.path)
    scope = await as_owner(git, found, await without_programs(git, found.scope()))
    ref = f"refs/heads/{request.branch}"
    held = await resolve(git, scope, ref)
    if held == request.new:
        return Landed(ref=ref, commit=request.new)
    refused = await _reason_against(git, scope, request, held, found)
    if refused is not None:
        return refused
    places = await holding(git, scope, ref)
    if not places:
        return await _swap(git, scope, ref, request)
    if not request.moves_checkout or len(places) > 1:
        return _left_alone(request, places)
    checkout = await _checkout(git, scope, found, places[0], ref)
    if checkout is None:
        text = f"{request.branch!r} is checked out, but not where git says ({places[0]}); move it "
        return Refused(reason="checked_out", text=text + "yourself")
    return await _Checkout(git, request, checkout, person).move(ref)


async def _checkout(git: Git, scope: Scope, found: Found, place: Path, ref: str) -> Found | None:
    """Return the checkout that shows a branch; None if it cannot be found.

    Git lists a submodule's main checkout, or one with `--separate-git-dir`, by its git directory.
    """
    head = await git.run(scope, "symbolic-ref", "-q", "HEAD", accept=(0, 1))
    if not found.is_bare and head.line() == ref:
        return found
    try:
        return await find(place)
    except NotARepositoryError:
        return None


async def _reason_against(
    git: Git, scope: Scope, request: FastForwardRequest, held: Commit | None, found: Found
) -> Refused | None:
    if held != request.old:
        text = (
            f"{request.branch!r} is at {held or 'nothing'} now; merge the session's branch yourself"
        )
        return Refused(reason="moved", text=text)
    arguments = ("merge-base", "--is-ancestor", request.old, request.new)
    if (await git.run(scope, *arguments, accept=(0, 1))).code:
        text = (
            f"{request.new} does not follow {request.branch!r}; merge the session's branch yourself"
        )
        return Refused(reason="not_forward", text=text)
    busy = worked_on(found.common_dir, f"refs/heads/{request.branch}")
    if busy is not None:
        text = (
            f"{request.branch!r} is being rebased or bisected ({busy}); finish that, then try again"
        )
        return Refused(reason="busy", text=text)
    return None


def _left_alone(request: FastForwardRequest, places: list[Path]) -> Refused:
    there = shlex.quote(str(places[0]))
    text = (
        f"{request.branch!r} is checked out in {str(places[0])!r}, and Blue Flame changes no "
        f"checkout unless you ask; move it with `git -C {there} merge --ff-only {request.new}`"
    )
    if request.moves_checkout:
        names = ", ".join(str(place) for place in places)
        text = f"{request.branch!r} is checked out more than once ({names}); move it yourself"
    return Refused(reason="checked_out", text=text)


async def _swap(git: Git, scope: Scope, ref: str, request: FastForwardRequest) -> LandOutcome:
    try:
        arguments = ("update-ref", "--no-deref", "-m", "blueflame: fast-forward", ref)
        await git.run(scope, *arguments, request.new, request.old)
    except GitCommandError as error:
        text = f"{request.branch!r} could not be moved: {error.stderr.strip()}"
        return Refused(reason="busy", text=text)
    return Landed(ref=ref, commit=request.new)


class _Checkout:
    """One checkout that shows the branch."""

    def __init__(self, git: Git, request: FastForwardRequest, found: Found, person: Person) -> None:
        self._git = git
        self._request = request
        self._found = found
        self._person = person

    async def move(self, ref: str) -> LandOutcome:
        operation = under_way(self._found.git_dir)
        if operation is not None:
            text = (
                f"{str(self._found.root)!r} is in the middle of something ({operation}); finish it"
            )
            return Refused(reason="busy", text=text)
        scope = self._scope(await as_owner(self._git, self._found, self._found.scope()))
        in_the_way = await self._untracked(scope) or await self._trial(scope)
        if in_the_way:
            return self._overlap(in_the_way)
        options = ("--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures")
        try:
            arguments = ("merge", *options, "--no-stat", "-q", self._request.new)
            await self._git.run(scope, *arguments)
        except (GitCommandError, GitTimedOutError) as error:
            if await resolve(self._git, scope, ref) != self._request.new:
                return self._failed(str(error))
        return Landed(ref=ref, commit=self._request.new, checkout=self._found.root)

    def _scope(self, scope: Scope) -> Scope:
        kept = {name: ENVIRONMENT[name] for name in KEPT_VARIABLES}
        home = {} if scope.uid is None else {"HOME": _home(scope.uid)}
        # Options in the branch's own configuration could change what the merge does.
        plain = configuration([(f"branch.{self._request.branch}.mergeOptions", "")])
        base = {**self._person.environment, **home, **kept, **plain}
        limit = _CHECKOUT_SECONDS
        return replace(scope, settings=KEPT_SETTINGS, base=base, limit_seconds=limit)

    def _failed(self, what: str) -> Refused:
        return Refused(
            reason="failed",
            text=f"git could not bring {str(self._found.root)!r} to {self._request.new}; `git "
            f"status` there shows what it left, and {self._request.branch!r} is where it was: "
            f"{what[:1000]}",
        )

    def _overlap(self, what: str) -> Refused:
        return Refused(
            reason="overlap",
            text=f"your files in {str(self._found.root)!r} are in the way of the fast-forward and "
            f"were left alone: {what[:1000]}",
        )

    async def _untracked(self, scope: Scope) -> str:
        """Name files of the user, even ignored ones, at paths that the new commit adds."""
        options = ("-r", "-z", "--name-status", "--no-renames", "--ignore-submodules=none")
        request = self._request
        listed = await self._git.run(scope, "diff-tree", *options, request.old, request.new)
        fields = listed.records()
        status = dict(zip(fields[1::2], fields[::2], strict=True))
        gone = {path for path, letter in status.items() if letter == b"D"}
        root = os.fsencode(self._found.root)
        added = [path for path, letter in status.items() if letter == b"A"]
        met = {shown(name) for path in added if (name := _met(root, path, gone))}
        return ", ".join(sorted(met))

    async def _trial(self, scope: Scope) -> str:
        """Try the move on a copy of the index; return git's objection."""
        with tempfile.TemporaryDirectory(prefix="blueflame-") as folder:
            copied = copy_index(scope, Path(folder))
            if scope.uid is not None and scope.gid is not None:
                _give(Path(folder), scope.uid, scope.gid)
            refresh = ("update-index", "-q", "--ignore-submodules", "--refresh")
            await self._git.run(copied, *refresh, accept=(0, 1))
            commits = (self._request.old, self._request.new)
            tried = ("read-tree", "-m", "-u", "-n", *commits)
            done = await self._git.run(copied, *tried, accept=(0, 1, 128))
            return done.stderr.strip() if done.code else ""


def _met(root: bytes, path: bytes, gone: set[bytes]) -> bytes | None:
    """Return what blocks adding `path`: a file there, or a file in place of one of its folders."""
    parts = path.split(b"/")
    for depth in range(1, len(parts) + 1):
        name = b"/".join(parts[:depth])
        place = os.path.join(root, name)
        if not os.path.lexists(place):
            return None
        is_folder = os.path.isdir(place) and not os.path.islink(place)
        if name == path or not is_folder:
            return None if name in gone else _unless_emptied(place, name, gone)
    return None


def _unless_emptied(place: bytes, name: bytes, gone: set[bytes]) -> bytes | None:
    """A folder does not block if everything in it is removed by the move."""
    for folder, _, files in os.walk(place):
        inner = name + folder[len(place) :]
        if any(inner + b"/" + file not in gone for file in files):
            return name
    return None if os.path.isdir(place) and not os.path.islink(place) else name


def _give(folder: Path, uid: int, gid: int) -> None:
    for place in (folder, *folder.iterdir()):
        os.chown(place, uid, gid)


def _home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return "/nonexistent"
