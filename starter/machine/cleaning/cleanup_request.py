"""Finds out from the server what may be cleaned up; a process with the host's own rights does it.

Nothing of an open session is removed. The server's list is completed by the ids on disk, which
contain their creation time (`workers.hosting.session_cleaning` has the rules).
"""

import contextlib
import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from pydantic import BaseModel
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from starter.machine.cleaning.ended_histories import delete_earlier_runs, delete_histories
from starter.machine.cleaning.merged_work import unproven
from starter.machine.helper_processes import ask
from workers.backups.backup_lock import alone
from workers.hosting.session_cleaning import (
    CleaningReport,
    CleaningRequest,
    began_at,
    is_removable,
)
from workers.server.supervisor import read_state

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from workers.settings import Settings

_PREFIX: Final = "session/"
_LEFT_BEHIND: Final = frozenset({"SessionLedger", "SessionNotifier", "PullRequests"})
_REPORTING: Final = "it has ended, and its report is written in some seconds; clean up again then"
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
    reports: int = 0
    kept: dict[str, str] = {}
    """Why each other session stays, by its id."""
    histories: int = 0
    """Workflows that the bundled server forgets; 0 on any other server."""

    @property
    def size_bytes(self) -> int:
        """The number of freed bytes."""
        host = self.host
        kept = host.worktree_bytes + host.repository_bytes + host.snapshot_bytes
        return kept + host.blob_bytes + self.log_bytes


async def clean_up(
    client: Client,
    settings: "Settings",
    older_than: timedelta,
    *,
    dry_run: bool,
    only_merged: bool = False,
) -> Cleaned:
    """Remove what sessions left that ended before `older_than` ago, or count it.

    Args:
        client: of the server that the sessions of the data directory use.
        settings: of this machine.
        older_than: the least time since their end.
        dry_run: remove nothing.
        only_merged: keep every session whose work is not proven merged.

    Raises:
        CommandError: the cleaning process failed, and removed nothing more.
        DataInUseError: a backup or another clean-up runs; a dry run does not mind.
    """
    now = datetime.now(UTC)
    wish = _Wish(now, now - older_than, dry_run=dry_run, only_merged=only_merged)
    with contextlib.nullcontext() if dry_run else alone(settings.data_dir):
        return await _cleaned(client, settings, wish)


async def _cleaned(client: Client, settings: "Settings", wish: "_Wish") -> Cleaned:
    found = await _found(client, wish)
    doubts: dict[str, str] = {}
    if wish.only_merged:
        due = [
            session
            for session, end in found.ended.items()
            if end < wish.before and session not in found.open
        ]
        doubts = await unproven(client, due)
    request = _request(found, wish, doubts)
    report = await ask("workers.hosting.session_cleaning", settings, request, CleaningReport)
    reports = _reports(settings, request)
    histories = 0
    if not settings.has_external_server:
        gone = {each for each in request.ended if is_removable(each, request)}
        histories = await delete_histories(client, gone, wish.before, dry_run=wish.dry_run)
        if not wish.dry_run:
            await delete_earlier_runs(client, wish.before)
    logs = _logs(settings, wish.before, dry_run=wish.dry_run)
    return Cleaned(
        dry_run=wish.dry_run,
        before=wish.before,
        open_sessions=len(request.open),
        host=report,
        logs=len(logs),
        log_bytes=sum(logs),
        reports=reports,
        kept=_kept(found, wish.before, doubts, report),
        histories=histories,
    )


class _Wish(NamedTuple):
    """What the caller asks for."""

    now: datetime
    before: datetime
    dry_run: bool
    only_merged: bool


class _Found(NamedTuple):
    """What the server knows."""

    running: "Sequence[WorkflowExecution]"
    ended: dict[str, datetime]
    """Sessions that have ended, with the time."""

    @property
    def open(self) -> frozenset[str]:
        """The sessions of which anything runs."""
        return frozenset(_session(each) for each in self.running if each.id.startswith(_PREFIX))


async def _found(client: Client, wish: _Wish) -> _Found:
    # Ended sessions first: one that ends in between is found open, and kept.
    query = (
        'WorkflowType = "SessionWorkflow" AND ExecutionStatus != "Running" '
        'AND ExecutionStatus != "ContinuedAsNew"'
    )
    ended = {
        _session(each): each.close_time.astimezone(UTC)
        async for each in client.list_workflows(query)
        if each.close_time is not None
    }
    running = [each async for each in client.list_workflows('ExecutionStatus = "Running"')]
    if wish.only_merged:
        # No person looks at it: a list that lags behind must not end the ledger of an open session.
        return _Found(running, ended)
    left = await really_left(client, left_behind(running))
    for each in left:
        if not wish.dry_run:
            await client.get_workflow_handle(each).signal("finish")
    return _Found([each for each in running if each.id not in left], ended)


