"""`sandbox: none`: commands with limits and a clean environment, but without any confinement.

The probe names it `none` and warns, and every view shows that. It keeps the port's promises about
ends, output, limits and left-over processes as far as is possible without namespaces: it finds a
process by its session or by a mark in its environment, so a process that leaves the session and
clears its environment escapes. With a delegated cgroup only a process that moves itself out
escapes, which it may do as the same user. Network, home, secrets on disk, `Workspace.writable` and
`WORKSPACE` as a path are not protected at all.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from activities.adapters.sandbox.blueflame_programs import own_programs
from activities.adapters.sandbox.bwrap_arguments import environment, own_links
from activities.adapters.sandbox.measured_commands import measured
from activities.adapters.sandbox.processes.cgroups import kernel_limits
from activities.adapters.sandbox.processes.child_process import (
    Child,
    Ended,
    Spawn,
    open_files,
    readable,
    run_bounded,
)
from activities.adapters.sandbox.processes.usage_watch import ProcMeter, Watchdog, session_of
from activities.ports.sandbox_port import (
    Layering,
    SandboxCommand,
    SandboxProbe,
    SandboxResult,
    SandboxUnavailableError,
)
from activities.ports.toolchain_places import ToolchainError, Toolchains

_MARK = "BLUEFLAME_COMMAND"
_ROUNDS = 20
_PROC = Path("/proc")


class UnconfinedSandbox:
    """Runs commands without a sandbox. Implements the port `Sandbox`."""

    def __init__(
        self,
        toolchain: tuple[Path, ...] = (),
        cgroup: Path | None = None,
        offered: Toolchains | None = None,
    ) -> None:
        """Remember the settings.

        Args:
            toolchain: prefixes that come first in PATH, for every command.
            cgroup: a delegated cgroup, in which each command gets its own.
            offered: further toolchains that a command may ask for; None: none.
        """
        self._toolchain = toolchain
        self._offered = offered or Toolchains()
        self._cgroup = cgroup

    async def probe(self) -> SandboxProbe:
        """Report that there is no sandbox."""
        warning = "There is no sandbox: commands run with all rights of the user of this process."
        return SandboxProbe(usable=True, name="none", reason=None, warnings=(warning,))

    async def layering(self, near: Path) -> Layering:  # noqa: ARG002 -- the port
        """Report that workspaces share nothing: each command sees its workspace at its own path."""
        return Layering(kind="none", reason="There is no sandbox, so set-up runs in each worktree.")

    @measured
    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        """Run one command to its end, kill what it leaves, and reap it, even under cancellation.

        Args:
            command: what to run, and where.
            hold: inherited by every process of the command, unless a process closes it.

        Raises:
            SandboxUnavailableError: the workspace or a program of the launcher is missing.
        """
        mark = secrets.token_hex(16)
        homes = tempfile.TemporaryDirectory(prefix="blueflame-home-", ignore_cleanup_errors=True)
        with homes as home:
            env = {**self._environment(command, Path(home)), _MARK: mark}
            async with kernel_limits(self._cgroup, command.limits) as kernel:
                spawn = Spawn(
                    argv=kernel.entering(_limited(command)),
                    env=env,
                    cwd=str(command.workspace.path),
                    stdin=command.stdin,
                    pass_fds=() if hold is None else (hold,),
                )
                try:
                    ended = kernel.judged(await _supervise(spawn, command, mark))
                except OSError as error:
                    raise SandboxUnavailableError(
                        f"The command does not start: {error}."
                    ) from error
        return SandboxResult(
            end=ended.end,
            code=ended.code,
            output=ended.output,
            output_bytes=ended.output_bytes,
            cut_at=ended.cut_at,
            survivors=ended.survivors,
            elapsed=ended.elapsed,
        )

    def _environment(self, command: SandboxCommand, home: Path) -> dict[str, str]:
        if command.workspace.environment.root is not None:
            raise SandboxUnavailableError(
                "A root folder needs the sandbox: without one it cannot stand in place of /. Take "
                "`environment.root` or `sandbox: none` out."
            )
        try:
            wanted = self._offered.wanted(command.workspace.environment)
        except ToolchainError as error:
            raise SandboxUnavailableError(f"{error}.") from error
        toolchain = (*self._toolchain, *wanted.values())
        own = home / ".own-programs"
        own.mkdir()
        links = own_links(toolchain)
        if (search := own_programs().search) is not None:
            links[search.name] = str(search)
        for name, target in links.items():
            (own / name).symlink_to(target)
        variables = command.workspace.environment.variables.items()
        added = (("HOME", str(home)), *variables, *command.env)
        return environment(toolchain, added, str(own))


def _limited(command: SandboxCommand) -> tuple[str, ...]:
    """Return the command under the kernel's limits; processes are counted per user, so not here."""
    bounds = {"core": 0, "fsize": command.limits.file_bytes, "nofile": open_files()}
    options = (f"--{name}={n}:{n}" for name, n in bounds.items())
    return ("/usr/bin/prlimit", *options, "--", *command.argv)


async def _supervise(spawn: Spawn, command: SandboxCommand, mark: str) -> Ended:
    limits, workspace = command.limits, command.workspace.path
    watchdog = Watchdog(workspace, limits.memory_bytes, limits.disk_bytes)
    async with Child(spawn, limits.output_bytes) as child:
        meter = ProcMeter(_PROC, session=child.pid)
        reach = _Session(child, f"{_MARK}={mark}".encode())
        return await run_bounded(child, reach, limits.timeout, lambda: watchdog.breach(meter))


class _Session:
    """Reaches the processes of a session, and those that left it but carry the mark."""

    def __init__(self, child: Child, mark: bytes) -> None:
        self._child = child
        self._mark = mark

    def terminate(self) -> None:
        """Send SIGTERM to all processes found."""
        for pid in self._found():
            _send(pid, signal.SIGTERM)

    async def kill(self) -> None:
        """Send SIGKILL to all processes found."""
        for pid in self._found():
            _send(pid, signal.SIGKILL)

    async def after_exit(self) -> int:
        """Kill until no process is found any more, because a fork may race with the search."""
        found = list(self._found())
        count = len(found)
        for _ in range(_ROUNDS):
            if not found:
                break
            await asyncio.gather(*(_end(pid) for pid in found))
            found = list(self._found())
        return count

    def _found(self) -> Iterator[int]:
        for name in os.listdir(_PROC):
            if name.isdigit() and int(name) != os.getpid() and self._is_ours(_PROC / name):
                yield int(name)

    def _is_ours(self, process: Path) -> bool:
        with contextlib.suppress(OSError, IndexError):
            state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]
            if state in b"ZX":
                return False
            return session_of(process) == self._child.pid or self._mark in (
                process / "environ"
            ).read_bytes().split(b"\0")
        return False


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


async def _end(pid: int) -> None:
    """Kill one process that is not a child, and wait until it is dead."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        await readable(pidfd)
    finally:
        os.close(pidfd)
