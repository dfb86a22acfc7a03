"""Server and workers of one machine: started once per data directory, kept alive, ended together.

The process that holds `<data>/workers.lock` supervises. Every other process uses the running
workers, and takes over when the holder is gone. All children start at once; the workers get the
server's address through a pipe when the server answers. Only the supervisor holds the other end of
that pipe, and the workers watch for its end, so none outlives the supervisor, however it died.
"""

import asyncio
import contextlib
import dataclasses
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, Field, ValidationError

from activities.file_locks import FileLock, is_held
from activities.ports.endpoints import ProviderEntries, ProviderEntry
from activities.ports.land.hosting_entries import HostingEntry
from activities.uninterrupted import uninterrupted
from workers.atomic_file import replace_text
from workers.hosting import data_layout
from workers.liveness.process_presence import is_running
from workers.roles import Role, environment_for
from workers.server.dev_server import EmbeddedServer, answers
from workers.server.older_builds import OlderBuilds, environment_of
from workers.server.restarted_processes import Program, keep_running
from workers.settings import Settings
from workers.temporal.connection import target
from workers.versions.build_id import build_of
from workflows.domain.agent.model_values import Provider
from workflows.domain.environment import RegistryAccess
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

GRACE: Final = timedelta(seconds=15)
"""How long a worker lets its activities finish after SIGTERM."""
READY_LINE: Final = "blueflame worker ready"
_TAKEOVER_POLL_SECONDS: Final = 0.5

Command = Callable[[Role], Sequence[str]]
"""Builds the command line of one role's worker; `--supervised` is added to it."""


Beside = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""What else the supervising process does; it gets the event of a server that answers."""


async def nothing_beside(_: asyncio.Event) -> None:
    """Do nothing else."""


def worker_command(role: Role) -> Sequence[str]:
    """Return the command that starts a worker for a role."""
    return (sys.executable, "-P", "-m", "workers", "--roles", role)


class Supervisor:
    """Keeps a worker for each role alive, and the server unless the person names one."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        command: Command = worker_command,
        roles: Sequence[Role] = tuple(Role),
        beside: Beside = nothing_beside,
    ) -> None:
        self._settings = settings
        self._beside = beside
        self._environment = environment
        self._command = command
        self._roles = roles
        self._lock = FileLock(lock_path(settings))
        self._waiting = set(roles)
        self.supervises = False
        """True while this process keeps the workers alive."""
        self.server_ready = asyncio.Event()
        """Set once a server answers; cleared while a server that is kept here does not."""
        self.workers_ready = asyncio.Event()
        """Set once every role has been ready, here or under another supervisor."""

    async def keep(self) -> None:
        """Run for ever: stand by while another process supervises; otherwise supervise."""
        data_layout.prepare(self._settings)
        try:
            await self._wait_for_lock()
            # The server of the previous supervisor may be gone; some processes know its address.
            is_known = self.server_ready.is_set()
            self.server_ready.clear()
            self.supervises = True
            self._write_state(ready=False)
            await self._supervise(is_known=is_known)
        finally:
            if self.supervises:
                # The next holder of the lock must not be mistaken for this process.
                with contextlib.suppress(OSError):
                    _state_path(self._settings).unlink()
            self.supervises = False
            self._lock.release()

    async def _wait_for_lock(self) -> None:
        while not self._lock.try_acquire():
            # Looking at the lock takes it for a moment too; then no process supervises.
            if is_held(lock_path(self._settings)):
                await self._look_at_the_other()
            await asyncio.sleep(_TAKEOVER_POLL_SECONDS)

    async def _look_at_the_other(self) -> None:
        """Set what is ready under the process that holds the lock, which may just be starting."""
        if not self.server_ready.is_set() and (
            self._settings.has_external_server or await answers(self._settings)
        ):
            self.server_ready.set()
        state = read_state(self._settings)
        if state is not None and state.ready:
            self.workers_ready.set()

    async def _supervise(self, *, is_known: bool) -> None:
        # The server starts first and ends last, so that workers can finish their tasks with it.
        async with (
            _kept(self._keep_server(is_known=is_known)) as server,
            _kept(self._keep_workers()) as workers,
            _kept(self._beside(self.server_ready)),
        ):
            done, _ = await asyncio.wait([server, workers], return_when=asyncio.FIRST_COMPLETED)
            for failed in done:
                failed.result()

    async def _keep_server(self, *, is_known: bool) -> None:
        if self._settings.has_external_server:
            self.server_ready.set()
            await asyncio.Event().wait()
        await EmbeddedServer(self._settings, self.server_ready, is_known=is_known).keep()

    async def _keep_workers(self) -> None:
        async with asyncio.TaskGroup() as group:
            for role in self._roles:
                group.create_task(keep_running(self._program(role), self._listener(role)))
            if Role.WORKFLOWS in self._roles:
                older = OlderBuilds(self._settings, self._older_program)
                group.create_task(older.keep(self.workers_ready))

    async def _address(self) -> str:
        """Return what a worker is sent: the server's address once it answers, or nothing."""
        await self.server_ready.wait()
        return "" if self._settings.has_external_server else target(self._settings)

    def _write_state(self, *, ready: bool) -> None:
        state = SupervisorState(
            pid=os.getpid(),
            build=build_of(self._settings),
            ready=ready,
            playbook=self._settings.playbook,
            sandbox=self._settings.sandbox,
            providers=self._settings.providers,
            toolchains=tuple(self._settings.toolchains),
            registries=self._settings.registries,
            hosting=self._settings.hosting,
        )
        replace_text(_state_path(self._settings), state.model_dump_json())

    def _listener(self, role: Role) -> Callable[[str], None]:
        def on_line(line: str) -> None:
            if line.startswith(READY_LINE):
                self._waiting.discard(role)
                if not self._waiting:
                    self.workers_ready.set()
                    self._note_that_they_are_ready()

        return on_line

    def _note_that_they_are_ready(self) -> None:
        try:
            self._write_state(ready=True)
        except OSError as error:
            # They serve anyway; only observers from outside do not learn it.
            log_event(_log, "state_not_written", file=_state_path(self._settings), reason=error)

    def _program(self, role: Role) -> Program:
        settings = self._settings
        secrets = (settings.key_variables, settings.token_variables)
        environment = environment_for([role], self._environment, *secrets)
        environment["PYTHONPATH"] = str(data_layout.packages_root())
        environment |= settings.as_environment()
        if not settings.has_external_server:
            # A person chose this supervisor's build, be it an upgrade or a rollback. Another server
            # may have other machines, with newer builds, so there the worker asks the server.
            environment["BLUEFLAME_TAKES_NEW"] = "true"
        return Program(
            name=f"worker {role}",
            argv=(*self._command(role), "--supervised"),
            environment=environment,
            directory=settings.data_dir,
            log=settings.logs_dir / f"worker-{role}.log",
            told=self._address,
            grace=GRACE + timedelta(seconds=5),
        )

    def _older_program(self, build: str) -> Program:
        program = self._program(Role.WORKFLOWS)
        environment = environment_of(self._settings, build, dict(program.environment))
        log = self._settings.logs_dir / f"worker-workflows-{build}.log"
        name = f"worker workflows of build {build}"
        return dataclasses.replace(program, name=name, environment=environment, log=log)


