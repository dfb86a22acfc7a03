"""Opening below a folder follows no link, in either direction."""

import os
from pathlib import Path

import pytest

from activities.repository.safe_open import open_inside

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("theirs")
    top = tmp_path / "root"
    (top / "a").mkdir(parents=True)
    (top / "a/file").write_text("ours")
    (top / "folder").symlink_to("../outside")
    (top / "a/link").symlink_to("../../outside/secret")
    return top


def test_a_file_is_read_and_written(root: Path):
    with os.fdopen(open_inside(root, "a/file", os.O_RDONLY)) as file:
        assert file.read() == "ours"
    with os.fdopen(open_inside(root, "./a//file", os.O_RDONLY)) as file:
        assert file.read() == "ours"
    with os.fdopen(open_inside(root, "new/deep/tool", CREATE, 0o755), "w") as file:
        file.write("x")
    assert (root / "new/deep/tool").read_text() == "x"
    assert os.access(root / "new/deep/tool", os.X_OK)


@pytest.mark.parametrize("path", ["folder/secret", "a/link"])
def test_no_link_is_followed(root: Path, path: str):
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        open_inside(root, path, os.O_RDONLY)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        open_inside(root, path, CREATE, 0o644)
    assert (root.parent / "outside/secret").read_text() == "theirs"


@pytest.mark.parametrize("path", ["", ".", "/a/file", "../outside/secret", "a/../a/file"])
def test_a_path_that_could_leave_is_refused(root: Path, path: str):
    with pytest.raises(ValueError, match="does not lead inside"):
        open_inside(root, path, os.O_RDONLY)


def test_a_pipe_is_not_waited_for(root: Path):
    os.mkfifo(root / "pipe")
    os.close(open_inside(root, "pipe", os.O_RDONLY))


def test_reading_makes_nothing(root: Path):
    with pytest.raises(FileNotFoundError):
        open_inside(root, "none/file", os.O_RDONLY)
    assert not (root / "none").exists()
