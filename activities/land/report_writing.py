"""Writing the report of a session that no command followed to its end."""

from collections.abc import Awaitable, Callable

from temporalio import activity

from workflows.contracts.land_contracts import ReportWritten, WriteReport


class ReportActivities:
    """Activity `reports.write`, in role `land`: reports are in the person's data directory."""

    def __init__(self, write: Callable[[WriteReport], Awaitable[str]]) -> None:
        """Use `write`, which returns why there is no report, or an empty text."""
        self._write = write

    @activity.defn(name="reports.write")
    async def write(self, request: WriteReport) -> ReportWritten:
        """Write a session's report, unless there is one from after its end."""
        return ReportWritten(fault=(await self._write(request))[:500])
