"""`workers.bounded_log`: never more than two files of the allowed size."""

from pathlib import Path

from workers.bounded_log import BoundedLog


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
