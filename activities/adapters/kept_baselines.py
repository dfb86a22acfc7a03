"""Keeps the gates' results on bases as files, under `baselines/` of a host's data."""

import contextlib
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from workflows.domain.gate import GateReport

DAY_SECONDS: Final = 24 * 3600.0
"""How long a report counts. The machine can change in ways that the key does not show."""


class LocalBaselines:
    """Reports in a folder. Implements `BaselineStore`."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Take the folder, which need not exist, and a clock in seconds since the epoch."""
        self._folder = folder
        self._clock = clock

    def find(self, key: str) -> GateReport | None:
        """Return the report under a key.

        Returns:
            None: there is none, it is older than a day, or an earlier version wrote it.
        """
        path = self._path(key)
        try:
            is_old = not 0 <= self._clock() - path.stat().st_mtime <= DAY_SECONDS
            return None if is_old else GateReport.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None

    def keep(self, key: str, report: GateReport) -> None:
        """Keep a report, and remove those that are too old."""
        path = self._path(key)
        half = path.with_name(f".{key}.{secrets.token_hex(4)}")
        now = self._clock()
        with contextlib.suppress(OSError):  # then the gates run again, which only costs time
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_old(now)
            half.write_text(report.model_dump_json())
            os.utime(half, (now, now))
            half.replace(path)

    def _remove_old(self, now: float) -> None:
        for each in self._folder.iterdir():
            if now - each.stat().st_mtime > DAY_SECONDS:
                each.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
