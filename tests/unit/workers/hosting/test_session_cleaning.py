"""`session_cleaning`: what of which session may go, and that nothing of an open one does."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.blob_store import LocalStore
from activities.adapters.git.repository_cleanup import Cleanup, size_of
from starter.sessions.short_ids import make_id
from tests.unit.activities.adapters.git.home import Home
from workers.hosting import data_layout
from workers.hosting.data_layout import packages_root
from workers.hosting.session_cleaning import (
    CleaningReport,
    CleaningRequest,
    began_at,
    clean,
    is_removable,
)
from workers.settings import Settings
from workflows.domain.ids import SessionId

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def of_age(days: float) -> SessionId:
    return make_id((NOW - days * DAY).timestamp(), chance=1)


OLD, NEW = of_age(100), of_age(2)


def request(**changes: Any) -> CleaningRequest:
    values: dict[str, Any] = {
        "now": NOW,
        "before": NOW - 30 * DAY,
        "open": frozenset(),
        "ended": {},
        "blobs_before": NOW + DAY,
    }
    return CleaningRequest.model_validate({**values, **changes})


def test_the_time_in_an_id_is_read_back() -> None:
    began = began_at(OLD)
    assert began is not None
    assert abs(began - (NOW - 100 * DAY)) < timedelta(seconds=1)
    assert began_at("not-ours") is None
    assert began_at("z" * 26) is None


@pytest.mark.parametrize(
    ("session", "facts", "removable"),
    [
        (OLD, {}, True),
        (OLD, {"open": [OLD]}, False),
        (OLD, {"open": [OLD], "ended": {OLD: NOW - 90 * DAY}}, False),
        (OLD, {"ended": {OLD: NOW - 90 * DAY}}, True),
        # Long ago begun, lately ended.
        (OLD, {"ended": {OLD: NOW - 2 * DAY}}, False),
        (NEW, {}, False),
        (NEW, {"before": NOW, "ended": {NEW: NOW - DAY}}, True),
        # Not known: too young to be forgotten by a server.
        (NEW, {"before": NOW}, False),
        (of_age(8), {"before": NOW}, True),
        ("a-foreign-folder", {"before": NOW}, False),
        # Only what is proven merged: whatever is not listed stays, however old.
        (OLD, {"before": NOW, "only_ended": True}, False),
        (OLD, {"only_ended": True, "ended": {OLD: NOW - 90 * DAY}}, True),
        (OLD, {"only_ended": True, "ended": {OLD: NOW - 2 * DAY}}, False),
    ],
    ids=map(str, range(13)),  # a session's id holds the time
)
def test_what_of_a_session_may_go(session: str, facts: dict[str, Any], removable: bool) -> None:
    assert is_removable(session, request(**facts)) is removable


async def left_behind(home: Home, *sessions: SessionId) -> Settings:
    """Leave a worktree and a ref of each session."""
    home.make({"a.txt": "a\n"})
    for session in sessions:
        await home.import_base(session)
        await home.host.create_worktree(f"{session}.dev.t.1", home.base)
    settings = Settings(data_dir=home.top)
    data_layout.prepare(settings)
    return settings


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def worktrees(home: Home) -> list[str]:
    return sorted(path.name for path in (home.top / "host" / "worktrees" / ("k" * 32)).iterdir())


def refs(home: Home, session: SessionId) -> list[str]:
    return home.of_host("for-each-ref", f"refs/blueflame/{session}/").splitlines()


async def test_ended_sessions_go_and_others_stay_as_they_are(home: Home) -> None:
    settings = await left_behind(home, OLD, NEW)
    report = await clean(settings, request(open=[NEW]))
    assert (report.sessions, report.kept) == ((OLD,), (NEW,))
    assert (report.worktrees, report.refs, report.repositories) == (1, 1, 0)
    assert report.kept_bytes > 0
    assert report.worktree_bytes > 0
    assert worktrees(home) == [f"{NEW}.dev.t.1"]
    assert refs(home, NEW)
    assert not refs(home, OLD)
    async with home.host.lock(f"{NEW}.dev.t.1"):
        await home.host.restore(f"{NEW}.dev.t.1", home.base)


async def test_a_dry_run_counts_and_removes_nothing(home: Home) -> None:
    settings = await left_behind(home, OLD)
    report = await clean(settings, request(dry_run=True))
    assert (report.worktrees, report.refs) == (1, 1)
    assert worktrees(home) == [f"{OLD}.dev.t.1"]
    assert refs(home, OLD)


async def test_keeps_and_names_a_worktree_in_use(home: Home) -> None:
    settings = await left_behind(home, OLD)
    async with home.host.lock(f"{OLD}.dev.t.1"):
        report = await asyncio.create_task(clean(settings, request()))
    assert report.busy == (f"worktree {OLD}.dev.t.1",)
    assert worktrees(home) == [f"{OLD}.dev.t.1"]


async def test_what_is_broken_is_listed_and_the_rest_goes(home: Home) -> None:
    """Field report G41: one lock that could not be opened ended the whole clean-up."""
    older = of_age(110)
    settings = await left_behind(home, OLD, older)
    lock = settings.host_dir / "locks" / ("k" * 32) / f"{older}.dev.t.1"
    lock.unlink()
    lock.symlink_to("elsewhere")
    (settings.host_dir / "repositories" / "broken.git").mkdir()
    (settings.host_dir / "snapshots").write_text("not a folder")
    store = LocalStore(settings.store_dir)
    blob = await store.put(b"old")
    os.utime(store.path(blob), (0, 0))
    report = await clean(settings, request())
    assert worktrees(home) == [f"{older}.dev.t.1"]
    assert (report.worktrees, report.refs, report.blobs) == (1, 2, 1)
    second, first = report.failed
    assert first.startswith(f"worktree {older}.dev.t.1: the lock ")
    assert second.startswith("repository broken: git ")


async def test_a_repository_without_sessions_goes_once_it_is_quiet(home: Home) -> None:
    settings = await left_behind(home, OLD)
    bare = settings.host_dir / "repositories" / f"{'k' * 32}.git"
    first = await clean(settings, request(before=NOW - 8 * DAY))
    assert (first.repositories, bare.exists()) == (0, True)
    cleanup = Cleanup(home.git, settings.host_dir, "k" * 32)
    assert await cleanup.remove_repository(NOW + DAY) > 0
    assert not bare.exists()
    # The next session makes it again.
    await home.import_base(NEW)
    assert (await home.host.await_base(home.base)).is_there


def large(number: int) -> bytes:
    return random.Random(number).randbytes(200_000)


async def loose(home: Home) -> None:
    """Work of the session as loose objects, some of it without a ref."""
    place = home.top / "host" / "worktrees" / ("k" * 32) / f"{OLD}.dev.t.1"
    work = home.base
    for number in range(3):
        (place / "a.txt").write_bytes(large(number))
        work = await home.commit_work(f"{OLD}.dev.t.1")
    await home.host.advance(f"refs/blueflame/{OLD}/tasks/t", work, None)


async def packed(home: Home) -> None:
    """The same in one pack, together with the base."""
    await loose(home)
    home.of_host("repack", "-q", "-a", "-d", "-k")


async def nothing(home: Home) -> None:
    """Only the base, in its pack."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", [nothing, loose, packed])
