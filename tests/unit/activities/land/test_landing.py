"""`landing.deliver` when the person's repository changed since the session began."""

from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.land.landing import LandingActivities
from tests.unit.activities.adapters.git.home import BRANCH, RESULT, Home, write
from workflows.contracts.land_contracts import (
    DeliverBranch,
    Delivered,
    DeliveryLacking,
    DeliveryOutcome,
)
from workflows.domain.ids import Digest, SessionId


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_base_that_was_rewritten_and_collected_is_delivered(
    tmp_path: Path, is_shared: bool
):
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    if is_shared:
        home.commit({"b.txt": "two\n"})
    store = MemoryStore()
    write(await home.start(), {"new.txt": "new\n"})
    commit = await home.commit_work()
    await home.host.advance(RESULT, commit, None)
    bundle = await store.put(await home.host.bundle(RESULT, home.base))
    if is_shared:
        home.run("reset", "-q", "--hard", "HEAD~1")
    home.run("commit", "-q", "--amend", "--no-verify", "-m", "rewritten")
    home.run("reflog", "expire", "--expire=now", "--all")
    home.run("gc", "-q", "--prune=now")
    base = await store.put(await home.host.bundle(home.base, None))

    async def deliver(base: Digest | None) -> DeliveryOutcome:
        asked = DeliverBranch(
            session=SessionId("s1"),
            repository=str(home.path),
            bundle=bundle,
            old=None,
            new=commit,
            base=base,
        )
        deliver = LandingActivities(home.user, store).deliver
        return await ActivityEnvironment().run(deliver, asked)

    assert await deliver(None) == DeliveryLacking()
    assert await deliver(base) == Delivered(branch="blueflame/s1")
    assert home.run("rev-parse", BRANCH, f"{BRANCH}~1").split() == [commit, home.base]
    home.run("fsck", "--strict")
