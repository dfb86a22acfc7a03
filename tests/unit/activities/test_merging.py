"""`merging.advance`: the session's ref moves last, so that what fails before can be done again."""

from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.merging import MergingActivities
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, Home
from workflows.contracts.merging_contracts import AdvanceBranch
from workflows.domain.ids import Commit, Digest

KEY = "k" * 32


class FullStore(MemoryStore):
    """Its disk is full, until someone makes room."""

    is_full = True

    async def put(self, data: bytes) -> Digest:
        if self.is_full:
            raise OSError(28, "No space left on device")
        return await super().put(data)


async def test_an_advance_that_found_no_room_leaves_the_way_open_for_another(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "a\n"})
    worktree = await home.start()
    (worktree / "a.txt").write_text("first\n")
    first = await home.commit_work()
    (worktree / "a.txt").write_text("second\n")
    second = await home.commit_work()
    store = FullStore()
    host = Host(
        "h",
        "host/h",
        store,
        BubblewrapSandbox(),
        lambda _: GitHostRepository(home.git, tmp_path / "host", KEY),
    )

    async def advance(new: Commit) -> Digest:
        request = AdvanceBranch(session=SESSION, key=KEY, base=home.base, old=home.base, new=new)
        return (await ActivityEnvironment().run(MergingActivities(host).advance, request)).bundle

    with pytest.raises(OSError, match="No space left"):
        await advance(first)
    store.is_full = False
    assert await store.get(await advance(second))
    assert home.of_host("rev-parse", f"refs/blueflame/{SESSION}/merged") == second
