"""Checks this machine's clock: it must not be behind events that have already happened."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.settings import Settings


async def skew(settings: "Settings") -> timedelta:
    """Return the least by which the clock is behind; zero if nothing shows that it is.

    Compared with the installation of this program and, on another machine's server, with the start
    of its newest workflow.
    """
    installed = datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC)  # noqa: ASYNC240 (one stat)
    latest = max(installed, await _newest_start(settings) or installed)
    # Read last, so that a workflow that starts during the query does not count.
    return max(latest - datetime.now(UTC), timedelta(0))


async def _newest_start(settings: "Settings") -> datetime | None:
    from temporalio.service import RPCError

    from workers.temporal.connection import connect
    from workers.temporal.temporal_errors import TemporalUnavailableError

    if not settings.has_external_server:
        return None
    try:
        client = await connect(settings, timedelta(seconds=5))
        async for newest in client.list_workflows(limit=1):
            return newest.start_time
    except (RPCError, TemporalUnavailableError):
        return None
    return None
