"""Server, workers and simulated providers of the crash tests: each a process that can be killed.

The simulator lives in the test's own process, so no kill reaches it: what it counts is what a
provider would bill. Every process dies with this one (tether and lifeline), whatever kills it.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

from temporalio.client import Client

from activities.adapters.models.scripted.playbook import Playbook
from activities.adapters.models.simulator.simulator_server import Simulator
from tests.ports import kept_port
from tests.servers import LESS_COLLECTING
from tests.waiting import PATIENCE, ends, until
from workers.hosting import data_layout
from workers.roles import Role, environment_for
from workers.server import tether
from workers.server.dev_server import choose_address, server_command, server_environment
from workers.server.restarted_processes import Child, Program, running
from workers.server.supervisor import READY_LINE, Command, worker_command
from workers.settings import Settings
from workers.temporal.connection import ServerAddress, connect
from workers.temporal.temporal_errors import TemporalUnavailableError

SERVER: Final = "server"


class Actor:
    """One process of the stage: started, killed, stalled, started again."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._stack = AsyncExitStack()
        self._child: Child | None = None
        self._ready = asyncio.Event()
        self.tail: deque[str] = deque(maxlen=60)

    async def start(self, variables: Mapping[str, str] | None = None) -> None:
        """Start the process; `ready` tells when it serves.

        Args:
            variables: more for its environment, in this life only.
        """
        self._ready.clear()
        self._stack = AsyncExitStack()
        environment = {**self.program.environment, **(variables or {})}
        program = replace(self.program, environment=environment)
        self._child = await self._stack.enter_async_context(running(program, self._heard))

    async def ready(self) -> None:
        """Wait until it says that it serves."""
        waiting = asyncio.ensure_future(self._ready.wait())
        ended = asyncio.ensure_future(self.child.wait())
        try:
            done, _ = await asyncio.wait(
                {waiting, ended}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if waiting not in done:
                raise AssertionError(f"{self.program.name} did not come up:\n" + self.said())
        finally:
            waiting.cancel()
            ended.cancel()

    async def kill(self) -> None:
        """SIGKILL it and reap it. What it started is not touched: that has to die by itself."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child.pid, signal.SIGKILL)
        await self.died()

    async def died(self) -> None:
        """Wait for its end, and reap it."""
        await ends(self.child.wait(), f"{self.program.name} ends")
        await self.close()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal: SIGSTOP, SIGCONT, SIGTERM."""
        os.kill(self.child.pid, number)

    async def close(self) -> None:
        """End it if it runs."""
        if self._child is not None and self._child.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child.pid, signal.SIGCONT)
        await self._stack.aclose()

    @property
    def child(self) -> Child:
        """The running process."""
        assert self._child is not None, f"{self.program.name} was never started"
        return self._child

    def said(self) -> str:
        """Return the end of what it wrote."""
        return "\n".join(self.tail)

    def _heard(self, line: str) -> None:
        self.tail.append(line)
        if line.startswith(READY_LINE):
            self._ready.set()


