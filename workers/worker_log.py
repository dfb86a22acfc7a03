"""The log of a worker process: one line per event, without text that looks like a secret.

Under systemd, where the error stream leads to the journal, each line begins with its priority
(`<4>`, see sd-daemon(3)) and has no time of its own: the journal keeps both.
"""

import logging
import os
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from typing import ClassVar, Final, TextIO

from workflows.policy.text.secret_patterns import without_secrets


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


_PRIORITIES: Final = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
)
"""The least level of each of syslog's priorities."""


class _ForJournal(logging.Formatter):
    """Puts the priority before each line of another form's text."""

    def __init__(self, form: logging.Formatter) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        priority = next((each for level, each in _PRIORITIES if record.levelno >= level), 7)
        lines = self._form.format(record).splitlines()
        return "\n".join(f"<{priority}>{line}" for line in lines)


def is_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether a stream leads to systemd's journal, by `JOURNAL_STREAM` (systemd.exec(5)).

    Args:
        stream: of this process.
        environment: the process's; a child whose stream leads elsewhere has the variable too.
    """
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


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


def write_log_to(
    stream: TextIO, form: logging.Formatter | None = None, *, to_journal: bool = False
) -> None:
    """Send all records from level INFO to `stream`.

    Args:
        stream: takes one line per record.
        form: makes the lines; None: as text.
        to_journal: mark the lines for systemd's journal.
    """
    handler = _CountingStream(stream)
    parts = "%(levelname)s %(name)s: %(message)s"
    text = _Redacting(parts if to_journal else f"%(asctime)s {parts}")
    lines = text if form is None else form
    handler.setFormatter(_ForJournal(lines) if to_journal else lines)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
