"""`text_files.read_bounded`: reads files only, and none much further than its limit."""

import os
from pathlib import Path

import pytest

from activities.text.text_files import TextFileError, read_bounded


@pytest.mark.parametrize(("size", "read"), [(0, 0), (9, 9), (10, 10), (11, 11), (10_000, 11)])
def test_reads_one_byte_past_the_limit_and_no_more(tmp_path: Path, size: int, read: int):
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    assert len(read_bounded(path, 10)) == read


def test_refuses_what_is_not_a_file(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, tmp_path / "missing"):
        with pytest.raises(TextFileError) as refused:
            read_bounded(path, 10)
        assert str(refused.value) == f"{str(path)!r} is not a file"
