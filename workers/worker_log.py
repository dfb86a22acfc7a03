"""The log of a worker process: one line per event, without text that looks like a secret."""

import logging
from logging.handlers import RotatingFileHandler
from typing import ClassVar, TextIO

from workflows.policy.text.secret_patterns import without_secrets


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class LosingFile(RotatingFileHandler):
    """A log file that loses lines on a full disk, without reporting it on the error stream."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the base class's name)
        """Ignore a failed write: a log must neither stop nor flood the program that it is about."""


class _CountingStream(logging.StreamHandler[TextIO]):
    """Counts the lines that its stream refuses, and reports them nowhere else."""

    lost: ClassVar[int] = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 (the base class's)
        """Count a failed write."""
        _CountingStream.lost += 1


def lost_lines() -> int:
    """Return how many lines of this process's log could not be written."""
    return _CountingStream.lost


def write_log_to(stream: TextIO, form: logging.Formatter | None = None) -> None:
    """Send all records from level INFO to `stream`.

    Args:
        stream: takes one line per record.
        form: makes the lines; None: as text.
    """
    handler = _CountingStream(stream)
    text = _Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(text if form is None else form)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
