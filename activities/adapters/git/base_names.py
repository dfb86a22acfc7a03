"""Tags and remote-tracking names that are reachable from a base, for `git describe` and the like.

They travel in a separate bundle with the objects of annotated tags, and are kept in the bare
repository's `packed-refs`. The sandbox shows that file; it holds none of Blue Flame's own refs.
"""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from activities.adapters.git import git_bundle
from activities.adapters.git.bare_repository import Bare, replace
from activities.adapters.git.git_command import Git, Scope
from workflows.domain.ids import Commit

_HEAD: Final = "# pack-refs with: peeled fully-peeled sorted \n"
_NAME: Final = re.compile(r"refs/(?:tags|remotes)/[^\s\x00-\x1f\x7f~^:?*\[\\]+")


class _Named(NamedTuple):
    """The target of a name."""

    target: Commit
    """A commit, or the object of an annotated tag."""
    peeled: Commit | None
    """The commit of an annotated tag."""


async def export(git: Git, scope: Scope, base: Commit) -> bytes:
    """Bundle the names of commits that `base` holds; empty if there are none."""
    form = "--format=%(objecttype) %(objectname) %(refname)"
    places = ("refs/tags", "refs/remotes")
    listed = await git.run(scope, "for-each-ref", f"--merged={base}", form, *places)
    lines = [line.split(" ", 2) for line in listed.stdout.decode("utf-8", "replace").splitlines()]
    names = {name: Commit(target) for _, target, name in lines if _NAME.fullmatch(name)}
    tags = [target for kind, target, name in lines if kind == "tag" and name in names]
    return await git_bundle.create_names(git, scope, names, tags) if names else b""


async def take_in(bare: Bare, data: bytes) -> None:
    """Store bundled names, except those of commits that are missing here or were cut off."""
    bundle = git_bundle.parse(data)
    await git_bundle.unpack_objects(bare.git, bare.scope(), bundle)
    wanted = [(name, target) for name, target in bundle.names if _NAME.fullmatch(name)]
    asked = "".join(f"{target}^{{commit}}\n" for _, target in wanted).encode()
    form = "--batch-check=%(objecttype) %(objectname)"
    answers = (await bare.git.run(bare.scope(), "cat-file", form, stdin=asked)).stdout.decode()
    found: dict[str, _Named] = {}
    for (name, target), answer in zip(wanted, answers.splitlines(), strict=True):
        kind, _, commit = answer.partition(" ")
        if kind == "commit":
            found[name] = _Named(target, None if commit == target else Commit(commit))
    async with bare.mutex() as scope:
        if bare.ends():
            # What lies beyond the end of a history may be there in part, left from a session.
            kept = await bare.complete_commits(scope)
            found = {name: to for name, to in found.items() if (to.peeled or to.target) in kept}
        await asyncio.to_thread(_write, bare.layout.bare / "packed-refs", found)


def _write(place: Path, names: Mapping[str, _Named]) -> None:
    """Add names to `packed-refs` (see git-pack-refs), or move them."""
    known = {**_read(place), **names}
    lines = [
        f"{named.target} {name}\n" + (f"^{named.peeled}\n" if named.peeled else "")
        for name, named in sorted(known.items(), key=lambda each: each[0].encode())
    ]
    replace(place, (_HEAD + "".join(lines)).encode())


def _read(place: Path) -> Mapping[str, _Named]:
    text = place.read_text() if place.exists() else ""
    found: dict[str, _Named] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("^"):
            found[name] = _Named(found[name].target, Commit(line[1:]))
        elif not line.startswith("#"):
            target, _, name = line.partition(" ")
            found[name] = _Named(Commit(target), None)
    return found
