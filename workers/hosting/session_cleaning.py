"""Removes what ended sessions left on this host: a program that reads its request from stdin.

It is a process of its own so that, if started as root, it becomes the host's user for good before
it touches anything, and leaves nothing that the worker could not open. The caller says which
sessions are open; this program asks no server.

The request says whether a session is

| state                                         | what is done                                  |
|-----------------------------------------------|-----------------------------------------------|
| open, or a part of it still runs              | kept                                          |
| ended after `before`                          | kept                                          |
| ended before that                             | removed                                       |
| not known to the server (any more)            | removed if it began before `before`, and more |
|                                               | than `_FORGOTTEN` ago; kept if `only_ended`   |
| not a valid session id                        | kept                                          |

What cannot be removed is listed in the report, and the rest is removed all the same.
"""

import asyncio
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import AwareDatetime, BaseModel

from workers.hosting.host_user import become_host_user
from workers.settings import Settings

if TYPE_CHECKING:
    from activities.adapters.git.repository_cleanup import Cleanup, Leftover

_FORGOTTEN: Final = timedelta(days=7)
"""A server keeps closed sessions at least this long, unless configured otherwise."""
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH: Final = 26
_TIME_LENGTH: Final = 10
_QUIET: Final = timedelta(minutes=1)
"""What was used more recently than this may belong to a session that is just starting."""
_STARTING: Final = timedelta(days=1)
"""The same, if an open session has not yet named a base: its import may take long."""


class CleaningRequest(BaseModel, frozen=True, extra="forbid"):
    """What is known about the sessions, and what to remove."""

    now: AwareDatetime
    before: AwareDatetime
    """What ended, or was last used, before this time may be removed."""
    open: frozenset[str]
    """Sessions that run, wholly or in part."""
    ended: dict[str, AwareDatetime]
    """Sessions that the server knows to have ended, with the time."""
    only_ended: bool = False
    """Keep every session that is not in `ended`, however old it is."""
    blobs_before: AwareDatetime
    """Blobs written after this time may belong to an open session."""
    dry_run: bool = False


class CleaningReport(BaseModel, frozen=True, extra="forbid"):
    """What was removed, or would be."""

    sessions: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Sessions with data on this host's disk that stay."""
    kept_bytes: int = 0
    """What the host's data and the blobs use on disk afterwards."""
    worktrees: int = 0
    worktree_bytes: int = 0
    refs: int = 0
    repositories: int = 0
    repository_bytes: int = 0
    """By how much repositories became smaller; negative if they grew. A dry run counts nothing."""
    snapshots: int = 0
    snapshot_bytes: int = 0
    """Sizes of set-ups that no worktree uses and that were not used recently."""
    blobs: int = 0
    blob_bytes: int = 0
    busy: tuple[str, ...] = ()
    """What a process holds, and was therefore kept."""
    failed: tuple[str, ...] = ()
    """What could not be removed, each with the reason."""


def is_removable(session: str, request: CleaningRequest) -> bool:
    """Tell whether a session's files may be removed; see the table above."""
    if session in request.open:
        return False
    if session in request.ended:
        return request.ended[session] < request.before
    if request.only_ended:
        return False
    began = began_at(session)
    return began is not None and began < min(request.before, request.now - _FORGOTTEN)


def began_at(session: str) -> datetime | None:
    """Return when a session was started, from its id; None if the id is invalid."""
    if len(session) != _ID_LENGTH or not set(session) <= set(_ALPHABET):
        return None
    milliseconds = 0
    for character in session[:_TIME_LENGTH]:
        milliseconds = milliseconds * len(_ALPHABET) + _ALPHABET.index(character)
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _may_be_open(session: str, request: CleaningRequest) -> bool:
    """Tell whether a session is open, or may have begun too late to be known."""
    if session in request.open or session in request.ended:
        return session in request.open
    began = began_at(session)
    return began is not None and began >= request.now - _STARTING


async def clean(settings: Settings, request: CleaningRequest) -> CleaningReport:
    """Remove what the request names, or count it."""
    from activities.adapters.blob_expiry import collect
    from activities.adapters.git.git_command import Git
    from activities.adapters.git.repository_cleanup import Cleanup, repositories, size_of
    from workers.hosting.host_wiring import git_program

    git = Git(git_program())
    report, failed = CleaningReport(), list[str]()
    for key in repositories(settings.host_dir):
        cleanup = Cleanup(git, settings.host_dir, key)
        with _listed(failed, f"repository {key}"):
            report = await _worktrees(cleanup, request, report, failed)
            report = await _traces(cleanup, request, report, failed)
            report = await _refs(cleanup, request, report)
        with _listed(failed, f"repository {key}"):
            report = await _objects(cleanup, key, request, report)
    with _listed(failed, "set-ups"):
        report = await asyncio.to_thread(_snapshots, settings.host_dir, request, report, failed)
    with _listed(failed, "blobs"):
        before = min(request.before, request.blobs_before, *_beginnings(report.kept))
        blobs = collect(settings.store_dir, before, dry_run=request.dry_run)
        report = _with(report, blobs=blobs.blobs, blob_bytes=blobs.size_bytes)
    kept = await asyncio.to_thread(lambda: size_of(settings.host_dir) + size_of(settings.store_dir))
    return _with(report, failed=tuple(dict.fromkeys(failed)), kept_bytes=kept)


