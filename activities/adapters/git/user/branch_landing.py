"""`UserRepository` over real git: the only module that writes to the user's repository.

Landing adds objects and moves one ref under `refs/heads/`; it touches no checkout and no index.
Only `fast_forward` moves a checkout, and only after checking every reason against it. Neither runs
the user's hooks. Nothing is retried or forced: obstacles are reported.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from activities.adapters.git import base_names, base_transfer
from activities.adapters.git import git_bundle as bundles
from activities.adapters.git.git_command import Git, Scope
from activities.adapters.git.user import commit_rewriting, pack_hand_over, repository_preflight
from activities.adapters.git.user.branch_push import push
from activities.adapters.git.user.fast_forward import Person, fast_forward, signing_scope
from activities.adapters.git.user.file_settings import file_settings, read_excludes, read_rules
from activities.adapters.git.user.history_depth import LARGE, LargeHistory, own_ends, part_of
from activities.adapters.git.user.ignored_files import list_ignored
from activities.adapters.git.user.user_checkouts import holding
from activities.adapters.git.user.user_git import Found, as_owner, find, resolve, without_programs
from activities.ports.git_errors import (
    BundleError,
    GitCommandError,
    PartialCloneError,
    RepositoryUnreadableError,
)
from activities.ports.history_values import HistoryPart, HistoryWish
from activities.ports.user_repository import (
    AttributeRules,
    BaseNames,
    FastForwardRequest,
    HandOver,
    IgnoredFile,
    Landed,
    LandOutcome,
    LandRequest,
    PushOutcome,
    PushRequest,
    Refused,
    RepositoryFacts,
)
from workflows.domain.ids import Commit, SessionId


class GitUserRepository:
    """The user's side; see the port for what each operation promises."""

    def __init__(self, git: Git, person: Person, large: LargeHistory = LARGE) -> None:
        """Take the program, what is known of the person, and when a history is too large."""
        self._git = git
        self._person = person
        self._large = large

    async def inspect(
        self, path: Path, base: str | None, session: SessionId | None = None
    ) -> RepositoryFacts:
        """Look at a repository and change nothing."""
        environment = self._person.environment
        return await repository_preflight.inspect(self._git, path, base, session, environment)

    async def ignored_files(self, root: Path, entry: str) -> tuple[IgnoredFile, ...]:
        """List the ignored files that an entry names."""
        found = await find(root)
        settings = await file_settings(self._git, found, self._person.environment)
        return await list_ignored(self._git, found, settings, entry)

    async def excludes(self, root: Path) -> bytes:
        """Return what git ignores beside `.gitignore` files."""
        return await read_excludes(self._git, await find(root), self._person.environment)

    async def attribute_rules(self, root: Path) -> AttributeRules:
        """Return how git converts files beside what `.gitattributes` files say."""
        found = await find(root)
        settings = await file_settings(self._git, found, self._person.environment)
        return read_rules(found, settings)

    async def names(self, path: Path, commit: Commit) -> BaseNames:
        """Return the names of `commit` and its history."""
        found = await find(path)
        with _explained(found, commit):
            known = await base_names.export(self._git, found.scope(), commit)
        return BaseNames(names=known, shallow=tuple(sorted(own_ends(found))))

    async def part(self, path: Path, wish: HistoryWish) -> HistoryPart:
        """Decide which part of a history to send."""
        found = await find(path)
        with _explained(found, wish.commit):
            return await part_of(self._git, found, wish, self._large)

    async def send(self, path: Path, part: HistoryPart, sink: int) -> None:
        """Write a bundle of a commit with its history."""
        found = await find(path)
        with _explained(found, part.commit):
            await base_transfer.write_bundle(self._git, found.scope(), part, sink)

    async def bring(
        self, path: Path, part: HistoryPart, bare: Path, handing: HandOver | None = None
    ) -> None:
        """Store the objects of a commit with its history on this machine's host."""
        found = await find(path)
        async with pack_hand_over.receiving(bare, handing) as objects:
            with _explained(found, part.commit, objects):
                await base_transfer.bring(self._git, found.scope(), part, objects)

    async def land(self, request: LandRequest) -> LandOutcome:
        """Store commits and move one ref."""
        found = await find(request.path)
        scope = await as_owner(self._git, found, await without_programs(self._git, found.scope()))
        held = await resolve(self._git, scope, request.ref)
        if held == request.new:
            return Landed(ref=request.ref, commit=request.new)
        refused = await self._reason_against(request, held, found, scope)
        person = signing_scope(scope, self._person)
        rewriting = await commit_rewriting.wanted(self._git, scope, person, request)
        if rewriting is None:
            if refused is not None:
                return await self._landed_with_more(scope, request, held) or refused
            await self._unpack(scope, request)
            return await move_ref(self._git, scope, request.ref, request.new, request.old)
        if refused is not None and (held is None or refused.reason != "moved"):
            return refused
        await self._unpack(scope, request)
        if refused is not None:
            return await rewriting.landed_before(request, held) or refused
        return await self._land_rewritten(scope, request, rewriting)

    async def _land_rewritten(
        self, scope: Scope, request: LandRequest, rewriting: commit_rewriting.Rewriting
    ) -> LandOutcome:
        made = await rewriting.of(request)
        if isinstance(made, Refused):
            return made
        new = made.commits[request.new]
        moved_to = await move_ref(self._git, scope, request.ref, new, request.old)
        return moved_to if isinstance(moved_to, Refused) else made

    async def _landed_with_more(
        self, scope: Scope, request: LandRequest, held: Commit | None
    ) -> Landed | None:
        """Return that the branch has the work already: a wave whose outcome was lost landed it."""
        if held is None:
            return None
        arguments = ("merge-base", "--is-ancestor", request.new, held)
        found = await self._git.run(scope, *arguments, accept=(0, 1, 128))
        return Landed(ref=request.ref, commit=request.new) if found.code == 0 else None

    async def _unpack(self, scope: Scope, request: LandRequest) -> None:
        bundle = bundles.parse(request.bundle)
        if request.new not in bundle.tips:
            raise BundleError(f"bundle brings {bundle.tips}, not {request.new}; bundle it again")
        if request.base:
            await bundles.unpack(self._git, scope, bundles.parse(request.base), strict=False)
        await bundles.unpack(self._git, scope, bundle, strict=True)

    async def _reason_against(
        self, request: LandRequest, held: Commit | None, found: Found, scope: Scope
    ) -> Refused | None:
        if held != request.old:
            return moved(request.ref, held)
        if not found.is_writable:
            return Refused(
                reason="rights",
                text=f"{str(found.root)!r} belongs to {found.owner} and is not writable for the "
                "worker that lands; next time start a worker of role land as that user",
            )
        places = await holding(self._git, scope, request.ref)
        if places:
            return Refused(
                reason="checked_out",
                text=f"{short(request.ref)!r} is checked out in {str(places[0])!r}, and "
                "no checkout is touched; leave that branch alone while its session works",
            )
        return None

    async def fast_forward(self, request: FastForwardRequest) -> LandOutcome:
        """Move the user's branch if that is safe."""
        return await fast_forward(self._git, request, self._person)

    async def remote_url(self, path: Path, remote: str) -> str | None:
        """Return the URL of a remote."""
        found = await find(path)
        name = f"remote.{remote}.url"
        asked = await self._git.run(
            found.scope(), "config", "--local", "--get", name, accept=(0, 1)
        )
        return asked.line() or None

    async def push(self, request: PushRequest) -> PushOutcome:
        """Push one commit to a branch elsewhere."""
        return await push(self._git, await find(request.path), request)


