"""Log files that never fill a disk: two files, the older of which is dropped.

For a child process's output as it arrives: unbuffered, in chunks of bytes that may end anywhere.
The standard rotating handler takes whole records of text; a process's own log uses that handler
(`workers.worker_log`).
"""

import contextlib
import os
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 5_000_000
_TAIL_BYTES: Final = 4_000
_LINE_CHARS: Final = 300


def last_line(path: Path) -> str:
    """Return the last line written to a log, cut; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip()[:_LINE_CHARS] for line in reversed(lines) if line.strip()), "")


class BoundedLog:
    """Append to a file; at `max_bytes` it becomes `<name>.1`, and a new file begins."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        # Unbuffered: what a full disk refuses is lost at once, instead of being retried at the end.
        self._file = path.open("ab", buffering=0)
        self._size = self._file.tell()

    def write(self, data: bytes) -> None:
        """Append `data`; on a full disk only log lines are lost."""
        try:
            if self._size + len(data) > self._max_bytes and self._size > 0:
                self._turn()
            self._file.write(data)
            self._size += len(data)
        except OSError:
            # A failing log must not stop the program that it is about.
            return

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _turn(self) -> None:
        # The old file stays open until there is a new one: if that fails, the next write tries
        # again. By then the old file may have its new name already.
        with contextlib.suppress(FileNotFoundError):
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        old, self._file = self._file, self._path.open("ab", buffering=0)
        old.close()
        self._size = 0