class Stage:
    """All actors by name: `server`, and one for each role."""

    def __init__(self, folder: Path, simulator: Simulator, port: int, ui_port: int) -> None:
        folder.chmod(0o755)
        self.folder = folder
        self.simulator = simulator
        self.settings = Settings(data_dir=folder / "data", temporal_port=port, ui_port=ui_port)
        data_layout.prepare(self.settings)
        self.address = choose_address(self.settings)
        self.settings = self.settings.model_copy(update={"server": self.address.address})
        self.actors: dict[str, Actor] = {}
        self.client: Client

    async def open(self, host: Command, variables: Mapping[str, str]) -> None:
        """Start everything and wait until it serves; see `stage`."""
        self.actors[SERVER] = Actor(_server_program(self.settings, self.address))
        for role in Role:
            command = host if role is Role.HOST else worker_command
            self.actors[role] = Actor(self._worker_program(role, command(role), variables))
        await self.actors[SERVER].start()
        self.client = await self.connected()
        roles = [self.actors[role] for role in Role]
        await asyncio.gather(*(each.start() for each in roles))
        await asyncio.gather(*(each.ready() for each in roles))

    async def understudy(self, name: str, role: Role) -> None:
        """Start one more process of a role, as the one on the stage was started."""
        self.actors[name] = Actor(self.actors[role].program)
        await self.restart(name)

    async def restart(self, name: str, **variables: str) -> None:
        """Start a process again, ending it first where it runs, and wait until it serves.

        Args:
            name: whose.
            variables: of its environment, for this life only.
        """
        actor = self.actors[name]
        await actor.close()
        await actor.start(variables)
        await actor.ready()

    async def connected(self) -> Client:
        """Connect as soon as the server answers."""
        server = self.actors[SERVER]
        found: list[Client] = []

        async def answers() -> bool:
            if server.child.process.returncode is not None:
                raise AssertionError("the server ended:\n" + server.said())
            with contextlib.suppress(TemporalUnavailableError):
                found.append(await connect(self.settings, timedelta(seconds=5)))
            return bool(found)

        await until(answers, "the server answers", seen=server.said)
        return found[0]

    async def strike(self, names: Sequence[str]) -> None:
        """Kill these at once, start them again, and wait until they serve."""
        await self.kill(names)
        await self.revive(names)

    async def kill(self, names: Sequence[str]) -> None:
        """Kill these at once, and wait until they are dead."""
        for name in names:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.actors[name].child.pid, signal.SIGKILL)
        for name in names:
            await self.actors[name].died()

    async def revive(self, names: Sequence[str]) -> None:
        """Start these again, and wait until they serve."""
        for name in names:
            await self.actors[name].start()
        if SERVER in names:
            await self.connected()
        await asyncio.gather(*(self.actors[name].ready() for name in names if name != SERVER))

    async def close(self) -> None:
        """End everything, the server last."""
        workers = [actor for name, actor in self.actors.items() if name != SERVER]
        await asyncio.gather(*(each.close() for each in workers))
        if SERVER in self.actors:
            await self.actors[SERVER].close()

    def _worker_program(
        self, role: Role, command: Sequence[str], variables: Mapping[str, str]
    ) -> Program:
        given = {**_own_environment(), **self._provider_environment(), **variables}
        environment = environment_for([role], given)
        environment |= {"PYTHONPATH": str(data_layout.packages_root())}
        environment |= self.settings.as_environment()
        return Program(
            name=f"worker {role}",
            argv=(*command, "--supervised"),
            environment=environment,
            directory=self.settings.data_dir,
            log=self.settings.logs_dir / f"worker-{role}.log",
            told=self._address,
        )

    async def _address(self) -> str:
        return self.address.address

    def _provider_environment(self) -> dict[str, str]:
        urls = self.simulator.base_urls
        return {
            "ANTHROPIC_API_KEY": "simulated",
            "ANTHROPIC_BASE_URL": urls["anthropic"],
            "OPENAI_API_KEY": "simulated",
            "OPENAI_BASE_URL": urls["openai"],
            "GEMINI_API_KEY": "simulated",
            "GOOGLE_GEMINI_BASE_URL": urls["google"],
        }


@asynccontextmanager
async def stage(
    folder: Path,
    playbook: Playbook,
    host: Command = worker_command,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> AsyncGenerator[Stage]:
    """Run server, workers and simulator on a fresh data directory; all end with the block.

    Args:
        folder: an empty folder of the test's own.
        playbook: what the simulated models say.
        host: makes the command line of the host worker.
        variables: more for the environment of each worker.
    """
    # The ports are kept while the server is down, too.
    with kept_port() as port, kept_port() as ui_port:
        async with Simulator(playbook) as simulator:
            built = await asyncio.to_thread(Stage, folder, simulator, port, ui_port)
            try:
                await built.open(host, variables)
                yield built
            finally:
                await built.close()


def _server_program(settings: Settings, address: ServerAddress) -> Program:
    tied = (sys.executable, "-I", "-S", str(Path(tether.__file__)), str(os.getpid()))
    return Program(
        name="temporal server",
        argv=(*tied, *server_command(address, settings.data_dir / "temporal.db")),
        environment={**server_environment(os.environ), **LESS_COLLECTING},
        directory=settings.data_dir,
        log=settings.logs_dir / "temporal.log",
    )


def _own_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
