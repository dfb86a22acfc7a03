"""The directory store: durable, checked, and shared by users."""

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.adapters.blob_store import LocalStore, MemoryStore, digest_of, open_made
from activities.ports.blob_store_port import BlobMissingError

ROOT = Path(__file__).resolve().parents[4]


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.rglob("*") if path.is_file()}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def directory(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    tmp_path.chmod(request.param)
    return tmp_path


async def test_a_torn_file_is_missing_and_a_put_repairs_it(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    digest = await store.put(b"whole")
    store.path(digest).write_bytes(b"who")
    with pytest.raises(BlobMissingError, match="does not hold what its name says"):
        await store.get(digest)
    await store.put(b"whole")
    assert await store.get(digest) == b"whole"


async def test_many_puts_at_once_leave_only_blobs(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    blobs = [bytes([number]) for number in range(64)] * 2
    digests = await asyncio.gather(*(store.put(blob) for blob in blobs))
    assert [await store.get(digest) for digest in digests] == blobs
    assert names_in(tmp_path) == set(digests)


@pytest.mark.parametrize("directory", [0o700, 0o750, 0o2770, 0o1777], indirect=True)
async def test_what_is_made_takes_the_mode_of_the_directory(directory: Path) -> None:
    store = LocalStore(directory)
    path = store.path(await store.put(b"x"))
    mode = mode_of(directory)
    assert mode_of(path.parent) == mode
    assert mode_of(path) == mode & 0o666


async def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    folder = store.path(digest_of(b"x")).parent
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    await store.put(b"x")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


async def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await LocalStore(tmp_path / "nowhere").put(b"x")


PUT_AS = """
import asyncio, concurrent.futures.thread, os, sys
from pathlib import Path
from activities.adapters.blob_store import LocalStore
os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[2]))
os.umask(0o077)
store = LocalStore(Path(sys.argv[1]))
for text in sys.argv[4:]:
    digest = asyncio.run(store.put(text.encode()))
    assert asyncio.run(store.get(digest)) == text.encode()
"""


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that other users reach (pytest's own are private)."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.root
@pytest.mark.parametrize(
    ("uid", "gid", "mode"), [(0, 4321, 0o2770), (4321, 0, 0o700), (0, 0, 0o1777)]
)
def test_root_and_another_user_put_side_by_side(
    open_path: Path, uid: int, gid: int, mode: int
) -> None:
    directory = open_path / "blobs"
    directory.mkdir()
    os.chown(directory, uid, gid)
    directory.chmod(mode)

    def put(user: int, group: int, *texts: str) -> None:
        arguments = [str(directory), str(user), str(group), *texts]
        command = [sys.executable, "-c", PUT_AS, *arguments]
        subprocess.run(command, cwd=ROOT, check=True)

    texts = [f"text {number}" for number in range(40)]
    put(0, 0, *texts[:20])
    put(4321, 4321, *texts)
    put(0, 0, *texts, "more")
    assert names_in(directory) == {digest_of(text.encode()) for text in [*texts, "more"]}


def test_a_link_in_the_place_of_a_new_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "new").symlink_to("theirs")
    with pytest.raises(OSError, match="new"):
        open_made(tmp_path / "new")


@pytest.mark.root
def test_a_folder_of_another_user_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    os.chown(tmp_path / "new", 4321, 4321)
    with pytest.raises(PermissionError, match="belongs to another"):
        open_made(tmp_path / "new")


@pytest.mark.root
def test_files_that_root_makes_belong_to_the_directorys_owner(open_path: Path) -> None:
    os.chown(open_path, 4321, 4321)
    path = LocalStore(open_path).path(asyncio.run(LocalStore(open_path).put(b"x")))
    assert [(place.stat().st_uid, place.stat().st_gid) for place in (path.parent, path)] == [
        (4321, 4321),
        (4321, 4321),
    ]


async def test_the_memory_store_can_lose(tmp_path: Path) -> None:
    store = MemoryStore()
    digest = await store.put(b"x")
    store.lose(digest)
    store.lose(digest)
    with pytest.raises(BlobMissingError):
        await store.get(digest)
