"""A file that is replaced: whole, its owner's only, or as it was."""

import stat
from pathlib import Path

import pytest

from workers.atomic_file import replace_text


def test_a_file_is_replaced_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("before")
    path.chmod(0o644)
    replace_text(path, "after")
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "half of a pair: \ud800")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
