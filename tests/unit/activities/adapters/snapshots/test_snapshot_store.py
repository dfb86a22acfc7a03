"""What is kept of a set-up, and what never is: links, pipes, rights, halves."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.adapters.git.repository_locks import exclusive
from activities.adapters.snapshots.expiry import all_snapshots, remove_unused
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.ports.snapshot_port import Snapshot, SnapshotError, SnapshotRecord

RECORD = SnapshotRecord(schema=1, tree="t", read=None, paths=(), size_bytes=0)


class Shelf:
    """A host's data with a tree in it, and something outside."""

    def __init__(self, top: Path) -> None:
        self.data = top / "host"
        self.tree = self.data / "tree"
        (self.tree / "lib").mkdir(parents=True)
        self.outside = top / "outside"
        self.outside.mkdir()
        (self.outside / "theirs").write_text("theirs")
        self.store = self.limited(1 << 30)

    def limited(self, limit_bytes: int) -> LocalSnapshots:
        return LocalSnapshots(self.data, exclusive, limit_bytes, lambda _: None)

    async def keep(self, *paths: bytes, key: str = "k") -> Path:
        kept = await self.store.keep(key, self.tree, paths or (b"lib/",), RECORD)
        return self.data / kept.place / "files"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


async def test_files_are_moved_with_their_size_and_paths(shelf: Shelf):
    (shelf.tree / "lib" / "a").write_bytes(b"x" * 10_000)
    (shelf.tree / "b.o").write_text("b")
    files = await shelf.keep(b"b.o", b"lib/")
    assert sorted(os.listdir(files)) == ["b.o", "lib"]
    assert os.listdir(shelf.tree) == []
    (found,) = shelf.store.find("k")
    assert found.record.paths == ("b.o", "lib/")
    assert found.record.size_bytes >= 10_000


async def test_a_link_is_kept_as_a_link(shelf: Shelf):
    (shelf.tree / "lib" / "to").symlink_to(shelf.outside)
    (shelf.tree / "whole").symlink_to("/etc")
    files = await shelf.keep(b"lib/", b"whole")
    assert (files / "lib" / "to").readlink() == shelf.outside
    assert (files / "whole").readlink() == Path("/etc")
    assert (shelf.outside / "theirs").read_text() == "theirs"


async def test_nothing_is_moved_through_a_link(shelf: Shelf):
    (shelf.tree / "way").symlink_to(shelf.outside)
    with pytest.raises(SnapshotError, match="'way/theirs', which set-up made, cannot be kept"):
        await shelf.keep(b"way/theirs")
    assert (shelf.outside / "theirs").exists()
    assert shelf.store.find("k") == ()


def pipe(place: Path) -> None:
    os.mkfifo(place)


def listening(place: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # a socket's path may have 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [pipe, listening])
async def test_what_makes_a_reader_wait_is_left_out(shelf: Shelf, make: Callable[[Path], None]):
    make(shelf.tree / "lib" / "odd")
    make(shelf.tree / "odd")
    files = await shelf.keep(b"lib/", b"odd")
    assert os.listdir(files) == ["lib"]
    assert os.listdir(files / "lib") == []


async def test_no_file_gives_rights(shelf: Shelf):
    program = shelf.tree / "lib" / "program"
    program.write_text("x")
    program.chmod(0o6755)
    (shelf.tree / "lib").chmod(0o2755)
    files = await shelf.keep()
    assert stat.S_IMODE((files / "lib" / "program").stat().st_mode) == 0o755
    assert stat.S_IMODE((files / "lib").stat().st_mode) == 0o755


async def test_a_closed_folder_is_kept_and_can_be_removed(shelf: Shelf):
    (shelf.tree / "lib" / "deep").mkdir()
    (shelf.tree / "lib" / "deep" / "a").write_text("a")
    (shelf.tree / "lib" / "deep").chmod(0)
    (shelf.tree / "lib").chmod(0o555)
    files = await shelf.keep()
    assert (files / "lib" / "deep" / "a").read_text() == "a"
    (files / "lib" / "deep").chmod(0o500)
    assert remove_unused(shelf.data, files.parent) > 0
    assert all_snapshots(shelf.data) == []


async def test_marks_of_an_overlay_are_taken_off(shelf: Shelf):
    place = shelf.tree / "lib"
    try:
        os.setxattr(place, "user.overlay.opaque", b"y")
    except OSError as error:
        pytest.skip(f"this file system keeps no such attributes: {error}")
    assert os.listxattr(await shelf.keep() / "lib") == []


async def test_half_a_snapshot_counts_as_none_and_goes(shelf: Shelf):
    half = shelf.data / "snapshots" / "k" / ".making-1"
    (half / "files").mkdir(parents=True)
    (half / "record.json").write_text(RECORD.model_dump_json(by_alias=True))
    assert shelf.store.find("k") == ()
    await shelf.keep()
    assert not half.exists()


async def test_after_a_power_cut_only_what_the_disk_was_seen_to_have_counts(shelf: Shelf):
    place = (await shelf.keep()).parent
    (place / "boot").write_text("another boot")
    assert shelf.store.find("k") == ()
    (place / "on-disk").touch()
    assert len(shelf.store.find("k")) == 1


async def test_what_was_used_longest_ago_makes_room(shelf: Shelf):
    made: list[Snapshot] = []
    for key in ("first", "second", "third"):
        (shelf.tree / "lib").mkdir(exist_ok=True)
        (shelf.tree / "lib" / "a").write_bytes(b"x" * 100_000)
        made.append(await shelf.limited(250_000).keep(key, shelf.tree, (b"lib/",), RECORD))
        # As if each was made an hour after the one before.
        age = 3_600 * (3 - len(made))
        record = shelf.data / made[-1].place / "record.json"
        os.utime(record, (record.stat().st_atime - age, record.stat().st_mtime - age))
    assert [each.parent.name for each in all_snapshots(shelf.data)] == ["second", "third"]


async def test_what_a_worktree_uses_is_never_removed(shelf: Shelf):
    (shelf.tree / "lib" / "a").write_text("a")
    kept = await shelf.store.keep("k", shelf.tree, (b"lib/",), RECORD)
    state = shelf.data / "state" / "r" / "s.t"
    await shelf.store.give(kept, shelf.tree, state, mounted=True)
    assert remove_unused(shelf.data, shelf.data / kept.place) == 0
    (state / "snapshot.json").unlink()
    assert remove_unused(shelf.data, shelf.data / kept.place) > 0


async def test_a_snapshot_whose_key_is_held_is_not_removed(shelf: Shelf):
    place = (await shelf.keep()).parent
    async with shelf.store.lock("k"):
        assert remove_unused(shelf.data, place) == 0
    assert place.exists()
