"""A worker process: `python -m workers --roles workflows,models,host,land`.

It reads the settings once, drops root if the role requires it, and serves until SIGTERM.
"""

import argparse
import asyncio
import gc
import os
import resource
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from activities.child_watcher import watch_by_pidfd
from workers.hosting.cgroup_delegation import DelegationError, claim, place_of
from workers.hosting.data_version import DataVersionError, read_version
from workers.hosting.host_user import become_host_user
from workers.hosting.privileges import PrivilegeError
from workers.roles import Role, UnknownRoleError, parse_roles
from workers.settings import Settings
from workers.worker_log import is_journal, write_log_to

if TYPE_CHECKING:
    import logging

    from workers.worker_serving import Code


_OPEN_FILES = 1 << 16
_REFUSALS = (UnknownRoleError, ValueError, PrivilegeError, DelegationError, DataVersionError)
"""Errors whose text tells a person what to change."""


def main(arguments: Sequence[str] | None = None, code: "Code | None" = None) -> int:
    """Run a worker process and return its exit code: 0 after a graceful end, 2 for wrong usage.

    Args:
        arguments: those of the command line; None: the process's own.
        code: what the roles run; None: `workers.wiring`.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(arguments)
    try:
        roles = parse_roles(options.roles)
        settings = Settings.read()
        read_version(settings.data_dir)
        to_journal = is_journal(sys.stderr, os.environ)
        write_log_to(sys.stderr, _form(settings), to_journal=to_journal)
        _claim_cgroup(roles, settings)
        _drop_root(roles, settings, arguments)
    except _REFUSALS as error:
        _say(f"error: {error}")
        return 2
    _allow_descriptors()
    watch_by_pidfd()
    asyncio.run(_serve(settings, roles, code, is_supervised=options.supervised))
    return 0


def _form(settings: Settings) -> "logging.Formatter | None":
    """Return what makes the lines of the log; None: the usual text."""
    if settings.log == "text":
        return None
    from workers.telemetry.json_log import JsonLines

    return JsonLines()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers", description="A worker process.")
    parser.add_argument("--roles", required=True, help=f"comma-separated: {', '.join(Role)}")
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)
    return parser


def _claim_cgroup(roles: Sequence[Role], settings: Settings) -> None:
    """Prepare the place for the commands' cgroups while the process still has root's rights."""
    place = place_of(settings.cgroup) if Role.HOST in roles else None
    if place is not None:
        claim(place, settings.host_uid, settings.host_gid)


def _drop_root(roles: Sequence[Role], settings: Settings, arguments: Sequence[str]) -> None:
    """Become the host's unprivileged user for good by executing this program again."""
    # Before any thread exists: a mount namespace belongs to a thread, and threads inherit it.
    if Role.HOST not in roles or os.geteuid() != 0:
        return
    if len(roles) > 1:
        raise UnknownRoleError(
            f"as root, role 'host' needs a process of its own, but roles {','.join(roles)!r} were "
            "named: it gives up the rights that the others need; start two processes"
        )
    become_host_user(settings, "workers", arguments)


def _allow_descriptors() -> None:
    """Raise this process's own limit on open files, because many commands run at once."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if most == resource.RLIM_INFINITY else min(_OPEN_FILES, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))


async def _serve(
    settings: Settings, roles: Sequence[Role], code: "Code | None", *, is_supervised: bool
) -> None:
    # The imports take longer than the server's own start, so nothing waits for the server here.
    # What lives as long as the process is exempt from garbage collection.
    gc.disable()
    from workers.server import lifeline
    from workers.telemetry.library_noise import leave_out_noise
    from workers.worker_serving import Code, offers, serve

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    leave_out_noise()
    offered = offers(settings, roles, code or Code())
    gc.freeze()
    gc.enable()
    if is_supervised:
        server = await _unless_stopped(lifeline.watch(sys.stdin.fileno(), stop), stop)
        settings = settings.evolve(server=server or settings.server)
    await serve(settings, offered, stop, _say)


async def _unless_stopped(awaited: "asyncio.Future[str]", stop: asyncio.Event) -> str | None:
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait([awaited, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    return awaited.result() if awaited.done() else None


def _say(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        return  # The reader is gone; the work continues, or ends by the lifeline.


if __name__ == "__main__":
    sys.exit(main())
