"""The person's copied files, packed and written out into a tree that a stranger made."""

from collections.abc import Callable
from pathlib import Path

import pytest

from activities.adapters.blob_store import MemoryStore
from activities.ports.git_errors import RepositoryRefusedError
from activities.repository.copy_archive import (
    FileToCopy,
    copied_paths,
    packed,
    unpacked,
    write_copied,
)
from workflows.domain.repository import CopiedFile

FILES = (
    FileToCopy("data/one", b"1\n"),
    FileToCopy("data/run", b"#!/bin/sh\n", executable=True),
    FileToCopy("data/link", link="one"),
)


async def write(root: Path, *files: FileToCopy) -> tuple[MemoryStore, CopiedFile]:
    store = MemoryStore()
    content = await store.put(packed(files))
    copied = CopiedFile(path="data", content=content, executable=False, kind="archive")
    await write_copied(store, root, (copied,))
    return store, copied


def test_what_was_packed_is_unpacked_and_the_same_files_are_the_same_bytes():
    assert tuple(unpacked(packed(FILES))) == FILES
    assert packed(FILES) == packed(FILES)


async def test_files_modes_and_links_are_written_also_over_earlier_ones(tmp_path: Path):
    await write(tmp_path, *FILES)
    store, copied = await write(tmp_path, *FILES)
    assert (tmp_path / "data/link").readlink() == Path("one")
    assert (tmp_path / "data/link").read_text() == "1\n"
    assert (tmp_path / "data/run").stat().st_mode & 0o777 == 0o755
    assert await copied_paths(store, (copied,)) == {"data/one", "data/run", "data/link"}


def a_link_to_a_folder(root: Path) -> None:
    (root.parent / "outside").mkdir()
    (root / "data").symlink_to("../outside")


def a_link_to_a_file(root: Path) -> None:
    (root / "data").mkdir()
    (root.parent / "outside").write_text("theirs\n")
    (root / "data/one").symlink_to("../../outside")


def a_file_for_a_folder(root: Path) -> None:
    (root / "data").write_text("x\n")


def a_folder_for_a_file(root: Path) -> None:
    (root / "data/one").mkdir(parents=True)


def a_file_for_a_link(root: Path) -> None:
    (root / "data").mkdir()
    (root / "data/link").write_text("x\n")


@pytest.mark.parametrize(
    "lay",
    [
        a_link_to_a_folder,
        a_link_to_a_file,
        a_file_for_a_folder,
        a_folder_for_a_file,
        a_file_for_a_link,
    ],
)
async def test_what_the_base_has_in_the_way_is_refused_and_nothing_outside_is_written(
    tmp_path: Path, lay: Callable[[Path], None]
):
    root = tmp_path / "tree"
    root.mkdir()
    lay(root)
    with pytest.raises(RepositoryRefusedError, match=r"`worktree\.copy` cannot bring 'data/"):
        await write(root, *FILES)
    outside = tmp_path / "outside"
    assert not outside.is_dir() or not list(outside.iterdir())
    assert not outside.is_file() or outside.read_text() == "theirs\n"
