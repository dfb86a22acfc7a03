"""A text file that a person named is read within its limit, or refused in words."""

import os
from pathlib import Path

import pytest

from activities.text.text_files import TextFileError, read_text_file


@pytest.mark.parametrize(
    ("held", "read"),
    [(b"", ""), (b"\xef\xbb\xbfgr\xc3\xbcn\r\n", "grün\r\n"), (b"x" * 10, "x" * 10)],
)
def test_a_text_is_read_as_it_is(tmp_path: Path, held: bytes, read: str) -> None:
    (tmp_path / "a").write_bytes(held)
    assert read_text_file(tmp_path / "a", 10) == read


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (b"x" * 11, "{}:1:1: over 10 bytes; shorten it"),
        (b"ab\nc\xff", "{}:2:2: not UTF-8; save the file as UTF-8"),
    ],
)
def test_what_is_too_long_or_not_utf8_is_refused(tmp_path: Path, held: bytes, told: str) -> None:
    (tmp_path / "a").write_bytes(held)
    with pytest.raises(TextFileError) as refused:
        read_text_file(tmp_path / "a", 10)
    assert str(refused.value) == told.format(tmp_path / "a")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TextFileError, match="is not a file"):
        read_text_file(tmp_path / "pipe", 10)
