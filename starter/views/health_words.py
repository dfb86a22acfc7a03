"""The lines of `health`. Pure: a document in, lines out."""

from collections.abc import Iterator

from starter.console.terminal import one_line
from starter.sessions.fleet_health import Health, QueueHealth, SessionHealth

_WIDTH = 160


def lines(health: Health) -> list[str]:
    """Return server, workers, disk, sessions, and at last what is not well."""
    found = [
        f"Temporal   {health.server}",
        f"Disk       {health.disk_free_bytes / 1e9:.1f} GB free",
    ]
    found += (line for queue in health.queues for line in _queue(queue, health))
    found += (line for session in health.sessions for line in _session(session))
    found += (f"PROBLEM    {one_line(each, _WIDTH)}" for each in health.problems)
    return found if health.problems else [*found, "all is well"]


def _queue(queue: QueueHealth, health: Health) -> Iterator[str]:
    alive = [each for each in queue.workers if each.is_alive]
    yield f"Queue      {queue.queue}: {len(alive)} workers, {queue.backlog} waiting"
    for each in queue.workers:
        seconds = round((health.at - each.last_seen).total_seconds())
        gone = "" if each.is_alive else ", gone"
        yield f"             {one_line(each.identity, _WIDTH)}, seen {max(seconds, 0)} s ago{gone}"


def _session(session: SessionHealth) -> Iterator[str]:
    build = f", build {session.build}" if session.build else ""
    yield f"Session    {session.session}: {session.phase}, last event {session.idle_s} s ago{build}"
    for each in session.waits_for_person:
        yield f"             waits for you: {one_line(each, _WIDTH)}"
    for each in session.waits_for_provider:
        yield f"             waits for {one_line(each, _WIDTH)}"
