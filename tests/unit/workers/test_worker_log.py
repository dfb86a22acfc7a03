"""`workers.worker_log`: a log on a full disk loses its lines, and nothing else."""

import io
import logging
import os
from pathlib import Path

import pytest

from workers.worker_log import LosingFile, is_journal, write_log_to


def test_a_full_disk_is_not_told_on_the_error_stream(capsys: pytest.CaptureFixture[str]) -> None:
    file = LosingFile(Path("/dev/full"))
    record = logging.LogRecord("workers", logging.WARNING, __file__, 1, "lost", (), None)
    file.handle(record)
    stream = file.stream
    assert stream is not None
    with pytest.raises(OSError, match="No space left"):
        stream.flush()
    with Path(os.devnull).open("a") as void:
        os.dup2(void.fileno(), stream.fileno())
    file.close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("level", "priority"),
    [(logging.DEBUG, 7), (logging.INFO, 6), (logging.WARNING, 4), (logging.ERROR, 3)],
)
def test_a_journal_gets_the_priority_of_each_line_and_no_time(level: int, priority: int) -> None:
    root = logging.getLogger()
    before, root.handlers[:] = root.handlers[:], []
    stream = io.StringIO()
    try:
        write_log_to(stream, to_journal=True)
        root.handlers[0].handle(
            logging.LogRecord("workers.x", level, __file__, 1, "one\n%s", ("two",), None)
        )
    finally:
        root.handlers[:] = before
    name = logging.getLevelName(level)
    assert stream.getvalue() == f"<{priority}>{name} workers.x: one\n<{priority}>two\n"


def test_a_stream_is_the_journal_if_systemd_names_it(tmp_path: Path) -> None:
    place = tmp_path / "stream"
    with place.open("w") as stream:
        found = place.stat()
        assert is_journal(stream, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"})
        assert not is_journal(stream, {"JOURNAL_STREAM": f"{found.st_dev}:1"})
        assert not is_journal(stream, {})
    assert not is_journal(io.StringIO(), {"JOURNAL_STREAM": "1:2"})