class SupervisorState(BaseModel, frozen=True, extra="ignore"):
    """The content of `<data>/workers.json`; true only while the lock is held."""

    schema_version: int = 1
    pid: int
    build: str = ""
    """The build of these workers' code; empty: of a release that named none."""
    ready: bool
    """Every role has been ready."""
    playbook: Path | None
    """The playbook of these workers' scripted model."""
    sandbox: Literal["required", "none"] = "required"
    """`none`: these workers do not confine commands."""
    providers: ProviderEntries = Field(default_factory=dict[Provider, ProviderEntry])
    """The providers that these workers know."""
    toolchains: tuple[str, ...] = ()
    """The toolchains that these workers know, by name."""
    registries: RegistryAccess = RegistryAccess()
    """The registries that these workers know."""
    hosting: dict[str, HostingEntry] = Field(default_factory=dict[str, HostingEntry])
    """The hosting services that these workers know."""


def read_state(settings: Settings) -> SupervisorState | None:
    """Return the state that the supervising process wrote; None if there is none.

    One that was killed leaves its state. It counts no more, even in the moment in which the next
    supervisor, or another reader, has the lock already and that state is still there.
    """
    if not is_held(lock_path(settings)):
        return None
    try:
        state = SupervisorState.model_validate_json(_state_path(settings).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return state if is_running(state.pid) else None


def _state_path(settings: Settings) -> Path:
    return settings.data_dir / "workers.json"


def lock_path(settings: Settings) -> Path:
    """Return the lock that the supervisor of a data directory holds."""
    return settings.data_dir / "workers.lock"


@contextlib.asynccontextmanager
async def _kept(work: Coroutine[None, None, None]) -> AsyncGenerator[asyncio.Task[None]]:
    """Run some work while the block runs; on leaving, end it and wait for its end."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        # Even if cancelled: the lock is held until nothing runs any more.
        await uninterrupted(asyncio.wait([task]))
