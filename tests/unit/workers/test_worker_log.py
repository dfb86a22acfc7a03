"""`workers.worker_log`: a log on a full disk loses its lines, and nothing else."""

import logging
import os
from pathlib import Path

import pytest

from workers.worker_log import LosingFile


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
