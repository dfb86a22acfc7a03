"""What is read from the person's checkout with the person's rights."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import LocalStore, MemoryStore
from activities.adapters.git.base_transfer import identity
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.base_import import ExportActivities, ImportActivities, OwnPlace
from activities.ports.blob_store_port import BlobMissingError
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, Home
from workflows.contracts.host_contracts import AwaitBase, ImportBase, ImportedBase
from workflows.contracts.land_contracts import ExportBase, SendBase, SentBase
from workflows.domain.ids import SessionId
from workflows.domain.repository import Base
from workflows.domain.session.session_config import HistoryDepth, WorktreeConfig
from workflows.errors import FailureType


async def export(
    home: Home, store: MemoryStore, *copies: str, allow_secret: tuple[str, ...] = ()
) -> Base:
    activities = ExportActivities(home.user, store)
    worktree = WorktreeConfig(copies=copies, allow_secret=allow_secret)
    request = ExportBase(session=SESSION, repository=str(home.path), base=None, worktree=worktree)
    return await ActivityEnvironment().run(activities.export, request)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.make({"a.txt": "x\n", ".gitignore": "local/\n"})
    (made.path / "local").mkdir()
    (made.path / "local/settings").write_text("x = 1\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/settings").write_text("theirs")
    return made


async def test_a_named_file_is_copied(home: Home):
    store = MemoryStore()
    (copied,) = (await export(home, store, "local/settings")).copied
    assert (copied.path, copied.executable) == ("local/settings", False)
    assert await store.get(copied.content) == b"x = 1\n"


@pytest.mark.parametrize(
    ("path", "content"), [("local/.env", "A=1\n"), ("local/values", f"GH_TOKEN=ghp_{'a' * 36}\n")]
)
async def test_r24_a_file_that_looks_secret_is_copied_only_if_a_person_allows_it(
    home: Home, path: str, content: str
):
    (home.path / path).write_text(content)
    with pytest.raises(ApplicationError, match=r"worktree\.allow_secret") as raised:
        await export(home, MemoryStore(), path)
    assert raised.value.type == FailureType.REPOSITORY_REFUSED
    assert "ghp_" not in str(raised.value)
    (copied,) = (await export(home, MemoryStore(), path, allow_secret=(path,))).copied
    assert copied.path == path


async def test_a_link_in_a_parent_folder_is_not_followed(home: Home):
    (home.path / "local/link").symlink_to("../../outside")
    with pytest.raises(ApplicationError, match="no link on its way is followed") as raised:
        await export(home, MemoryStore(), "local/link/settings")
    assert raised.value.type == FailureType.REPOSITORY_REFUSED


@pytest.mark.parametrize("path", ["../outside/settings", "local/none"])
async def test_a_path_that_is_not_a_file_of_the_checkout_is_refused(home: Home, path: str):
    with pytest.raises(ApplicationError, match=path) as raised:
        await export(home, MemoryStore(), path)
    assert raised.value.type == FailureType.REPOSITORY_REFUSED


def own(home: Home) -> Callable[[str], OwnPlace | None]:
    bare = home.top / "host" / "repositories" / f"{'k' * 32}.git"
    return lambda _: OwnPlace(bare, name) if (name := identity(bare)) else None


@pytest.mark.parametrize("is_shared", [True, False])
async def test_a_base_goes_through_the_store_only_between_machines(home: Home, is_shared: bool):
    store = MemoryStore()
    kept = LocalSnapshots(home.top / "host", exclusive, 1 << 30)
    host = Host("h", "host/h", store, BubblewrapSandbox(), lambda _: home.host, kept)
    exports = ExportActivities(home.user, store, own(home) if is_shared else lambda _: None)
    imports = ImportActivities(host)
    run = ActivityEnvironment().run
    awaited = await run(imports.await_base, AwaitBase(key="k" * 32, commit=home.base))
    send = SendBase(
        session=SESSION,
        repository=str(home.path),
        key="k" * 32,
        commit=home.base,
        known=awaited.known,
        place=awaited.place,
    )
    sent = await run(exports.send, send)
    assert (sent.bundle is None) == is_shared
    request = ImportBase(
        session=SESSION,
        key="k" * 32,
        bundle=sent.bundle,
        shallow=(),
        commit=home.base,
        gates=None,
        disk_bytes=0,
    )
    for _ in range(2):
        await run(imports.import_base, request)
    if sent.bundle is not None:
        with pytest.raises(BlobMissingError):
            await store.get(sent.bundle)
        shutil.rmtree(home.top / "host")
        with pytest.raises(ApplicationError, match="send the base again") as raised:
            await run(imports.import_base, request)
        assert raised.value.type == FailureType.BASE_LACKING


@pytest.mark.parametrize("is_shared", [True, False])
async def test_a_cut_history_is_told_of_and_completed_for_a_session_that_wants_all(
    home: Home, is_shared: bool
):
    for text in ("y\n", "z\n"):
        home.commit({"a.txt": text})
    told = list[tuple[str, ...]]()
    for number, depth in enumerate((2, 2, "full", 1)):
        imported, sent = await begun(home, SessionId(f"s{number}"), depth, is_shared=is_shared)
        told.append(imported.warnings)
        assert ("the history is cut" in imported.brief) == bool(imported.warnings)
        assert (sent is None) == (number == 3)
    cut = "the history is cut: worktrees hold its newest 2 commits"
    remedy = "for all of them set `worktree.history: full`"
    assert told == [(f"{cut}; {remedy}",), (f"{cut}; {remedy}",), (), ()]
    home.of_host("fsck", "--strict")


async def begun(
    home: Home, session: SessionId, depth: HistoryDepth, *, is_shared: bool
) -> tuple[ImportedBase, SentBase | None]:
    """Do what a session does until its base is on the host."""
    kept = LocalSnapshots(home.top / "host", exclusive, 1 << 30)
    store = LocalStore(home.top / "store")
    (home.top / "store").mkdir(exist_ok=True)
    host = Host("h", "host/h", store, BubblewrapSandbox(), lambda _: home.host, kept)
    exports = ExportActivities(home.user, store, own(home) if is_shared else lambda _: None)
    imports = ImportActivities(host)
    run = ActivityEnvironment().run
    awaited = await run(imports.await_base, AwaitBase(key="k" * 32, commit=home.base))
    sent = None
    if not awaited.is_there or awaited.ends is not None:
        send = SendBase(
            session=session,
            repository=str(home.path),
            key="k" * 32,
            commit=home.base,
            known=awaited.known,
            place=awaited.place,
            ends=awaited.ends,
            history=depth,
        )
        sent = await run(exports.send, send)
    request = ImportBase(
        session=session,
        key="k" * 32,
        bundle=sent.bundle if sent else None,
        shallow=(),
        ends=sent.ends if sent else None,
        commit=home.base,
        gates=None,
        disk_bytes=0,
    )
    return await run(imports.import_base, request), sent
