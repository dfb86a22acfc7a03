"""`workers.bounded_log`: never more than two files of the allowed size."""

from pathlib import Path

import pytest

from workers.bounded_log import BoundedLog, last_line


def test_the_newest_lines_are_kept_in_two_files(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "a.log", max_bytes=100)
    for number in range(50):
        log.write(f"line {number:03}\n".encode())
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.log", "a.log.1"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    assert (tmp_path / "a.log").read_text().endswith("line 049\n")


def test_an_existing_log_is_continued(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"before\n")
    log = BoundedLog(tmp_path / "a.log", max_bytes=100)
    log.write(b"after\n")
    log.close()
    assert (tmp_path / "a.log").read_bytes() == b"before\nafter\n"


def test_a_full_disk_loses_lines_and_nothing_else() -> None:
    log = BoundedLog(Path("/dev/full"))
    log.write(b"lost\n")
    log.close()


def test_what_keeps_it_from_beginning_a_new_file_ends_neither_log_nor_program(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.log.1").mkdir()
    log = BoundedLog(tmp_path / "a.log", max_bytes=10)
    log.write(b"12345678\n")
    log.write(b"too much\n")
    log.write(b"\n")
    (tmp_path / "a.log.1").rmdir()
    log.write(b"again\n")
    log.close()
    assert (tmp_path / "a.log").read_bytes() == b"again\n"


def test_a_new_file_that_could_not_be_made_is_made_later(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "a.log", max_bytes=10)
    log.write(b"12345678\n")
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")  # as far as a full disk let it come
    log.write(b"again\n")
    log.close()
    assert (tmp_path / "a.log").read_bytes() == b"again\n"


@pytest.mark.parametrize(
    ("written", "last"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"first\nlast\n\n", "last"),
        (b"x" * 9_000 + b"\nlast", "last"),
        (b"\xff" + b"y" * 9_000, "y" * 300),
    ],
)
def test_the_last_line_says_why_a_program_ended(tmp_path: Path, written: bytes, last: str) -> None:
    (tmp_path / "log").write_bytes(written)
    assert last_line(tmp_path / "log") == last


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert last_line(tmp_path / "log") == ""