@contextmanager
def _explained(found: Found, commit: Commit, objects: Path | None = None) -> Generator[None]:
    """Say for a person why a history cannot be packed, unless the fault is the receiver's."""
    try:
        yield
    except GitCommandError as error:
        is_receivers = objects is not None and str(objects) in error.stderr
        if is_receivers or "No space left" in error.stderr:
            raise
        if "ermission denied" in error.stderr:
            raise RepositoryUnreadableError(
                f"{str(found.root)!r} belongs to {found.owner} and cannot be read whole; give "
                f"the account that runs Blue Flame read access: {error.stderr.strip()[:500]}"
            ) from error
        raise PartialCloneError(
            f"the history of {commit} in {str(found.root)!r} is incomplete; "
            f"`git fsck` tells more: {error.stderr.strip()[:500]}"
        ) from error


async def move_ref(
    git: Git, scope: Scope, ref: str, new: Commit, old: Commit | None
) -> LandOutcome:
    """Move a ref by compare-and-swap, or return the obstacle."""
    try:
        arguments = ("update-ref", "--no-deref", "-m", "blueflame: land", ref, new)
        await git.run(scope, *arguments, old or "0" * len(new))
    except GitCommandError as error:
        held = await resolve(git, scope, ref)
        if held == new:
            return Landed(ref=ref, commit=new)
        if held != old:
            return moved(ref, held)
        return _blocked(ref, error)
    return Landed(ref=ref, commit=new)


def _blocked(ref: str, error: GitCommandError) -> Refused:
    said = error.stderr.strip()
    if ".lock'" in said:
        text = f"another git command holds {short(ref)!r}, or died holding it: {said}"
        return Refused(reason="busy", text=text)
    if "ermission denied" in said:
        return Refused(reason="rights", text=f"{short(ref)!r} may not be written: {said}")
    name = short(ref).replace("/", "-")
    return Refused(
        reason="blocked",
        text=f"one of your branches conflicts with {short(ref)!r} ({said}); rename yours, or take "
        f"the work as {name!r}",
    )


def moved(ref: str, held: Commit | None) -> Refused:
    """Return the refusal that a ref is not where it was expected."""
    text = (
        f"{short(ref)!r} is at {held or 'nothing'} now, where this session did not put it, and "
        "Blue Flame does not overwrite it; rename it to keep it"
    )
    return Refused(reason="moved", text=text)


def short(ref: str) -> str:
    """Return a branch's name as people write it."""
    return ref.removeprefix("refs/heads/")
