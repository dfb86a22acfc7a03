"""One worker process at work: connect, clean up after its predecessor, serve, end gracefully.

A host serves two queues: the shared one (any host may answer) and its own (needs this disk).
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from temporalio.client import Client
from temporalio.runtime import Runtime
from temporalio.service import RPCError
from temporalio.worker import Interceptor, UnsandboxedWorkflowRunner, Worker

from workers import wiring
from workers.hosting import data_layout
from workers.liveness import service_manager, sign_keeping
from workers.liveness.polling_look import trouble
from workers.roles import Role
from workers.server.supervisor import GRACE, READY_LINE
from workers.settings import Settings
from workers.telemetry.current_turn import TurnInterceptor
from workers.telemetry.worker_telemetry import telemetry
from workers.temporal.connection import connect
from workers.temporal.heartbeats import HeartbeatInterceptor
from workers.temporal.orphaned_activities import Journal, JournalInterceptor, fail_orphans
from workers.temporal.temporal_errors import TemporalUnavailableError
from workers.versions import deployment
from workers.versions.build_id import build_of
from workflows import queues
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

_STICKY: Final = timedelta(seconds=3)
"""After a worker died, its workflows wait this long before another worker takes them."""
_HEARTBEATS: Final = timedelta(seconds=5)
"""A cancellation reaches an activity with its next heartbeat, so a stop waits about this long."""
_RETRY_SECONDS: Final = 1.0
_DEADLOCK_SECONDS: Final = 60
_CONCURRENT_ACTIVITIES: Final = {Role.MODELS: 100, Role.HOST: 32, Role.LAND: 4, Role.WORKFLOWS: 10}
"""More than the sessions' own concurrency allows, and less than a machine's limit."""


@dataclass(frozen=True)
class Code:
    """The code that the roles run; tests pass their own."""

    workflows: Callable[[Role], list[type]] = wiring.workflows_for
    activities: Callable[[Role, Settings], list[wiring.Activity]] = wiring.activities_for


@dataclass(frozen=True)
class Offer:
    """What one role runs, already imported and built."""

    role: Role
    workflows: list[type]
    activities: list[wiring.Activity]


def offers(settings: Settings, roles: Sequence[Role], code: Code = Code()) -> list[Offer]:
    """Import and build what the roles run; needs no server."""
    return [Offer(role, code.workflows(role), code.activities(role, settings)) for role in roles]


async def serve(
    settings: Settings, offered: Sequence[Offer], stop: asyncio.Event, say: Callable[[str], None]
) -> None:
    """Serve the roles until `stop` is set, then end gracefully.

    Args:
        settings: the process's.
        offered: what each role runs.
        stop: set by a signal, or when the supervisor is gone.
        say: takes lines for a person and for the supervisor.
    """
    roles = [offer.role for offer in offered]
    with telemetry(settings, roles, os.environ, say) as told:
        client = await _connect_patiently(settings, stop, say, told.runtime)
        if client is None:
            return
        journal = await _journal(client, settings, roles)
        measured = [
            *told.interceptors,
            JournalInterceptor(journal),
            HeartbeatInterceptor(),
            TurnInterceptor(),
        ]
        build = await _build(client, settings, roles, say)
        serving = _Serving(client, settings, build, measured)
        workers = [worker for offer in offered for worker in _workers(serving, offer)]
        look = partial(trouble, client, workers, _identity(settings), journal.has_records)
        try:
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(worker.run()) for worker in workers]
                target = client.service_client.config.target_host
                say(f"{READY_LINE}: {', '.join(roles)} ({target})")
                group.create_task(_show_life(settings, roles, look, stop))
                group.create_task(_shut_down(stop, workers, running))
                for job in told.jobs:
                    group.create_task(job(client, stop))
        finally:
            journal.close()


async def _show_life(
    settings: Settings, roles: Sequence[Role], look: sign_keeping.Look, stop: asyncio.Event
) -> None:
    async with sign_keeping.shown(settings, roles, os.environ, look):
        await stop.wait()
    service_manager.notify(os.environ, service_manager.STOPPING)


async def _shut_down(
    stop: asyncio.Event, workers: Sequence[Worker], running: Sequence["asyncio.Task[None]"]
) -> None:
    await stop.wait()
    await asyncio.gather(*(worker.shutdown() for worker in workers))
    await asyncio.wait(running) if running else None


async def _connect_patiently(
    settings: Settings,
    stop: asyncio.Event,
    say: Callable[[str], None],
    runtime: Runtime | None,
) -> Client | None:
    said = ""
    while not stop.is_set():
        try:
            return await connect(settings, runtime=runtime)
        except TemporalUnavailableError as error:
            if str(error) != said:
                said = str(error)
                say(f"waiting: {said}")
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _RETRY_SECONDS)
    return None


async def _journal(client: Client, settings: Settings, roles: Sequence[Role]) -> Journal:
    directory = data_layout.journal_dir(settings, on_host=Role.HOST in roles)
    failed = await fail_orphans(client, directory)
    if failed:
        log_event(_log, "orphans_failed", activities=failed)
    journal = Journal(directory)
    journal.open()
    return journal


@dataclass(frozen=True)
class _Serving:
    """What all workers of this process share."""

    client: Client
    settings: Settings
    build: str | None
    """The build that its workflows are bound to; None: they are bound to none."""
    interceptors: Sequence[Interceptor]


async def _build(
    client: Client, settings: Settings, roles: Sequence[Role], say: Callable[[str], None]
) -> str | None:
    """Return this process's build, and make it the current one if it should be; None without."""
    if Role.WORKFLOWS not in roles:
        return None
    if not await deployment.is_supported(client):
        say("this server does not bind sessions to builds; upgrade only when no session is open")
        return None
    build = build_of(settings)
    try:
        if settings.takes_new or (
            settings.takes_new is None and await deployment.may_take_over(client, build)
        ):
            await deployment.make_current(client, build)
        elif settings.takes_new is None:
            say(
                f"build {build!r} only finishes its own sessions: new ones start on another build, "
                f"which has workers; `temporal worker deployment set-current-version "
                f"--deployment-name {deployment.NAME} --build-id {build}` changes that"
            )
    except RPCError as error:
        say(f"build {build!r} did not become the current one: {error}; set it with `temporal`")
    return build


