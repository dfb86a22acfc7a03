"""`workers.atomic_file`: a file is replaced whole, or stays as it was and leaves nothing beside."""

from pathlib import Path

import pytest

from workers.atomic_file import replace_text


def test_what_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replace_text(path, "first")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "second\ud800")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_replaced_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_text(tmp_path / "a", "text")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
