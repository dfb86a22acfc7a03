"""`merging.advance`: the session's ref moves last, so that what fails before can be done again."""

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
from activities.merging import MergingActivities
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, Home
from workflows.contracts.merging_contracts import (
    AdvanceBranch,
    Advanced,
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
        request = AdvanceBranch(session=SESSION, key=KEY, base=home.base, old=home.base, new=new)
        return (await ActivityEnvironment().run(MergingActivities(host).advance, request)).bundle

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
