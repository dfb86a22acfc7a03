"""Whether this machine's clock can be right: it must not be behind what has happened already."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.settings import Settings


async def skew(settings: "Settings") -> timedelta:
    """Return by how much the clock is behind, at least; zero where nothing speaks against it.

    Compared with the installation of this program and, on another machine's server, with the start
    of its newest workflow.
    """
    installed = datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC)  # noqa: ASYNC240 (one stat)
    latest = max(installed, await _newest_start(settings) or installed)
    # Read last: what began while the server was asked does not mean that the clock is behind.
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
