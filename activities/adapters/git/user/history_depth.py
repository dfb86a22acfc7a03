"""Decides how much of a base's history its host gets, and which part of that is to be sent.

    depth     kept
    full      the whole history
    a number  so many commits deep, as `git fetch --depth` counts
    auto      the whole of a small history; of a large one, the last commits of the base's own line
              with all that they merged, and as many below the nearest tags, and all above the
              remote-tracking branches that gates compare with: `git describe` and merge bases are
              as in the person's repository

What the host has stays there, whatever is kept. Only reads; the person's repository stays as it is.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from activities.adapters.git import git_bundle
from activities.adapters.git.base_transfer import shared
from activities.adapters.git.git_command import Git, Scope, ending_at
from activities.adapters.git.user.user_git import Found, resolve
from activities.ports.history_values import HistoryPart, HistoryWish
from workflows.domain.ids import Commit

_Parents = dict[Commit, tuple[Commit, ...]]
_FIRST_LISTED: Final = 10_000
_MOST: Final = (1 << 31) - 1
_DIGIT: Final = re.compile("[0-9]")
_FARTHER: Final = 8
"""How much more is kept below the tags if the cut shows in a description."""


@dataclass(frozen=True)
class LargeHistory:
    """When `auto` cuts a history, and how much it then keeps."""

    bytes: int = 1 << 30
    """The most that a repository's objects take on disk for its history to be kept whole."""
    commits: int = 1_000
    """So many of the first parents' line, from the base down, and from the nearest tags down."""


LARGE: Final = LargeHistory()


class _Repository(NamedTuple):
    """The person's repository."""

    git: Git
    scope: Scope
    own: frozenset[Commit]
    """Where its history ends, if it is a shallow clone."""

    async def listed(self, *arguments: str) -> _Parents:
        """Return commits with their parents."""
        return git_bundle.parents_of(
            (await self.git.run(self.scope, "rev-list", "--parents", *arguments)).stdout
        )

    async def parents(self, commits: Iterable[Commit]) -> _Parents:
        """Return the parents of each of these commits."""
        asked = "".join(f"{name}\n" for name in commits).encode()
        arguments = ("rev-list", "--parents", "--no-walk", "--stdin")
        return git_bundle.parents_of(
            (await self.git.run(self.scope, *arguments, stdin=asked)).stdout
        )


def own_ends(found: Found) -> frozenset[Commit]:
    """Return the commits with which the history of a shallow clone ends."""
    place = found.common_dir / "shallow"
    return frozenset(map(Commit, place.read_text().split() if place.exists() else ()))


async def part_of(git: Git, found: Found, wish: HistoryWish, large: LargeHistory) -> HistoryPart:
    """Return the part to send.

    Args:
        git: the program.
        found: the person's repository.
        wish: what is wanted, and what the host has.
        large: what `auto` means.

    Raises:
        GitCommandError: commits are missing.
    """
    here = _Repository(git, found.scope(), own_ends(found))
    known = await shared(git, here.scope, wish.known)
    met = frozenset(wish.ends) - here.own
    is_cut = await _is_cut(here, wish, known, large)
    if not is_cut and not met:
        return HistoryPart(wish.commit, known)
    if not is_cut:
        kept = await here.listed(wish.commit)
    elif isinstance(wish.depth, int):
        kept = await _near(here, wish.commit, wish.depth)
    else:
        kept = await _meaningful(here, wish.commit, large.commits)
    return await _missing(here, wish.commit, known, met, kept)


async def _is_cut(
    here: _Repository, wish: HistoryWish, known: tuple[Commit, ...], large: LargeHistory
) -> bool:
    """Say whether not all of the history is wanted."""
    if wish.depth != "auto":
        return wish.depth != "full"
    if await _size(here) <= large.bytes:
        return False
    if not known or wish.ends:
        return True
    without = (f"^{name}" for name in known)
    asked = ("rev-list", "--count", f"--max-count={large.commits + 1}", wish.commit, *without)
    return int((await here.git.run(here.scope, *asked)).line()) > large.commits


async def _size(here: _Repository) -> int:
    """Return the bytes of the repository's objects, with those that it borrows."""
    answer = (await here.git.run(here.scope, "count-objects", "-v")).stdout
    lines = [line.partition(": ") for line in answer.decode("utf-8", "replace").splitlines()]
    kib = sum(int(value) for name, _, value in lines if name in ("size", "size-pack"))
    lent = [Path(value) for name, _, value in lines if name == "alternate"]
    packs = (pack.stat().st_size for place in lent for pack in place.glob("pack/*.pack"))
    return (kib << 10) + sum(packs)


async def _near(here: _Repository, tip: Commit, depth: int) -> _Parents:
    """Return the commits at most `depth` deep, with their parents; the tip is the first of them.

    Commits are listed by date, ever more of them until none of these lacks its parents.
    """
    most = max(4 * depth, _FIRST_LISTED)
    while True:
        listed = await here.listed(f"--max-count={most}", tip)
        near = _levels(listed, tip, depth)
        if near is not None:
            return near
        most = min(8 * most, _MOST)


def _levels(listed: _Parents, tip: Commit, depth: int) -> _Parents | None:
    kept = _Parents()
    level = [tip]
    for _ in range(depth):
        if any(name not in listed for name in level):
            return None
        kept |= {name: listed[name] for name in level}
        above = {parent for name in level for parent in kept[name]}
        level = [name for name in above if name not in kept]
        if not level:
            break
    return kept


def _cut_commits(kept: Mapping[Commit, tuple[Commit, ...]]) -> frozenset[Commit]:
    """Return the commits that lack a parent."""
    return frozenset(name for name, parents in kept.items() if any(p not in kept for p in parents))