def _request(found: _Found, wish: _Wish, doubts: "Mapping[str, str]") -> CleaningRequest:
    starts = [each.start_time.astimezone(UTC) for each in found.running]
    # A continuation has a later start; the session's id holds the first one.
    kept = [name for name, end in found.ended.items() if end >= wish.before or name in doubts]
    starts += filter(None, map(began_at, (*map(_session, found.running), *kept)))
    return CleaningRequest(
        now=wish.now,
        before=wish.before,
        open=found.open,
        ended={name: end for name, end in found.ended.items() if name not in doubts},
        only_ended=wish.only_merged,
        blobs_before=min(starts) - _BEFORE_ITS_START if starts else wish.now - _STARTING,
        dry_run=wish.dry_run,
    )


def _kept(
    found: _Found, before: datetime, doubts: "Mapping[str, str]", report: CleaningReport
) -> dict[str, str]:
    """Return why each session stays that is on this machine's disk, or known to the server."""
    unknown = "the server does not know how it ended; it goes with `cleanup` after a week"
    reasons = dict.fromkeys(report.kept, unknown)
    for name, end in found.ended.items():
        if end >= before:
            reasons[name] = f"it ended at {end:%Y-%m-%d %H:%M} UTC, and is not old enough"
    reasons |= doubts
    reasons |= dict.fromkeys(found.open, "it is open, or a part of it still runs")
    reasons |= dict.fromkeys(reporting(found.running, found.ended), _REPORTING)
    return dict(sorted(reasons.items()))


def _reports(settings: "Settings", request: CleaningRequest) -> int:
    """Remove the reports of sessions that go, and return how many."""
    doomed = [
        path
        for path in settings.data_dir.glob("reports/*.html")
        if is_removable(path.stem, request)
    ]
    if not request.dry_run:
        for path in doomed:
            path.unlink(missing_ok=True)
    return len(doomed)


class Running(Protocol):
    """One running workflow, as the server lists it."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def workflow_type(self) -> str:
        """Its class."""
        ...


def left_behind(running: "Sequence[Running]") -> frozenset[str]:
    """Return the ids of what outlived terminated sessions, of which nothing else runs."""
    beside = {each.id for each in running if each.workflow_type in _LEFT_BEHIND}
    others = {_session(each) for each in running if each.id not in beside}
    return frozenset(
        each.id for each in running if each.id in beside and _session(each) not in others
    )


async def really_left(client: Client, left: "Collection[str]") -> frozenset[str]:
    """Return those whose session the server calls ended.

    Its list may lack an open one, for example one that is just continuing as new, and without its
    ledger that could pay for no further call.
    """
    found: set[str] = set()
    for each in left:
        session = client.get_workflow_handle("/".join(each.split("/")[:2]))
        try:
            is_open = (await session.describe()).status is WorkflowExecutionStatus.RUNNING
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            is_open = False
        if not is_open:
            found.add(each)
    return frozenset(found)


def reporting(running: "Sequence[Running]", ended: "Collection[str]") -> frozenset[str]:
    """Return the ended sessions of which only the writing of the report runs."""
    others = {_session(each) for each in running if each.workflow_type != "SessionReport"}
    return frozenset(map(_session, running)) & frozenset(ended) - others


def _session(execution: Running) -> str:
    return execution.id.removeprefix(_PREFIX).split("/")[0]


def _logs(settings: "Settings", before: datetime, *, dry_run: bool) -> list[int]:
    """Remove logs that were not written since; return their sizes."""
    # A log that a process may hold open is emptied instead; otherwise its output would be lost.
    is_up = read_state(settings) is not None
    sizes: list[int] = []
    for path in sorted(settings.logs_dir.glob("*")):
        with suppress(FileNotFoundError):
            status = path.lstat()
            is_held = is_up and path.suffix != ".1"
            is_new = datetime.fromtimestamp(status.st_mtime, UTC) >= before
            if is_new or (is_held and status.st_size == 0):
                continue
            sizes.append(status.st_blocks * 512)
            if dry_run:
                continue
            if is_held:
                os.truncate(path, 0)  # its writer appends
            else:
                path.unlink()
    return sizes
