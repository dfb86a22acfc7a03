"""Finds out from the server what may be cleaned up; a process with the host's own rights does it.

Nothing of an open session is removed. The server's list is completed by the ids on disk, which
contain their creation time (`workers.hosting.session_cleaning` has the rules).
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel
from temporalio.client import Client, WorkflowExecution

from starter.machine.ended_histories import delete_histories
from starter.machine.helper_processes import ask
from workers.hosting.session_cleaning import (
    CleaningReport,
    CleaningRequest,
    began_at,
    is_removable,
)
from workers.server.supervisor import read_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workers.settings import Settings

_PREFIX: Final = "session/"
_LEFT_BEHIND: Final = frozenset({"SessionLedger", "SessionNotifier"})
_BEFORE_ITS_START: Final = timedelta(days=1)
"""A session's input is stored before the session starts, and clocks differ."""
_STARTING: Final = timedelta(minutes=1)
"""The same, if no session is open that could have begun on another machine."""


class Cleaned(BaseModel, frozen=True, extra="forbid"):
    """What was removed, or would be; the document of `cleanup --json`."""

    schema_version: int = 1
    dry_run: bool
    before: datetime
    open_sessions: int
    host: CleaningReport
    logs: int
    log_bytes: int
    histories: int = 0
    """Workflows that the bundled server forgets; 0 on any other server."""

    @property
    def size_bytes(self) -> int:
        """The number of freed bytes."""
        host = self.host
        kept = host.worktree_bytes + host.repository_bytes + host.snapshot_bytes
        return kept + host.blob_bytes + self.log_bytes


async def clean_up(
    client: Client, settings: "Settings", older_than: timedelta, *, dry_run: bool
) -> Cleaned:
    """Remove what sessions left that ended before `older_than` ago, or count it.

    Raises:
        CommandError: the cleaning process failed, and removed nothing more.
    """
    now = datetime.now(UTC)
    before = now - older_than
    request = await _request(client, now, before, dry_run=dry_run)
    report = await ask("workers.hosting.session_cleaning", settings, request, CleaningReport)
    histories = 0
    if not settings.has_external_server:
        gone = {each for each in request.ended if is_removable(each, request)}
        histories = await delete_histories(client, gone, dry_run=dry_run)
    logs = _logs(settings, before, dry_run=dry_run)
    return Cleaned(
        dry_run=dry_run,
        before=before,
        open_sessions=len(request.open),
        host=report,
        logs=len(logs),
        log_bytes=sum(logs),
        histories=histories,
    )


async def _request(
    client: Client, now: datetime, before: datetime, *, dry_run: bool
) -> CleaningRequest:
    # Ended sessions first: one that ends in between is found open, and kept.
    query = 'WorkflowType = "SessionWorkflow" AND ExecutionStatus != "Running"'
    ended = {
        _session(each): each.close_time.astimezone(UTC)
        async for each in client.list_workflows(query)
        if each.close_time is not None
    }
    running = [each async for each in client.list_workflows('ExecutionStatus = "Running"')]
    left = _left_behind(running)
    for each in left:
        if not dry_run:
            await client.get_workflow_handle(each).signal("finish")
    running = [each for each in running if each.id not in left]
    starts = [each.start_time.astimezone(UTC) for each in running]
    # A continuation has a later start; the session's id holds the first one.
    kept = [session for session, end in ended.items() if end >= before]
    starts += filter(None, map(began_at, (*map(_session, running), *kept)))
    return CleaningRequest(
        now=now,
        before=before,
        open=frozenset(_session(each) for each in running if each.id.startswith(_PREFIX)),
        ended=ended,
        blobs_before=min(starts) - _BEFORE_ITS_START if starts else now - _STARTING,
        dry_run=dry_run,
    )


def _left_behind(running: "Sequence[WorkflowExecution]") -> frozenset[str]:
    """Return ledgers and notifiers of terminated sessions: nothing else of the session runs."""
    beside = {each.id for each in running if each.workflow_type in _LEFT_BEHIND}
    others = {_session(each) for each in running if each.id not in beside}
    return frozenset(
        each.id for each in running if each.id in beside and _session(each) not in others
    )


def _session(execution: WorkflowExecution) -> str:
    return execution.id.removeprefix(_PREFIX).split("/")[0]


def _logs(settings: "Settings", before: datetime, *, dry_run: bool) -> list[int]:
    """Remove logs that were not written since; return their sizes."""
    # A log that a process holds open stays; otherwise its output would be lost.
    pattern = "*.1" if read_state(settings) is not None else "*"
    sizes: list[int] = []
    for path in sorted(settings.logs_dir.glob(pattern)):
        with suppress(FileNotFoundError):
            status = path.lstat()
            if datetime.fromtimestamp(status.st_mtime, UTC) < before:
                sizes.append(status.st_blocks * 512)
                if not dry_run:
                    path.unlink()
    return sizes