@pytest.mark.parametrize("is_old", [True, False])
@pytest.mark.parametrize("is_open", [True, False], ids=["open elsewhere", "idle"])
async def test_a_clean_up_never_grows_a_repository(
    home: Home, make: Callable[[Home], Awaitable[None]], is_old: bool, is_open: bool
) -> None:
    settings = await left_behind(home, OLD, NEW)
    await make(home)
    bare = settings.host_dir / "repositories" / f"{'k' * 32}.git"
    if is_old:
        for path in bare.rglob("objects/**/*"):
            os.utime(path, (0, 0))
    before, found = size_of(bare), home.of_host("cat-file", "--batch-all-objects", "--batch-check")
    elsewhere = [of_age(1)] if is_open else []
    report = await clean(settings, request(open=elsewhere, ended={NEW: NOW}))
    after = size_of(bare)
    assert report.failed == report.busy == ()
    # A cruft pack has an index of its own: a few blocks, where nothing could go.
    assert after <= before + (32 << 10) * is_open
    gone = set(found.splitlines()) - set(
        home.of_host("cat-file", "--batch-all-objects", "--batch-check").splitlines()
    )
    if make is not nothing and is_old:
        assert gone
        assert after < before - 300_000
        assert report.repository_bytes == pytest.approx(before - after, abs=64 << 10)
    home.of_host("fsck", "--connectivity-only")
    await home.host.create_worktree(f"{NEW}.dev.u.1", home.base)


