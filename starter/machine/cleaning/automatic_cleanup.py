"""The automatic clean-up, once a day, while a process keeps server and workers running.

It removes only sessions whose work is proven merged, after the retention. If the data directory
then still uses more than its budget, sessions are removed earlier, in a few steps. Everything else
stays until a person runs `cleanup`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workflows.policy.text.log_events import log_event

if TYPE_CHECKING:
    from starter.machine.cleaning.cleanup_request import Cleaned
    from workers.settings import Settings

_log = logging.getLogger("workers")
_EVERY: Final = timedelta(days=1)
_LOOK_SECONDS: Final = 600
_STAMP: Final = "cleaned"
_SHARES: Final = (1, 0.5, 0.25, 0)
"""Of the retention: the ages that are tried while the budget is exceeded."""

Clean = Callable[["Settings", timedelta], Awaitable["Cleaned"]]


async def keep_clean(settings: "Settings", server_ready: asyncio.Event) -> None:
    """Clean up when a day has passed since the last time, for ever.

    Args:
        settings: say where, the retention and the budget.
        server_ready: set while a server answers.
    """
    while True:
        await server_ready.wait()
        try:
            if await asyncio.to_thread(is_due, settings.data_dir, time.time()):
                await clean_within_budget(settings, _clean)
        except Exception as error:  # noqa: BLE001 (tidying must never end server and workers)
            log_event(_log, "cleanup_failed", reason=error)
        await asyncio.sleep(_LOOK_SECONDS)


def is_due(data_dir: Path, now: float) -> bool:
    """Tell whether a day has passed since the last clean-up, and note that one begins.

    A new data directory has nothing to remove: its first clean-up is due a day later.
    """
    stamp = data_dir / _STAMP
    with suppress(FileNotFoundError):
        if now - stamp.stat().st_mtime < _EVERY.total_seconds():
            return False
        stamp.touch()
        return True
    stamp.touch()
    return False


async def clean_within_budget(settings: "Settings", clean: Clean) -> None:
    """Remove what is older than the retention, then younger sessions until the budget is kept.

    Args:
        settings: say the retention and the budget.
        clean: removes merged sessions that ended so long ago.
    """
    used = 0
    for age in _ages(settings.retention_days):
        cleaned = await clean(settings, age)
        if gone := len(cleaned.host.sessions):
            log_event(_log, "cleaned_up", sessions=gone, bytes=cleaned.size_bytes)
        if (used := cleaned.host.kept_bytes) <= settings.disk_bytes:
            return
    log_event(_log, "disk_budget_exceeded", bytes=used, limit=settings.disk_bytes)


def _ages(retention_days: int) -> Iterator[timedelta]:
    retention = timedelta(days=retention_days)
    yield from dict.fromkeys(retention * share for share in _SHARES)


async def _clean(settings: "Settings", age: timedelta) -> "Cleaned":
    from starter.machine.cleaning.cleanup_request import clean_up
    from workers.temporal.connection import connect

    client = await connect(settings)
    return await clean_up(client, settings, age, dry_run=False, only_merged=True)
