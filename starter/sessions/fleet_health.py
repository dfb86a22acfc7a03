"""Whether server, workers, disk and open sessions are well: the document of `health --json`.

Pure: a look at the server and the free disk space in, the document out. The
limits are those of the alerts in `docker/alerts.yml`.

| not well                                                       |
|----------------------------------------------------------------|
| a role has no worker, or over 10 pieces of work wait for it    |
| a worker on this machine hangs                                 |
| less than 5 GB are free                                        |
| no worker answers for an open session                          |
| no worker of its build runs, or its code fails on its history  |
| an activity failed twice or more, and is tried again           |
| nothing happened for an hour, and it waits for no one          |
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from pydantic import BaseModel

from workers.telemetry.fleet import Fleet, OpenSession, PendingWork, QueueState
from workers.telemetry.fleet_findings import alive, idle, is_parked, waits_for_person

_ENOUGH_BYTES: Final = 5_000_000_000
_BACKLOG: Final = 10
_IDLE: Final = timedelta(hours=1)
_OFTEN: Final = 3
"""The attempt that runs or waits after two failures."""


class WorkerHealth(BaseModel, frozen=True, extra="forbid"):
    """One worker process at one queue."""

    identity: str
    """Its process, machine and build."""
    version: str
    """Its build of Blue Flame; empty if it does not say."""
    last_seen: datetime
    is_alive: bool
    """It asked for work within the last 90 seconds."""


class QueueHealth(BaseModel, frozen=True, extra="forbid"):
    """One task queue: a role's, or one host's own."""

    queue: str
    backlog: int
    """Work that no worker has taken yet."""
    workers: tuple[WorkerHealth, ...]


class SessionHealth(BaseModel, frozen=True, extra="forbid"):
    """One open session."""

    session: str
    build: str
    """The build that it is bound to; empty if to none."""
    phase: str
    """`unanswered` if no worker answers for it."""
    idle_s: int
    """Seconds since anything happened in it."""
    waits_for_person: tuple[str, ...]
    """`kind: subject`, for each decision."""
    waits_for_provider: tuple[str, ...]
    """`model until TIME: reason`, for each call."""
    problem: str
    """Why it does not progress; empty if it does, or waits for a person or a provider."""


class Health(BaseModel, frozen=True, extra="forbid"):
    """Everything at one moment."""

    schema_version: int = 1
    at: datetime
    is_well: bool
    problems: tuple[str, ...]
    server: str
    """Its `host:port`."""
    disk_free_bytes: int
    queues: tuple[QueueHealth, ...]
    sessions: tuple[SessionHealth, ...]


def health(fleet: Fleet, server: str, disk_free_bytes: int, hanging: Iterable[str] = ()) -> Health:
    """Judge one look.

    Args:
        fleet: what the server knows.
        server: its `host:port`.
        disk_free_bytes: for the data directory.
        hanging: what is said of each worker on this machine that hangs.
    """
    sessions = tuple(_session(each, fleet) for each in fleet.sessions)
    problems = [*_of_queues(fleet), *(f"workers: {each}" for each in hanging)]
    if disk_free_bytes < _ENOUGH_BYTES:
        problems.append(f"disk: only {disk_free_bytes / 1e9:.1f} GB are free; see `cleanup`")
    problems += [f"session {each.session}: {each.problem}" for each in sessions if each.problem]
    return Health(
        at=fleet.at,
        is_well=not problems,
        problems=tuple(problems),
        server=server,
        disk_free_bytes=disk_free_bytes,
        queues=tuple(_queue(each, fleet) for each in fleet.queues),
        sessions=sessions,
    )


def _of_queues(fleet: Fleet) -> Iterator[str]:
    for each in fleet.queues:
        is_own = "/" in each.queue
        if not alive(each, fleet) and (not is_own or each.backlog):
            what = f"host {each.queue.partition('/')[2]!r}" if is_own else f"role {each.queue!r}"
            yield f"workers: none of {what} is running; `up --detach` starts all roles"
        elif each.backlog > _BACKLOG:
            yield f"workers: {each.backlog} pieces of work wait in queue {each.queue!r}"


def _queue(queue: QueueState, fleet: Fleet) -> QueueHealth:
    well = alive(queue, fleet)
    workers = [
        WorkerHealth(
            identity=each.identity,
            version=each.version,
            last_seen=each.last_seen,
            is_alive=each in well,
        )
        for each in queue.pollers
    ]
    return QueueHealth(queue=queue.queue, backlog=queue.backlog, workers=tuple(workers))


def _session(session: OpenSession, fleet: Fleet) -> SessionHealth:
    waits = waits_for_person(session)
    parked = [each for each in session.pending if is_parked(each)]
    return SessionHealth(
        session=session.session,
        build=session.build,
        phase="unanswered" if session.view is None else session.view.phase,
        idle_s=round(idle(session, fleet).total_seconds()),
        waits_for_person=tuple(f"{wait.kind}: {wait.subject}" for wait in waits),
        waits_for_provider=tuple(map(_parked, parked)),
        problem=_problem(session, fleet, waits=bool(waits or parked)),
    )


def _parked(work: PendingWork) -> str:
    until = "" if work.again_at is None else f"{work.again_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{work.model or 'a model'} until {until}: {work.failure}"


def _problem(session: OpenSession, fleet: Fleet, *, waits: bool) -> str:
    if session.obstacle:
        return session.obstacle
    if session.view is None:
        return "no worker answers for it"
    failing = [each for each in session.pending if not is_parked(each) and each.attempt >= _OFTEN]
    if failing:
        worst = max(failing, key=lambda each: each.attempt)
        return f"{worst.activity} has failed {worst.attempt - 1} times: {worst.failure}"
    since = idle(session, fleet)
    if since >= _IDLE and not waits:
        minutes = round(since.total_seconds() / 60)
        return f"nothing has happened for {minutes} minutes; `trace` shows what runs"
    return ""
