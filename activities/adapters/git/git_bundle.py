"""Git bundles, made and read without `fetch`, `upload-pack` or any ref of the repository.

`git bundle create` needs a ref for its content, but would have to run where Blue Flame may create
none. `git fetch` of a bundle runs in the receiving repository, with its configuration. Header and
pack handled separately (gitformat-bundle) need only `pack-objects` and `index-pack`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from activities.adapters.git import loose_objects
from activities.adapters.git.git_command import Git, Scope
from activities.ports.git_errors import BundleError, GitCommandError, PrerequisiteMissingError
from workflows.domain.ids import Commit


@dataclass(frozen=True)
class Bundle:
    """A parsed bundle."""

    needs: tuple[Commit, ...]
    """Commits that the receiver must already have."""
    tips: tuple[Commit, ...]
    names: tuple[tuple[str, Commit], ...]
    """Each tip, with its ref."""
    pack: bytes


def parse(data: bytes) -> Bundle:
    """Parse a bundle's header.

    Raises:
        BundleError: this is not a bundle, or one of a kind that Blue Flame does not make.
    """
    head, gap, pack = data.partition(b"\n\n")
    lines = head.split(b"\n")
    if not gap or lines[0] not in (b"# v2 git bundle", b"# v3 git bundle"):
        raise BundleError(f"not a git bundle (begins with {data[:20]!r}); export it again")
    needs: list[Commit] = []
    names: list[tuple[str, Commit]] = []
    for line in lines[1:]:
        if line.startswith(b"@object-format="):
            continue
        if line.startswith(b"@"):
            raise BundleError(f"bundle with the unknown capability {line!r}; export it again")
        if line.startswith(b"-"):
            needs.append(_name(line))
        else:
            names.append((line.partition(b" ")[2].decode("utf-8", "replace"), _name(line)))
    return Bundle(tuple(needs), tuple(tip for _, tip in names), tuple(names), pack)


def _name(line: bytes) -> Commit:
    name = line.removeprefix(b"-").split(b" ")[0].decode("ascii", "replace")
    if len(name) not in (40, 64) or not set(name) <= set("0123456789abcdef"):
        raise BundleError(f"bundle with the malformed line {line[:80]!r}; export it again")
    return Commit(name)


LIMIT_SECONDS = 25 * 60.0
"""Packing or checking a whole history may take long; the activities around it have half an hour."""


async def create(
    git: Git,
    scope: Scope,
    tip: Commit,
    exclude: tuple[Commit, ...] = (),
) -> bytes:
    """Bundle `tip` with its history.

    Args:
        git: the program.
        scope: the repository.
        tip: the commit to send.
        exclude: commits that the receiver has.

    Raises:
        GitCommandError: an object is missing.
    """
    wanted = "".join(f"{line}\n" for line in (tip, *(f"^{name}" for name in exclude)))
    scope = replace(scope, limit_seconds=LIMIT_SECONDS)
    packed = await git.run(scope, "pack-objects", *packing(exclude), stdin=wanted.encode())
    return head(tip, exclude).encode() + packed.stdout


def packing(exclude: tuple[Commit, ...]) -> tuple[str, ...]:
    """Return the options with which `pack-objects` packs a history without what is excluded."""
    thin = ("--thin",) if exclude else ()
    return ("--revs", "--stdout", "-q", "--delta-base-offset", *thin)


def head(tip: Commit, exclude: tuple[Commit, ...]) -> str:
    """Return the header of a bundle of `tip` for a receiver that has `exclude`."""
    needs = "".join(f"-{name}\n" for name in exclude)
    return f"{_head(tip)}{needs}{tip} refs/blueflame/bundle\n\n"


def _head(like: Commit) -> str:
    sha256 = "# v3 git bundle\n@object-format=sha256\n"
    return sha256 if loose_objects.is_sha256(like) else "# v2 git bundle\n"


async def create_names(
    git: Git, scope: Scope, names: Mapping[str, Commit], objects: Sequence[str]
) -> bytes:
    """Bundle names for commits that the receiver has, with some objects.

    Args:
        git: the program.
        scope: the repository.
        names: what each ref names; at least one.
        objects: the objects to include, without those that they refer to.
    """
    wanted = "".join(f"{name}\n" for name in objects).encode()
    packed = await git.run(scope, "pack-objects", "--stdout", "-q", stdin=wanted)
    lines = "".join(f"{target} {name}\n" for name, target in sorted(names.items()))
    return (_head(next(iter(names.values()))) + lines + "\n").encode() + packed.stdout


async def unpack_objects(git: Git, scope: Scope, bundle: Bundle) -> None:
    """Store a bundle's objects without checking what they refer to.

    Raises:
        BundleError: the bundle is damaged.
    """
    try:
        await git.run(scope, "index-pack", "--stdin", stdin=bundle.pack)
    except GitCommandError as error:
        raise BundleError(f"bundle cannot be unpacked, export it again: {error}") from error


async def unpack(git: Git, scope: Scope, bundle: Bundle, *, strict: bool) -> None:
    """Store a bundle's objects, and no ref.

    Args:
        git: the program.
        scope: the receiving repository.
        bundle: what to store.
        strict: also check each object's form (not for old histories made by other tools).

    Raises:
        BundleError: its prerequisites are missing, or it is damaged or incomplete.
    """
    scope = replace(scope, limit_seconds=LIMIT_SECONDS)
    if gone := await lacking(git, scope, bundle.needs):
        raise PrerequisiteMissingError(
            f"bundle builds on commit {gone[0]}, which is not there; send it first"
        )
    try:
        options = ["--stdin", "--fix-thin"] + ["--strict"] * strict
        await git.run(scope, "index-pack", *options, stdin=bundle.pack)
    except GitCommandError as error:
        raise BundleError(f"bundle cannot be unpacked, export it again: {error}") from error
    if gone := await lacking(git, scope, bundle.tips):
        raise BundleError(f"bundle promises commit {gone[0]}, which is not in it; export again")
    await require_connected(git, scope, bundle.tips, bundle.needs)


async def lacking(git: Git, scope: Scope, names: tuple[Commit, ...]) -> list[Commit]:
    """Return the commits that are not there."""
    asked = "".join(f"{name}\n" for name in names).encode()
    answer = await git.run(scope, "cat-file", "--batch-check=%(objecttype)", stdin=asked)
    found = zip(names, answer.stdout.splitlines(), strict=True)
    return [name for name, line in found if line != b"commit"]


def parents_of(listed: bytes) -> dict[Commit, tuple[Commit, ...]]:
    """Return commits with their parents, as `rev-list --parents` lists them."""
    lines = (tuple(map(Commit, line.split())) for line in listed.decode().splitlines())
    return {line[0]: line[1:] for line in lines}


async def require_connected(
    git: Git, scope: Scope, tips: tuple[Commit, ...], known: tuple[Commit, ...]
) -> None:
    """Check that every object of a history is there.

    Args:
        git: the program.
        scope: the repository.
        tips: the ends of the history.
        known: commits whose history is known to be complete.

    Raises:
        BundleError: an object is missing.
    """
    scope = replace(scope, limit_seconds=LIMIT_SECONDS)
    asked = "".join([f"{name}\n" for name in tips] + [f"^{name}\n" for name in known])
    try:
        arguments = ("rev-list", "--objects", "--quiet", "--stdin")
        await git.run(scope, *arguments, stdin=asked.encode())
    except GitCommandError as error:
        raise BundleError(
            f"bundle lacks objects of its history; `git fsck` in the repository that it came from "
            f"tells more: {error}"
        ) from error
