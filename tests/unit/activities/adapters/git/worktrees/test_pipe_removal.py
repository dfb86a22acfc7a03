"""Pipes that git would wait for are gone before it looks. Without `disarm` these tests hang."""

import os
from pathlib import Path

import pytest

from activities.adapters.git.worktrees.pipe_removal import Cache, disarm
from tests.unit.activities.adapters.git.home import Home, write

TRAPS = [
    ".gitignore",
    ".gitattributes",
    "d/.gitignore",
    "fresh/.gitignore",
    "fresh/.gitattributes",
    ".GIT/.gitignore",
    "cache/.gitignore",
    "n/.git/HEAD",
    "n/.git/commondir",
]


def lay(place: Path, trap: str) -> None:
    """Put a pipe into what looks, where the trap is one, like a repository."""
    write(place, {"n/src/f": "x", "fresh/f": "x"})
    for folder in ("n/.git/objects", "n/.git/refs"):
        (place / folder).mkdir(parents=True)
    (place / "n/.git/HEAD").write_text("ref: refs/heads/x\n")
    (place / trap).unlink(missing_ok=True)
    (place / trap).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place / trap)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("trap", TRAPS)
async def test_a_pipe_stops_neither_collecting_nor_restoring(home: Home, trap: str):
    home.make({"a.txt": "one\n", "d/b.txt": "x", ".gitignore": "cache/\n"})
    place = await home.start()
    lay(place, trap)
    collected = await home.collect()
    assert [f.kind for f in collected.findings if f.path == trap] == ["not_regular"]
    assert not (place / trap).exists()
    (place / trap).unlink(missing_ok=True)
    os.mkfifo(place / trap)
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
    assert (place / ".gitignore").read_text() == "cache/\n"
    assert (await home.collect()).findings == ()


async def test_a_shut_folder_hides_no_pipe(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    write(place, {"shut/file": "x"})
    os.mkfifo(place / "shut/.gitignore")
    (place / "shut").chmod(0)
    assert [f.path for f in (await home.collect()).findings] == ["shut/.gitignore"]


def test_a_pipe_that_comes_later_is_seen(tmp_path: Path):
    (tmp_path / "d").mkdir()
    cache: Cache = {}
    assert disarm(os.fsencode(tmp_path), cache) == ()
    os.mkfifo(tmp_path / "d/pipe")
    assert [f.path for f in disarm(os.fsencode(tmp_path), cache)] == ["d/pipe"]
    assert disarm(os.fsencode(tmp_path), cache) == ()


def test_a_link_named_commondir_stays_unless_it_leads_to_a_device(tmp_path: Path):
    for name, target in (("a", "/dev/zero"), ("b", "../file"), ("c", "nowhere")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "commondir").symlink_to(target)
    (tmp_path / "file").touch()
    assert [f.path for f in disarm(os.fsencode(tmp_path), {})] == ["a/commondir"]
