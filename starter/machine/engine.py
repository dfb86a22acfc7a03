"""The server and the workers that a command needs: found, or started while it runs.

A command that works on sessions calls `connected`. One that must keep them running uses `running`,
which stands by while another process keeps them, and takes over when that one ends.
"""

import asyncio
import contextlib
import functools
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from workflows.policy.text.log_events import log_event

if TYPE_CHECKING:
    from temporalio.client import Client

    from workers.server.supervisor import Supervisor, SupervisorState
    from workers.settings import Settings
    from workflows.domain.environment import ProjectEnvironment
    from workflows.domain.session.session_start import SessionRequest

_START: Final = timedelta(minutes=4)
"""Long enough for a busy machine; failures are reported at once."""
_POLL_SECONDS: Final = 0.1
_SDK_LOGGER: Final = "blueflame.sdk"


@functools.cache
def _keep_sdk_off_the_terminal() -> None:
    """Send the library core's messages about its own retries to the logger `_SDK_LOGGER`; once.

    Blue Flame reports a server that does not answer, or a full disk, in its own words.
    """
    from temporalio.runtime import (
        LogForwardingConfig,
        LoggingConfig,
        Runtime,
        TelemetryConfig,
        TelemetryFilter,
    )

    logger = logging.getLogger(_SDK_LOGGER)
    logger.propagate = False
    # Without a handler Python would write warnings to the error stream.
    logger.addHandler(logging.NullHandler())
    logged = LoggingConfig(
        filter=TelemetryFilter(core_level="WARN", other_level="ERROR"),
        forwarding=LogForwardingConfig(logger=logger),
    )
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=logged)), error_if_already_set=False
    )


async def connected(settings: "Settings") -> "Client":
    """Return a client of the running server.

    Raises:
        TemporalUnavailableError: no server is running.
    """
    from workers.temporal.connection import connect

    _keep_sdk_off_the_terminal()
    return await connect(settings)


@contextlib.asynccontextmanager
async def running(settings: "Settings") -> "AsyncGenerator[Supervisor]":
    """Keep server and workers running while the block runs; the server answers on entry.

    Raises:
        CommandError: the server does not start.
    """
    from starter.machine.cleaning.automatic_cleanup import keep_clean
    from workers.server.supervisor import Supervisor

    _keep_sdk_off_the_terminal()
    _log_to_file(settings)
    environment = {**os.environ, **settings.as_environment()}
    supervisor = Supervisor(settings, environment, beside=functools.partial(keep_clean, settings))
    keeping = asyncio.create_task(supervisor.keep())
    try:
        await _ready(supervisor.server_ready, keeping)
        keeping.add_done_callback(_tell)
        yield supervisor
    finally:
        keeping.remove_done_callback(_tell)
        keeping.cancel()
        await asyncio.wait([keeping])


def _tell(keeping: "asyncio.Task[None]") -> None:
    if not keeping.cancelled() and (error := keeping.exception()) is not None:
        log_event(logging.getLogger("workers"), "supervisor_failed", reason=error)


def _prepare(settings: "Settings") -> None:
    """Prepare everything that server and workers need to start.

    Raises:
        CommandError: a setting names an unusable place.
    """
    from starter.machine.data_directory import prepare
    from workers.hosting.cgroup_delegation import DelegationError, place_of

    try:
        place_of(settings.cgroup)
    except DelegationError as error:
        raise CommandError(str(error)) from error
    prepare(settings)


def _log_to_file(settings: "Settings") -> None:
    """Write the supervisor's messages to a log file; a person sees only serious ones."""
    from workers.worker_log import LosingFile

    _prepare(settings)
    log = logging.getLogger("workers")
    noted = LosingFile(
        settings.logs_dir / "supervisor.log", maxBytes=1_000_000, backupCount=1, delay=True
    )
    noted.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    said = logging.StreamHandler()
    said.setLevel(logging.ERROR)
    for before in log.handlers:
        before.close()
    log.handlers = [noted, said]
    logging.getLogger(_SDK_LOGGER).handlers = [noted]
    log.setLevel(logging.INFO)


async def _ready(event: asyncio.Event, keeping: "asyncio.Task[None]") -> None:
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait(
            [waiting, keeping],
            timeout=_START.total_seconds(),
            return_when=asyncio.FIRST_COMPLETED,
        )
    finally:
        waiting.cancel()
    if keeping.done() and (error := keeping.exception()) is not None:
        raise CommandError(f"nothing could be started: {error}", ExitCode.UNAVAILABLE)
    if not event.is_set():
        raise CommandError(
            "the server does not answer; `doctor` and the files in the data directory's `logs` "
            "tell why",
            ExitCode.UNAVAILABLE,
        )


