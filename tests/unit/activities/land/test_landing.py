"""`landing.deliver` and `landing.forward` when the repository changed since the session began."""

from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.land.landing import LandingActivities
from activities.ports.user_repository import Landed
from tests.unit.activities.adapters.git.home import BRANCH, RESULT, Home, write
from workflows.contracts.land_contracts import (
    DeliverBranch,
    Delivered,
    DeliveryLacking,
    DeliveryOutcome,
    ForwardBranch,
    Forwarded,
    ForwardOutcome,
    ForwardRefused,
)
from workflows.domain.ids import Commit, Digest, SessionId


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


async def forward(home: Home, new: Commit, **other: str) -> ForwardOutcome:
    """Ask role `land` to fast-forward `main`."""
    values = {"branch": "main", "old": home.base, "new": new, **other}
    asked = ForwardBranch.model_validate({"session": "s1", "repository": str(home.path), **values})
    activities = LandingActivities(home.user, MemoryStore())
    return await ActivityEnvironment().run(activities.forward, asked)


async def landed(home: Home) -> Commit:
    """Land one commit on a repository that shows no branch."""
    home.make({"a.txt": "one\n"})
    write(await home.start(), {"new.txt": "new\n"})
    commit = await home.commit_work()
    assert isinstance(await home.land(commit), Landed)
    home.run("checkout", "-q", "--detach")
    return commit


async def test_the_branch_is_forwarded_and_again_after_a_lost_answer(tmp_path: Path):
    home = Home(tmp_path)
    commit = await landed(home)
    assert [await forward(home, commit), await forward(home, commit)] == [Forwarded()] * 2
    assert home.run("rev-parse", "main") == commit


async def test_a_branch_that_somebody_moved_is_refused_with_the_command(tmp_path: Path):
    home = Home(tmp_path)
    commit, base = await landed(home), home.base
    home.run("checkout", "-q", "main")
    moved = home.commit({"mine.txt": "mine\n"})
    home.run("checkout", "-q", "--detach")
    outcome = await forward(home, commit, old=base)
    assert isinstance(outcome, ForwardRefused)
    assert f"'main' is at {moved} now" in outcome.reason
    assert "`git merge blueflame/s1`" in outcome.reason
    assert home.run("rev-parse", "main") == moved


async def test_a_branch_that_is_rebased_is_refused(tmp_path: Path):
    home = Home(tmp_path)
    commit = await landed(home)
    (home.path / ".git/rebase-merge").mkdir()
    (home.path / ".git/rebase-merge/head-name").write_text("refs/heads/main\n")
    outcome = await forward(home, commit)
    assert isinstance(outcome, ForwardRefused)
    assert "`blueflame fast-forward s1`" in outcome.reason
    assert home.run("rev-parse", "main") == home.base