async def _meaningful(here: _Repository, tip: Commit, commits: int) -> _Parents:
    """Return the commits that `auto` keeps, with their parents.

    With a commit all that descend from it are kept, so what is kept of a tag's history hangs
    together. Only at the lower end a merge can hold on to a commit below it, which then seems to be
    no part of the tag; where that shows in a description, more is kept.
    """
    questions = await _questions(here)
    meant = await _descriptions(here, here.scope, tip, questions)
    branches, tags = await _branches(here, tip), await _tagged(here, meant)
    while True:
        lowest = {await _below(here, each, commits) for each in (tip, *tags)}
        kept = await _above(here, tip, branches | lowest)
        with ending_at(here.scope, here.own | _cut_commits(kept)) as scope:
            if await _descriptions(here, scope, tip, questions) == meant:
                return kept
        commits *= _FARTHER


async def _below(here: _Repository, commit: Commit, count: int) -> Commit:
    """Return the last of so many commits down the line of first parents."""
    most = f"--max-count={min(count, _MOST)}"
    listed = (await here.git.run(here.scope, "rev-list", "--first-parent", most, commit)).stdout
    return Commit(listed.decode().split()[-1])


async def _above(here: _Repository, tip: Commit, lowest: Iterable[Commit]) -> _Parents:
    """Return all commits above any of some, and these, with their parents.

    A merge of which a parent is among them brings its other parents along: git cannot leave out one
    parent alone.
    """
    kept = _Parents()
    for end in sorted(lowest):
        kept |= await here.listed(tip, f"^{end}")
    kept |= await here.parents(sorted(lowest))
    halves = [parents for parents in kept.values() if any(each in kept for each in parents)]
    more = {parent for parents in halves for parent in parents} - kept.keys()
    return kept | await here.parents(sorted(more))


async def _questions(here: _Repository) -> list[tuple[str, ...]]:
    """Return how gates ask for the nearest tag, as far as it can make a difference.

    That is `git describe`, with `--tags`, and as setuptools-scm does. Each walks the history.
    """
    form = "--format=%(objecttype) %(refname)"
    listed = await here.git.run(here.scope, "for-each-ref", form, "refs/tags")
    lines = listed.stdout.decode("utf-8", "replace").splitlines()
    tags = {
        (): frozenset(line for line in lines if line.startswith("tag ")),
        ("--tags",): frozenset(lines),
        ("--tags", "--match=*[0-9]*"): frozenset(line for line in lines if _DIGIT.search(line)),
    }
    asked = {meant: options for options, meant in tags.items() if meant}
    return list(asked.values())


async def _descriptions(
    here: _Repository, scope: Scope, tip: Commit, questions: Iterable[tuple[str, ...]]
) -> frozenset[str]:
    found: set[str] = set()
    for options in questions:
        asked = ("describe", "--long", *options, tip)
        found.add((await here.git.run(scope, *asked, accept=(0, 128))).line())
    return frozenset(found - {""})


async def _tagged(here: _Repository, descriptions: frozenset[str]) -> set[Commit]:
    """Return the commits of the tags that descriptions such as `v1-3-g123abc` name."""
    names = (description.rsplit("-", 2)[0] for description in descriptions)
    found = [await resolve(here.git, here.scope, f"refs/tags/{name}") for name in names]
    return {commit for commit in found if commit is not None}


async def _branches(here: _Repository, tip: Commit) -> set[Commit]:
    """Return the branches of remotes that a gate compares with.

    Of those that the base holds (no others are on the host): what the base's own branch follows,
    each remote's default branch, and the newest.
    """
    form = "--format=%(upstream)"
    follows = await here.git.run(
        here.scope, "for-each-ref", f"--points-at={tip}", form, "refs/heads"
    )
    wanted = set(follows.stdout.decode("utf-8", "replace").split())
    form, order = "--format=%(objectname) %(refname)", "--sort=-committerdate"
    listed = await here.git.run(
        here.scope, "for-each-ref", f"--merged={tip}", order, form, "refs/remotes"
    )
    lines = [line.split(" ", 1) for line in listed.stdout.decode("utf-8", "replace").splitlines()]
    named = (target for target, name in lines if name in wanted or name.endswith("/HEAD"))
    return {Commit(target) for target in (*named, *(lines[0][:1] if lines else ()))}


async def _missing(
    here: _Repository,
    tip: Commit,
    known: tuple[Commit, ...],
    met: frozenset[Commit],
    kept: _Parents,
) -> HistoryPart:
    """Return what the host lacks of the kept history.

    Args:
        here: the person's repository.
        tip: the base.
        known: commits that the host has.
        met: where its histories end, except where the person's end too.
        kept: commits with their parents, without which the history is not what is wanted.
    """
    cut = _cut_commits(kept)
    deepened = {name for name in met if name in kept and name not in cut}
    more = tuple(sorted({parent for name in deepened for parent in kept[name]}))
    fresh = kept.keys()
    ending = cut
    if known:
        # What the host has is whole as far as `met`, so a parent that it has is cut off nowhere.
        with ending_at(here.scope, here.own | met) as scope:
            without = (f"^{name}" for name in known)
            lacking = await here._replace(scope=scope).listed(tip, *more, *without)
        fresh = lacking.keys()
        ending = frozenset(
            name
            for name in cut & fresh
            if any(parent in fresh and parent not in kept for parent in kept[name])
        )
    return HistoryPart(
        tip,
        known,
        more,
        cuts=tuple(sorted(here.own | met | ending)),
        ends=tuple(sorted(here.own | (met - deepened) | ending | (cut - fresh))),
        is_empty=not fresh,
    )
