"""A backup and a clean-up of one data directory never run at the same time.

A clean-up repacks repositories, and removes what a backup has listed but not copied yet.
"""

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Final

from activities.file_locks import FileLock

_FILE: Final = "backup.lock"


class DataInUseError(Exception):
    """A backup or a clean-up already runs here."""


@contextlib.contextmanager
def alone(data_dir: Path) -> Generator[None]:
    """Keep every other backup and clean-up of a data directory from beginning.

    Raises:
        DataInUseError: one already runs.
        OSError: the directory cannot be written.
    """
    lock = FileLock(data_dir / _FILE)
    if not lock.try_acquire():
        raise DataInUseError(
            f"a backup or a clean-up of {str(data_dir)!r} is already running; try again after it"
        )
    try:
        yield
    finally:
        lock.release()
