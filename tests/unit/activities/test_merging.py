"""`merging.advance`: the session's ref moves last, so that what fails before can be done again.

What it bundles is only what the receiver lacks.
"""

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.land.landing import LandingActivities
from activities.merging import MergingActivities
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import BRANCH, SESSION, Home, plain_git
from workflows.contracts.land_contracts import DeliverBranch, Delivered
from workflows.contracts.merging_contracts import (
    AdvanceBranch,
    Advanced,
    BundleBranch,
    MergeCommits,
    MergedCommits,
)
from workflows.domain.ids import Commit, Digest

KEY = "k" * 32


class FullStore(MemoryStore):
    """Its disk is full, until someone makes room."""

    is_full = True

    async def put(self, data: bytes) -> Digest:
        if self.is_full:
            raise OSError(28, "No space left on device")
        return await super().put(data)


def host_of(home: Home, store: MemoryStore) -> Host:
    return Host(
        "h",
        "host/h",
        store,
        BubblewrapSandbox(),
        lambda _: GitHostRepository(home.git, home.top / "host", KEY),
        LocalSnapshots(home.top / "host", exclusive, 1 << 30),
    )


async def test_an_advance_that_found_no_room_leaves_the_way_open_for_another(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "a\n"})
    worktree = await home.start()
    (worktree / "a.txt").write_text("first\n")
    first = await home.commit_work()
    (worktree / "a.txt").write_text("second\n")
    second = await home.commit_work()
    store = FullStore()
    host = host_of(home, store)

    async def advance(new: Commit) -> Digest:
        request = AdvanceBranch(
            session=SESSION, key=KEY, base=home.base, old=home.base, new=new, since=home.base
        )
        advanced = await ActivityEnvironment().run(MergingActivities(host).advance, request)
        assert advanced.bundle is not None
        return advanced.bundle

    with pytest.raises(OSError, match="No space left"):
        await advance(first)
    store.is_full = False
    assert await store.get(await advance(second))
    assert home.of_host("rev-parse", f"refs/blueflame/{SESSION}/merged") == second


async def test_what_a_lost_wave_merged_is_not_merged_again(tmp_path: Path):
    """A wave was terminated behind its advance; the next one merges the same at another time."""
    home = Home(tmp_path)
    home.make({"a.txt": "a\n", "b.txt": "b\n"})
    works: list[Commit] = []
    for name in ("a", "b"):
        worktree = await home.start(name)
        (worktree / f"{name}.txt").write_text("changed\n")
        works.append(await home.commit_work(name))
    acts = MergingActivities(host_of(home, MemoryStore()))

    async def merge(head: Commit, work: Commit, hour: int) -> Commit:
        at = datetime(2026, 1, 1, hour, tzinfo=UTC)
        request = MergeCommits(
            session=SESSION, key=KEY, head=head, commits=(work,), title="t", at=at
        )
        merged = await ActivityEnvironment().run(acts.merge, request)
        assert isinstance(merged, MergedCommits)
        return merged.commit

    async def advance(old: Commit, new: Commit) -> Advanced:
        request = AdvanceBranch(session=SESSION, key=KEY, base=home.base, old=old, new=new)
        return await ActivityEnvironment().run(acts.advance, request)

    first = await merge(home.base, works[0], 1)
    second = await merge(first, works[1], 1)
    assert (await advance(home.base, first)).head is None
    assert (await advance(first, second)).head is None
    assert (await advance(home.base, await merge(home.base, works[0], 2))).head == first
    again = await merge(first, works[1], 2)
    assert again != second
    assert (await advance(first, again)).head == second
    assert home.of_host("rev-parse", f"refs/blueflame/{SESSION}/merged") == second
    with pytest.raises(ApplicationError, match="expected"):
        await advance(home.base, await merge(home.base, works[1], 2))


@pytest.mark.slow
async def test_waves_bundle_only_what_they_merged_and_land_one_upon_the_other(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "a\n"})
    store = MemoryStore()
    acts = MergingActivities(host_of(home, store))
    landing = LandingActivities(home.user, store)
    head, delivered, sizes = home.base, None, list[int]()
    for number in range(6):
        worktree = await home.start(f"t{number}")
        (worktree / f"{number}.txt").write_bytes(random.Random(number).randbytes(20_000))
        work = await home.commit_work(f"t{number}")
        at = datetime(2026, 1, 1, number, tzinfo=UTC)
        merge = MergeCommits(session=SESSION, key=KEY, head=head, commits=(work,), title="t", at=at)
        merged = await ActivityEnvironment().run(acts.merge, merge)
        assert isinstance(merged, MergedCommits)
        new, old = merged.commit, head
        is_last = number % 2 == 1
        advance = AdvanceBranch(
            session=SESSION,
            key=KEY,
            base=home.base,
            old=old,
            new=new,
            since=(delivered or home.base) if is_last else None,
        )
        first = await ActivityEnvironment().run(acts.advance, advance)
        again = await ActivityEnvironment().run(acts.advance, advance)
        assert first == again
        assert (first.bundle is not None) == is_last
        head = new
        if first.bundle is not None:
            sizes.append(len(await store.get(first.bundle)))
            deliver = DeliverBranch(
                session=SESSION,
                repository=str(home.path),
                bundle=first.bundle,
                old=delivered,
                new=head,
            )
            for _ in range(2):
                outcome = await ActivityEnvironment().run(landing.deliver, deliver)
                assert outcome == Delivered(branch=f"blueflame/{SESSION}")
            delivered = head
    assert max(sizes) < 1.1 * min(sizes)
    assert home.run("rev-parse", BRANCH) == head
    home.run("fsck", "--strict")


async def test_a_branch_is_bundled_whole_for_a_repository_that_lost_everything(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "a\n"})
    worktree = await home.start()
    (worktree / "a.txt").write_text("b\n")
    work = await home.commit_work()
    store = MemoryStore()
    acts = MergingActivities(host_of(home, store))
    request = BundleBranch(key=KEY, head=work, since=None)
    bundled = await ActivityEnvironment().run(acts.bundle, request)
    place = tmp_path / "whole.bundle"
    place.write_bytes(await store.get(bundled.bundle))
    plain_git(tmp_path, "init", "-q", "--bare", "empty.git")
    plain_git(tmp_path / "empty.git", "fetch", "-q", str(place), "refs/blueflame/bundle:refs/x")
    assert plain_git(tmp_path / "empty.git", "rev-parse", "refs/x", "refs/x~1").split() == [
        work,
        home.base,
    ]