def _beginnings(sessions: Sequence[str]) -> list[datetime]:
    """Return the times from which blobs may belong to these sessions."""
    return [began - _STARTING for began in map(began_at, sessions) if began is not None]


@contextmanager
def _listed(failed: list[str], what: str) -> Generator[None]:
    """List what the block could not remove, instead of failing."""
    from activities.ports.git_errors import GitError

    try:
        yield
    except (OSError, GitError) as error:
        failed.append(f"{what}: {' '.join(str(error).split())[:300]}")


async def _refs(
    cleanup: "Cleanup", request: CleaningRequest, report: CleaningReport
) -> CleaningReport:
    refs = await cleanup.refs()
    doomed = {session: refs[session] for session in refs if is_removable(session, request)}
    if not request.dry_run:
        for each in doomed.values():
            await cleanup.delete_refs(each)
    kept = tuple(sorted(refs.keys() - doomed.keys()))
    return _with(report, sessions=tuple(doomed), refs=sum(map(len, doomed.values())), kept=kept)


def _snapshots(
    data: Path, request: CleaningRequest, report: CleaningReport, failed: list[str]
) -> CleaningReport:
    """Remove the results of set-ups that were last used before the retention."""
    from activities.adapters.snapshots import expiry

    untouched = min(request.before, request.now - _QUIET).timestamp()
    used = expiry.used_places(data)
    for place in expiry.all_snapshots(data):
        if expiry.used_at(place) >= untouched or str(place.relative_to(data)) in used:
            continue
        size = expiry.size_of(place)
        name = f"set-up {place.parent.name[:16]}"
        with _listed(failed, name):
            if request.dry_run or expiry.remove_unused(data, place):
                report = _with(report, snapshots=1, snapshot_bytes=size)
            else:
                report = _with(report, busy=(name,))
    return report


async def _worktrees(
    cleanup: "Cleanup", request: CleaningRequest, report: CleaningReport, failed: list[str]
) -> CleaningReport:
    for left in cleanup.worktrees():
        if is_removable(left.session, request):
            with _listed(failed, f"worktree {left.name}"):
                report = await _worktree(cleanup, left, request, report)
    return report


async def _traces(
    cleanup: "Cleanup", request: CleaningRequest, report: CleaningReport, failed: list[str]
) -> CleaningReport:
    """Remove the locks of worktrees that are gone. They are not counted."""
    from activities.adapters.git.repository_cleanup import BusyError

    for left in cleanup.traces():
        if not request.dry_run and is_removable(left.session, request):
            with _listed(failed, f"lock {left.name}"):
                try:
                    await cleanup.remove_worktree(left.name)
                except BusyError:
                    report = _with(report, busy=(f"lock {left.name}",))
    return report


async def _worktree(
    cleanup: "Cleanup", left: "Leftover", request: CleaningRequest, report: CleaningReport
) -> CleaningReport:
    from activities.adapters.git.repository_cleanup import BusyError

    try:
        if not request.dry_run:
            await cleanup.remove_worktree(left.name)
    except BusyError:
        return _with(report, busy=(f"worktree {left.name}",))
    size = left.size_bytes
    return _with(report, sessions=(left.session,), worktrees=1, worktree_bytes=size)


async def _objects(
    cleanup: "Cleanup", key: str, request: CleaningRequest, report: CleaningReport
) -> CleaningReport:
    """Remove a repository without sessions; in any other, remove unreferenced objects.

    An open session may be writing objects at this moment, so its objects are left alone. So are
    those of one that began since the open ones were listed: git does not write what it finds in a
    pack, even if nothing refers to it yet.
    """
    from activities.adapters.git.repository_cleanup import BusyError

    if request.dry_run or any(_may_be_open(each, request) for each in await cleanup.refs()):
        return report
    is_idle = not request.open
    age = _QUIET if is_idle else _STARTING
    untouched = min(request.before, request.now - age)
    try:
        if is_idle and (size := await cleanup.remove_repository(untouched)):
            return _with(report, repositories=1, repository_bytes=size)
        size = await cleanup.prune(request.now - age, is_idle=is_idle)
        return _with(report, repository_bytes=size)
    except BusyError:
        return _with(report, busy=(f"repository {key}",))


def _with(
    report: CleaningReport,
    sessions: Sequence[str] = (),
    busy: Sequence[str] = (),
    failed: Sequence[str] = (),
    kept: Sequence[str] = (),
    **more: int,
) -> CleaningReport:
    """Return the report with more in it; names stay sorted and unique."""
    facts = dict(report)
    facts |= {name: facts[name] + number for name, number in more.items()}
    facts["sessions"] = tuple(sorted({*report.sessions, *sessions}))
    facts["kept"] = tuple(sorted({*report.kept, *kept}))
    facts["busy"] = (*report.busy, *busy)
    facts["failed"] = (*report.failed, *failed)
    return CleaningReport.model_validate(facts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read a request from the standard input, carry it out, and write the report."""
    arguments = sys.argv[1:] if arguments is None else arguments
    settings = Settings.read()
    become_host_user(settings, "workers.hosting.session_cleaning", arguments)
    request = CleaningRequest.model_validate_json(sys.stdin.buffer.read())
    report = asyncio.run(clean(settings, request))
    sys.stdout.write(f"{report.model_dump_json()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
