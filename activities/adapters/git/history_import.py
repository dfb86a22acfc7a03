"""Takes a base's history into the host's repository, so that a clean-up at any moment does no harm.

What has arrived is named before it is checked, and only what was found complete gets the name
`base`. A clean-up removes only what no name reaches, under the same mutex: what was named then
stays, and what was removed before is found missing.

All sessions of a repository share where histories end. A session that wants less than is there
gets more; one that wants more moves the ends down, after the check.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from activities.adapters.git import base_transfer, git_bundle, loose_objects
from activities.adapters.git.bare_repository import COMPLETE, Bare
from activities.adapters.git.git_command import Scope, ending_at
from activities.ports.git_errors import (
    BundleError,
    GitCommandError,
    PrerequisiteMissingError,
)
from activities.ports.history_values import HistoryImport
from workflows.domain.ids import Commit, Tree

_TOLD: Final = 100
"""How many of them an importer is told; more would be nearly all old ones."""
_TRIES: Final = 20
"""So often an import may find that others have changed where histories end."""
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)


async def is_complete(bare: Bare, commit: Commit) -> bool:
    """Say whether a checked history holds `commit`."""
    if not bare.layout.bare.exists():
        return False
    arguments = ("for-each-ref", "--count=1", f"--contains={commit}", *COMPLETE)
    found = await bare.git.run(bare.scope(), *arguments, accept=(0, 128, 129))
    return found.code == 0 and bool(found.stdout)


async def known(bare: Bare) -> tuple[Commit, ...]:
    """Return the newest commits whose history is complete here."""
    form = ("--sort=-committerdate", f"--count={_TOLD}", "--format=%(objectname)")
    listed = await bare.git.run(bare.scope(), "for-each-ref", *form, *COMPLETE)
    return tuple(Commit(line) for line in dict.fromkeys(listed.stdout.decode().split()))


async def kept_commits(bare: Bare, commit: Commit, own: tuple[Commit, ...]) -> int | None:
    """Return how many commits of a history are here, if it was cut.

    Args:
        bare: the repository.
        commit: the base.
        own: where the history ends in the person's repository too.
    """
    cuts = bare.ends() - set(own)
    if not cuts:
        return None
    listed = await bare.git.run(bare.scope(), "rev-list", commit)
    kept = set(listed.stdout.decode().split())
    return None if cuts.isdisjoint(kept) else len(kept)


class _Arrival(NamedTuple):
    """A history that arrived and is named, but not checked yet."""

    held: Commit
    """What the name holds: the base, or a commit made above all that has to stay."""
    ends: frozenset[Commit]
    """Where histories ended here when it was named."""
    deepened: frozenset[Commit]
    """Those of them with which the base's history does not end."""


async def import_history(
    bare: Bare, asked: HistoryImport, fail_point: Callable[[str], None]
) -> None:
    """Store, name and check a base's history.

    Raises:
        PrerequisiteMissingError: it did not come whole; have it sent again, without exclusions.
        BundleError: a bundle without exclusions is not whole.
        RefMovedError: the session has another base.
    """
    needs = await _stored(bare, asked)
    if await git_bundle.lacking(bare.git, bare.scope(), (asked.commit,)):
        raise PrerequisiteMissingError(f"base {asked.commit} has not arrived; send it again")
    for _ in range(_TRIES):
        arrival = await _arrived(bare, asked, needs)
        fail_point("after-arrival")
        if arrival.deepened or not await is_complete(bare, asked.commit):
            await _require_whole(bare, arrival, needs)
        if await _named(bare, asked, arrival):
            return
    raise PrerequisiteMissingError(f"base {asked.commit} met {_TRIES} others; send it again")


async def _arrived(bare: Bare, asked: HistoryImport, needs: tuple[Commit, ...] | None) -> _Arrival:
    """Name what has arrived, with where it ends: a clean-up must not see the one without the other.

    A history may end only with a commit that no complete history holds: the others' parents are
    there, and another session needs them.
    """
    async with bare.mutex() as scope:
        ends, deepened = bare.ends(), frozenset[Commit]()
        held = asked.commit
        if ends or asked.ends:
            reached = await _reached(bare, scope, asked, needs)
            may_end = frozenset(asked.ends)
            if new := (may_end & reached.keys()) - ends:
                ends |= new - await bare.complete_commits(scope)
                bare.set_ends(ends)
            deepened = (ends & reached.keys()) - may_end
            held = await _above(bare, scope, asked.commit, [reached[end] for end in deepened])
        ref = f"refs/blueflame/{asked.session}/arrived"
        await bare.move_ref(scope, ref, held, await bare.tip(ref))
    return _Arrival(held, ends, deepened)


