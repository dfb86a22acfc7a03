"""Takes a base's history into the host's repository, so that a clean-up at any moment does no harm.

What has arrived is named before it is checked, and only what was found complete gets the name
`base`. A clean-up removes only what no name reaches, under the same mutex: what was named then
stays, and what was removed before is found missing.
"""

from collections.abc import Callable
from typing import Final

from activities.adapters.git import base_transfer, git_bundle
from activities.adapters.git.bare_repository import Bare
from activities.ports.git_errors import (
    BundleError,
    GitCommandError,
    PrerequisiteMissingError,
)
from activities.ports.host_repository import HistoryImport
from workflows.domain.ids import Commit

_COMPLETE: Final = ("refs/blueflame/*/base", "refs/blueflame/*/merged")
"""The histories of these were checked, or made here on one that was."""
_TOLD: Final = 100
"""How many of them an importer is told; more would be nearly all old ones."""


async def is_complete(bare: Bare, commit: Commit) -> bool:
    """Say whether a checked history holds `commit`."""
    if not bare.layout.bare.exists():
        return False
    arguments = ("for-each-ref", "--count=1", f"--contains={commit}", *_COMPLETE)
    found = await bare.git.run(bare.scope(), *arguments, accept=(0, 128, 129))
    return found.code == 0 and bool(found.stdout)


async def known(bare: Bare) -> tuple[Commit, ...]:
    """Return the newest commits whose history is complete here."""
    form = ("--sort=-committerdate", f"--count={_TOLD}", "--format=%(objectname)")
    listed = await bare.git.run(bare.scope(), "for-each-ref", *form, *_COMPLETE)
    return tuple(Commit(line) for line in dict.fromkeys(listed.stdout.decode().split()))


async def import_history(
    bare: Bare, asked: HistoryImport, fail_point: Callable[[str], None]
) -> None:
    """Store, name and check a base's history.

    Raises:
        PrerequisiteMissingError: it did not come whole; have it sent again, without exclusions.
        BundleError: a bundle without exclusions is not whole.
        RefMovedError: the session has another base.
    """
    if asked.shallow and not await is_complete(bare, asked.commit):
        await bare.add_shallow(asked.shallow)
    needs = await _stored(bare, asked)
    arrived = f"refs/blueflame/{asked.session}/arrived"
    if await git_bundle.lacking(bare.git, bare.scope(), (asked.commit,)):
        raise PrerequisiteMissingError(f"base {asked.commit} has not arrived; send it again")
    held = await bare.tip(arrived)
    await bare.update_ref(arrived, asked.commit, held)
    fail_point("after-arrival")
    if not await is_complete(bare, asked.commit):
        await _require_whole(bare, asked, needs)
    await bare.update_ref(f"refs/blueflame/{asked.session}/base", asked.commit, None)
    await bare.delete_refs({arrived: asked.commit})


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


async def _require_whole(
    bare: Bare, asked: HistoryImport, needs: tuple[Commit, ...] | None
) -> None:
    complete = await known(bare)
    try:
        await git_bundle.require_connected(bare.git, bare.scope(), (asked.commit,), complete)
    except BundleError as error:
        if needs == ():
            raise
        raise PrerequisiteMissingError(str(error)) from error