def _workers(serving: _Serving, offer: Offer) -> list[Worker]:
    if not offer.activities and not offer.workflows:
        return []
    task_queues = [str(offer.role)]
    if offer.role is Role.HOST:
        own = queues.host_queue(data_layout.host_name(serving.settings))
        task_queues = [queues.HOST, own]
    return [patient(_worker(serving, offer, task_queue)) for task_queue in task_queues]


def _worker(serving: _Serving, offer: Offer, task_queue: str) -> Worker:
    is_bound = serving.build is not None and bool(offer.workflows)
    return Worker(
        serving.client,
        identity=_identity(serving.settings),
        task_queue=task_queue,
        workflows=offer.workflows,
        activities=offer.activities,
        # Temporal's sandbox, which finds what is not deterministic, would load the code again for
        # each workflow: a third of this worker's time. Tests play every history within it.
        workflow_runner=UnsandboxedWorkflowRunner(),
        interceptors=serving.interceptors,
        deployment_config=deployment.pinned(serving.build or "") if is_bound else None,
        max_concurrent_activities=_CONCURRENT_ACTIVITIES[offer.role],
        sticky_queue_schedule_to_start_timeout=_STICKY,
        graceful_shutdown_timeout=GRACE,
        max_heartbeat_throttle_interval=_HEARTBEATS,
    )


def _identity(settings: Settings) -> str:
    """Name this process, its machine and its build, as the Web UI and `health` show them."""
    return f"{os.getpid()}@{socket.gethostname()} blueflame/{build_of(settings)}"


def patient(worker: Worker) -> Worker:
    """Return a worker whose workflow tasks may take a minute.

    The SDK treats a task as a deadlock after two seconds of wall time, and interrupts its thread.
    On a busy machine a large plan may need that long, and an interrupted run is not always evicted
    completely: its session then hangs for as long as the worker lives. The server has its own
    limit (ten seconds) for a workflow task, after which it hands the task out again.

    The SDK has no setting for this (1.35); a test fails if this no longer works.
    """
    of_workflows = worker._workflow_worker  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if of_workflows is not None:
        of_workflows._deadlock_timeout_seconds = _DEADLOCK_SECONDS  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return worker