async def _reached(
    bare: Bare, scope: Scope, asked: HistoryImport, needs: tuple[Commit, ...] | None
) -> dict[Commit, tuple[Commit, ...]]:
    """Return the base's commits with their parents, down to where the history may end."""
    scope = replace(scope, limit_seconds=git_bundle.LIMIT_SECONDS)
    with ending_at(scope, asked.ends) as cut, _as_lacking(needs):
        try:
            listed = await bare.git.run(cut, "rev-list", "--parents", asked.commit)
        except GitCommandError as error:
            raise BundleError(f"commits of the base are missing: {error}") from error
    return git_bundle.parents_of(listed.stdout)


async def _above(
    bare: Bare, scope: Scope, commit: Commit, parents: list[tuple[Commit, ...]]
) -> Commit:
    """Return the base, or a commit made above it and commits that no name would hold yet."""
    more = sorted({name for names in parents for name in names})
    if not more:
        return commit
    tree = Tree((await bare.git.run(scope, "rev-parse", f"{commit}^{{tree}}")).line())
    text = loose_objects.commit_text(tree, (commit, *more), "Arrived", _EPOCH)
    objects = bare.layout.bare / "objects"
    return Commit(await asyncio.to_thread(loose_objects.write, objects, "commit", text, commit))


async def _named(bare: Bare, asked: HistoryImport, arrival: _Arrival) -> bool:
    """Name the base, unless another import has changed in the meantime where histories end."""
    async with bare.mutex() as scope:
        if bare.ends() != arrival.ends:
            return False
        ends = arrival.ends - arrival.deepened
        if arrival.deepened:
            bare.set_ends(ends)
        await bare.move_ref(scope, f"refs/blueflame/{asked.session}/base", asked.commit, None)
        if ends:
            await _lift(bare, scope, ends)
    await bare.delete_refs({f"refs/blueflame/{asked.session}/arrived": arrival.held})
    return True


async def _lift(bare: Bare, scope: Scope, ends: frozenset[Commit]) -> None:
    """Let no history end any more with a commit whose parents are all in complete histories."""
    complete = await bare.complete_commits(scope)
    asked = "".join(f"{name}\n" for name in sorted(ends & complete)).encode()
    with ending_at(scope, ()) as uncut:
        arguments = ("rev-list", "--parents", "--no-walk", "--stdin")
        listed = (await bare.git.run(uncut, *arguments, stdin=asked)).stdout
    parents = git_bundle.parents_of(listed)
    lifted = {name for name, above in parents.items() if complete.issuperset(above)}
    if lifted:
        bare.set_ends(ends - lifted)


async def _stored(bare: Bare, asked: HistoryImport) -> tuple[Commit, ...] | None:
    """Store the bundle; return what it builds on, None without a bundle."""
    if asked.bundle is None:
        return None
    bundle = base_transfer.read_head(asked.bundle)
    if asked.commit not in bundle.tips:
        raise BundleError(f"bundle brings {bundle.tips}, not base {asked.commit}; export it again")
    try:
        await base_transfer.index(bare.git, bare.scope(), asked.bundle)
    except GitCommandError as error:
        if bundle.needs:
            raise PrerequisiteMissingError(
                f"the base does not fit what is here: {error}"
            ) from error
        raise BundleError(f"bundle cannot be unpacked, export it again: {error}") from error
    return bundle.needs


async def _require_whole(bare: Bare, arrival: _Arrival, needs: tuple[Commit, ...] | None) -> None:
    complete = await known(bare)
    # As it was when it was named: what is known is complete only as far as there.
    with ending_at(bare.scope(), arrival.ends) as scope, _as_lacking(needs):
        await git_bundle.require_connected(bare.git, scope, (arrival.held,), complete)


@contextmanager
def _as_lacking(needs: tuple[Commit, ...] | None) -> Generator[None]:
    """Report a history that is not whole as one to send again, unless it was sent whole."""
    try:
        yield
    except BundleError as error:
        if needs == ():
            raise
        raise PrerequisiteMissingError(str(error)) from error
