"""Server and workers of one machine: started once per data directory, kept alive, ended together.

Whoever holds `<data>/workers.lock` supervises; every other process uses what it finds, and takes
over when the holder is gone. The workers watch the end of a pipe that only the supervisor holds,
so none outlives it, whatever killed it.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, Field, ValidationError

from activities.ports.endpoints import ProviderEntries, ProviderEntry
from workers import layout
from workers.atomic_file import replace_text
from workers.children import Program, keep_running
from workers.embedded import EmbeddedServer, answers
from workers.locks import FileLock, is_held
from workers.roles import Role, environment_for
from workers.settings import Settings
from workers.temporal import target
from workflows.domain.models import Provider

_log = logging.getLogger(__name__)

GRACE: Final = timedelta(seconds=15)
"""How long a worker lets its activities finish after SIGTERM."""
READY_LINE: Final = "blueflame worker ready"
_TAKEOVER_POLL_SECONDS: Final = 0.5

Command = Callable[[Role], Sequence[str]]
"""Makes the command line of one role's worker; the lifeline's descriptor is added to it."""


def worker_command(role: Role) -> Sequence[str]:
    """Return the command that starts our own worker for a role."""
    return (sys.executable, "-P", "-m", "workers", "--roles", role)


class Supervisor:
    """Keeps the server (unless the person names one) and a worker for each role alive."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        command: Command = worker_command,
        roles: Sequence[Role] = tuple(Role),
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._command = command
        self._roles = roles
        self._lock = FileLock(lock_path(settings))
        self._waiting = set(roles)
        self.supervises = False
        """True while this process is the one that keeps the workers alive."""
        self.server_ready = asyncio.Event()
        """Set once a server answers."""
        self.workers_ready = asyncio.Event()
        """Set once every role has been ready, here or under another supervisor."""

    async def keep(self) -> None:
        """Run for ever: stand by while another process supervises, supervise when none does."""
        layout.prepare(self._settings)
        try:
            await self._wait_for_lock()
            self.supervises = True
            self._write_state(ready=False)
            await self._supervise()
        finally:
            if self.supervises:
                # Whoever holds the lock next must not be taken for what we were.
                with contextlib.suppress(OSError):
                    _state_path(self._settings).unlink()
            self.supervises = False
            self._lock.release()

    async def _wait_for_lock(self) -> None:
        while not self._lock.try_acquire():
            # A look at the lock takes it for a moment too: then nobody supervises.
            if is_held(lock_path(self._settings)):
                await self._look_at_the_other()
            await asyncio.sleep(_TAKEOVER_POLL_SECONDS)

    async def _look_at_the_other(self) -> None:
        """Set what is ready under the supervisor that holds the lock; it may just be starting."""
        if not self.server_ready.is_set() and (
            self._settings.has_external_server or await answers(self._settings)
        ):
            self.server_ready.set()
        state = read_state(self._settings)
        if state is not None and state.ready:
            self.workers_ready.set()

    async def _supervise(self) -> None:
        async with self._server(), _lifeline() as end, asyncio.TaskGroup() as group:
            for role in self._roles:
                program = self._program(role, end)
                group.create_task(keep_running(program, self._listener(role)))

    @contextlib.asynccontextmanager
    async def _server(self) -> AsyncGenerator[None]:
        # The server is entered first and left last: workers finish their tasks while it answers.
        if self._settings.has_external_server:
            self.server_ready.set()
            yield
            return
        server = EmbeddedServer(self._settings)
        keeper = asyncio.create_task(server.keep())
        try:
            await _first(server.ready, keeper)
            self.server_ready.set()
            yield
        finally:
            keeper.cancel()
            # Its failure was told where it was waited for.
            await asyncio.wait([keeper])

    def _write_state(self, *, ready: bool) -> None:
        state = SupervisorState(
            pid=os.getpid(),
            ready=ready,
            playbook=self._settings.playbook,
            sandbox=self._settings.sandbox,
            providers=self._settings.providers,
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
            # They serve all the same; only who looks from outside does not know it.
            _log.warning("%r not written: %s", str(_state_path(self._settings)), error)

    def _program(self, role: Role, lifeline: int) -> Program:
        settings = self._settings
        environment = environment_for([role], self._environment, settings.key_variables)
        environment["PYTHONPATH"] = str(layout.packages_root())
        environment |= settings.as_environment()
        if not settings.has_external_server:
            environment["BLUEFLAME_SERVER"] = target(settings)
        return Program(
            name=f"worker {role}",
            argv=(*self._command(role), "--lifeline", str(lifeline)),
            environment=environment,
            directory=settings.data_dir,
            log=settings.logs_dir / f"worker-{role}.log",
            inherited=(lifeline,),
            grace=GRACE + timedelta(seconds=5),
        )


class SupervisorState(BaseModel, frozen=True, extra="ignore"):
    """The content of `<data>/workers.json`; true only while the lock is held."""

    schema_version: int = 1
    pid: int
    ready: bool
    """Every role has been ready."""
    playbook: Path | None
    """What the scripted model of these workers plays."""
    sandbox: Literal["required", "none"] = "required"
    """`none`: these workers confine nothing."""
    providers: ProviderEntries = Field(default_factory=dict[Provider, ProviderEntry])
    """What these workers know of providers."""


def read_state(settings: Settings) -> SupervisorState | None:
    """Return what the process that keeps the workers says of itself; None where there is none."""
    if not is_held(lock_path(settings)):
        return None
    try:
        return SupervisorState.model_validate_json(_state_path(settings).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _state_path(settings: Settings) -> Path:
    return settings.data_dir / "workers.json"


def lock_path(settings: Settings) -> Path:
    """Return the lock that the supervisor of a data directory holds."""
    return settings.data_dir / "workers.lock"


@contextlib.asynccontextmanager
async def _lifeline() -> AsyncGenerator[int]:
    # Both ends are close-on-exec; children get the reading end by name and nobody the other.
    read_end, write_end = os.pipe()
    try:
        yield read_end
    finally:
        os.close(write_end)
        os.close(read_end)


async def _first(event: asyncio.Event, keeper: asyncio.Task[None]) -> None:
    waiter = asyncio.create_task(event.wait())
    try:
        await asyncio.wait([waiter, keeper], return_when=asyncio.FIRST_COMPLETED)
        if keeper.done():
            keeper.result()
    finally:
        waiter.cancel()
