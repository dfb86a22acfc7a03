"""The scan: cached by a folder's time of change, which no one can set, and never wrong for it."""

import os
from pathlib import Path

import pytest

from activities.adapters.git.worktrees.folder_scan import Cache, scan
from tests.unit.activities.adapters.git.home import write

SETTLED = "activities.adapters.git.worktrees.folder_scan.SETTLED_NS"


def test_a_cached_folder_is_looked_through_again_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(SETTLED, -(10**18))
    root, cache = os.fsencode(tmp_path), Cache()
    write(tmp_path, {"d/file": "x"})
    assert scan(root, {b"", b"d"}, cache=cache).not_regular == ()
    assert set(cache) == {b"", b"d"}
    before = (tmp_path / "d").stat()
    while (tmp_path / "d").stat().st_ctime_ns == before.st_ctime_ns:
        (tmp_path / "d/pipe").unlink(missing_ok=True)
        os.mkfifo(tmp_path / "d/pipe")
    os.utime(tmp_path / "d", ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        assert scan(root, {b"", b"d"}, cache=cache).not_regular == (b"d/pipe",)


def test_a_folder_that_only_just_changed_is_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(SETTLED, 10**18)
    cache = Cache()
    scan(os.fsencode(tmp_path), {b""}, cache=cache)
    assert cache == {}


def test_enters_only_the_given_folders(tmp_path: Path):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        os.mkfifo(tmp_path / name / "pipe")
    (tmp_path / "link").symlink_to("out")
    found = scan(os.fsencode(tmp_path), {b"", b"in", b"link"})
    assert found.not_regular == (b"in/pipe",)