async def test_objects_stay_where_a_session_has_begun_since_the_open_ones_were_listed(
    home: Home,
) -> None:
    settings = await left_behind(home, OLD, of_age(0))
    await packed(home)
    found = home.of_host("cat-file", "--batch-all-objects", "--batch-check")
    report = await clean(settings, request())
    assert report.sessions == (OLD,)
    assert home.of_host("cat-file", "--batch-all-objects", "--batch-check") == found


async def test_after_the_last_session_nothing_of_it_is_left(home: Home) -> None:
    """Locks, states and empty folders grew with every session."""
    home.make({"a.txt": "a\n"})
    settings = Settings(data_dir=home.top)
    data_layout.prepare(settings)
    before = sorted(settings.host_dir.rglob("*"))
    for session in (OLD, of_age(90)):
        await home.import_base(session)
        for number in range(3):
            name = f"{session}.dev.t.{number}"
            await home.host.create_worktree(name, home.base)
            async with home.host.lock(name):
                await home.host.restore(name, home.base)
            if number:
                await home.host.remove_worktree(name)
    for path in (settings.host_dir / "repositories").rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)
    report = await clean(settings, request())
    assert (report.failed, report.repositories) == ((), 0)
    # Deleting refs has just used it.
    later = await clean(settings, request(now=NOW + DAY, before=NOW + DAY))
    assert (later.failed, later.repositories) == ((), 1)
    tops = {"repositories", "worktrees", "locks", "state"}
    left = [path for path in settings.host_dir.rglob("*") if path not in before]
    assert {str(path.relative_to(settings.host_dir)) for path in left} <= tops


async def test_blobs_of_open_sessions_stay(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    data_layout.prepare(settings)
    store = LocalStore(settings.store_dir)
    old, renewed, new = [await store.put(data) for data in (b"old", b"renewed", b"new")]
    for digest, days in ((old, 90), (renewed, 90), (new, 1)):
        at = (NOW - days * DAY).timestamp()
        os.utime(store.path(digest), (at, at))
    (settings.store_dir / ".0123456789abcdef.new").write_bytes(b"half")
    os.utime(settings.store_dir / ".0123456789abcdef.new", (0, 0))
    await store.put(b"renewed")

    spared = await clean(settings, request(blobs_before=NOW - 100 * DAY, dry_run=True))
    assert spared.blobs == 1
    counted = await clean(settings, request(dry_run=True))
    assert (counted.blobs, store.path(old).exists()) == (2, True)
    assert (await clean(settings, request())).blobs == 2
    assert [store.path(each).exists() for each in (old, renewed, new)] == [False, True, True]
    await store.put(b"old")
    assert await store.get(old) == b"old"


def test_it_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    data_layout.prepare(settings)
    assert cleaned(settings) == CleaningReport()


@pytest.mark.root
async def test_as_root_it_works_as_the_hosts_user(home: Home) -> None:
    settings = await left_behind(home, OLD)
    # As the host worker left it: everything of the host belongs to its user.
    for path in (settings.host_dir, *settings.host_dir.rglob("*")):
        os.chown(path, settings.host_uid, settings.host_gid, follow_symlinks=False)
    report = cleaned(settings)
    assert (report.worktrees, report.refs) == (1, 1)
    owners = {path.lstat().st_uid for path in settings.host_dir.rglob("*")}
    assert owners == {settings.host_uid}


def cleaned(settings: Settings) -> CleaningReport:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers.hosting.session_cleaning"],
        env={**os.environ, **settings.as_environment(), "PYTHONPATH": str(packages_root())},
        input=request().model_dump_json().encode(),
        capture_output=True,
        check=True,
    )
    return CleaningReport.model_validate_json(done.stdout)


async def test_blobs_of_a_session_that_stays_on_disk_are_kept(home: Home) -> None:
    settings = await left_behind(home, OLD)
    store = LocalStore(settings.store_dir)
    of_old, older = await store.put(b"of old"), await store.put(b"older")
    for digest, days in ((of_old, 100), (older, 102)):
        at = (NOW - days * DAY).timestamp()
        os.utime(store.path(digest), (at, at))
    report = await clean(settings, request(before=NOW, only_ended=True))
    assert (report.kept, report.blobs) == ((OLD,), 1)
    assert (store.path(of_old).exists(), store.path(older).exists()) == (True, False)