def check_workers(settings: "Settings", request: "SessionRequest | None" = None) -> None:
    """Refuse to continue if workers already run that could not serve the request.

    Args:
        settings: with the playbook and the providers that are needed.
        request: the session's; None: there is none yet, and only the playbook matters.

    Raises:
        CommandError: they cannot serve it; the message says why.
    """
    from workers.server.supervisor import read_state

    state = read_state(settings)
    fault = None
    if state is not None:
        fault = _build_fault(settings, state) or _workers_fault(settings, state, request)
    if state is not None and fault is not None:
        raise CommandError(
            f"process {state.pid} keeps workers here that {fault}; end it first (`up --stop`), or "
            "use another BLUEFLAME_DATA_DIR"
        )


def _build_fault(settings: "Settings", state: "SupervisorState") -> str | None:
    from workers.versions.build_id import build_of

    own = build_of(settings)
    if state.build == own:
        return None
    before = f"build {state.build!r}" if state.build else "an earlier release"
    return f"are of {before}, and this command is of build {own!r} (open sessions stay on theirs)"


def _workers_fault(
    settings: "Settings", state: "SupervisorState", request: "SessionRequest | None"
) -> str | None:
    if settings.playbook not in {None, state.playbook}:
        return f"do not play {str(settings.playbook)!r}"
    if request is None:
        return None
    if state.sandbox == "none" and request.config.sandbox == "required":
        return "confine nothing (`sandbox: none`), which your configuration does not say"
    fault = _environment_fault(request.config.environment, state)
    if request.config.deliver == "pull_request" and settings.hosting != state.hosting:
        fault = fault or "do not know the hosting services as your configuration describes them"
    if fault:
        return fault
    routes = request.config.routes
    names = {name.partition("/")[0] for name in (*routes.planner, *routes.developer)}
    names |= {name.partition("/")[0] for name in routes.reviewer}
    wanted = {name: entry for name, entry in settings.providers.items() if name in names}
    for name in sorted(wanted):
        if state.providers.get(name) != wanted[name]:
            return f"do not know the provider {name!r} as your configuration describes it"
    return None


def _environment_fault(environment: "ProjectEnvironment", state: "SupervisorState") -> str | None:
    for name in environment.places:
        if name not in state.toolchains:
            return f"do not show the toolchain {name!r}, which your configuration names"
    told, wanted = state.registries, environment.access
    for registry in wanted.registries:
        if registry not in told.registries:
            return f"do not know the registry {registry.host!r} as your configuration describes it"
    for key in ("upstream_proxy", "no_proxy", "ca_file"):
        if getattr(wanted, key) and getattr(wanted, key) != getattr(told, key):
            return f"do not know 'environment.{key}' as your configuration says it"
    return None


async def ensure_background(settings: "Settings") -> "SupervisorState":
    """Leave an `up` running in the background, unless a process already keeps the workers.

    Returns:
        The state written by the process that keeps them.

    Raises:
        CommandError: it does not start; the message names its log.
    """
    from workers.bounded_log import last_line
    from workers.server.supervisor import read_state

    _prepare(settings)
    log = settings.logs_dir / "up.log"
    child: int | None = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_START.total_seconds()):
            while child is None or not _has_ended(child):
                state = read_state(settings)
                if state is not None and state.ready:
                    return state
                if state is None and child is None:
                    child = _spawn_up(settings, str(log))
                await asyncio.sleep(_POLL_SECONDS)
    said = last_line(log).removeprefix("error: ")
    why = f" ({said})" if said else ""
    raise CommandError(f"`up` did not come up{why}; see {str(log)!r}", ExitCode.UNAVAILABLE)


def _has_ended(child: int) -> bool:
    return os.waitpid(child, os.WNOHANG)[0] != 0


def _spawn_up(settings: "Settings", log: str) -> int:
    from workers.hosting.data_layout import packages_root

    environment = {**os.environ, **settings.as_environment()}
    environment["PYTHONPATH"] = str(packages_root())
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    # Not through asyncio, whose transport would end the child with the loop.
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "starter", "up"],
        environment,
        file_actions=actions,
        setsid=True,
    )


async def stop_supervisor(settings: "Settings") -> bool:
    """End the process that keeps the workers, and wait until it is gone.

    Returns:
        Whether there was one.

    Raises:
        CommandError: it did not exit in time.
    """
    from workers.server.supervisor import read_state

    state = read_state(settings)
    if state is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_START.total_seconds()):
            # Another process cannot notify this one of its end, so its lock is polled.
            while (now := read_state(settings)) is not None and now.pid == state.pid:  # noqa: ASYNC110
                await asyncio.sleep(_POLL_SECONDS)
            return True
    raise CommandError(
        f"process {state.pid} did not exit; inspect it with `ps -p {state.pid}`", ExitCode.FAILED
    )
