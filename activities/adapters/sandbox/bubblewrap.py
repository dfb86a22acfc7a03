"""The Linux sandbox: bubblewrap, started by an unprivileged user, with everything else closed.

This module combines the others: `bwrap_arguments` (what is visible inside), `seccomp` (forbidden
system calls), `usage_watch` (limits on the whole), `child_process` (start and end),
`pid_namespace` (signals to processes inside) and `egress.network_socket` (set-up's way out). It
does not drop privileges: `workers.hosting.privileges` does that once per worker. As real root it
starts nothing, because a command could reach `/proc/sys` with root's rights even without a
capability.
"""

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

from activities.adapters.sandbox import root_folder, seccomp
from activities.adapters.sandbox.bwrap_arguments import (
    Plan,
    arguments,
    environment,
    scratch_mounts,
)
from activities.adapters.sandbox.bwrap_probe import explain, probe_bubblewrap
from activities.adapters.sandbox.egress.egress_proxy import Egress, Outside
from activities.adapters.sandbox.egress.network_socket import VARIABLES, answered, through
from activities.adapters.sandbox.egress.set_up_means import SetUpMeans
from activities.adapters.sandbox.layer_mount import fresh_work, try_layer, under_layer
from activities.adapters.sandbox.measured_commands import measured
from activities.adapters.sandbox.processes.cgroups import kernel_limits
from activities.adapters.sandbox.processes.child_process import (
    Breach,
    Child,
    Ended,
    Spawn,
    open_files,
    run_bounded,
)
from activities.adapters.sandbox.processes.descriptors import Descriptors
from activities.adapters.sandbox.processes.orphaned_sandboxes import sweep_orphans
from activities.adapters.sandbox.processes.pid_namespace import Namespace
from activities.adapters.sandbox.processes.usage_watch import ProcMeter, Watchdog
from activities.ports.registry_access import RegistryError
from activities.ports.sandbox_port import (
    WORKSPACE,
    Layer,
    Layering,
    SandboxCommand,
    SandboxProbe,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)
from activities.ports.toolchain_places import ToolchainError, Toolchains

_PROGRAMS = "/usr/bin:/usr/local/bin:/bin"
_UP, _GO = b"up\n", b"go\n"

_FIRST = """\
ulimit -c 0 && ulimit -f "$1" && ulimit -n "$2" && { ulimit -p "$3" || ulimit -u "$3"; } || exit
shift 3
trap : TERM
echo 1000 >/proc/self/oom_score_adj
echo up >&2
read -r go <&2 || exit
(exec "$@" 2>&1)
code=$?
left=-1
for one in /proc/[0-9]*/status; do
    state=
    while read -r key state _ && [ "$key" != State: ]; do :; done 2>/dev/null <"$one"
    case $state in [ZX] | "") ;; *) left=$((left + 1)) ;; esac
done
echo "left $left" >&2
exit $code
"""
"""The first process inside. It sets the kernel's limits (the number of processes is counted per
sandbox only if it is set here), runs the command, then counts the processes left besides
bubblewrap and itself, without those that have ended and are not reaped yet.

Descriptor 2 is a private channel: bubblewrap also complains there, so that its failure to start is
never taken for the command's. The command's own 2 is the output. The command starts only on a word
from the worker: in its first milliseconds bubblewrap misses the death of its parent. The trap
keeps this shell alive through the SIGTERM of a time-out; in the subshell the default holds again.
"""
_FILE_UNIT_BYTES = 512
"""The unit of `ulimit -f` in POSIX."""


class BubblewrapSandbox:
    """Runs commands under bubblewrap. Implements the port `Sandbox`."""

    def __init__(
        self,
        toolchain: tuple[Path, ...] = (),
        program: str = "bwrap",
        cgroup: Path | None = None,
        outside: Outside | None = None,
        offered: Toolchains | None = None,
    ) -> None:
        """Remember what to show; nothing is touched yet.

        Args:
            toolchain: prefixes bound read-only at their own path, their `bin` first in PATH, for
                every command.
            program: bubblewrap's name or absolute path.
            cgroup: a delegated cgroup, in which each command gets its own.
            outside: what commands with a network reach; None: public addresses anywhere.
            offered: further toolchains that a command may ask for; None: none.
        """
        self._toolchain = {str(prefix): prefix for prefix in toolchain}
        self._offered = offered or Toolchains()
        self._program = program
        self._cgroup = cgroup
        self.outside = outside or Outside()
        self._layering: Layering | None = None

    async def probe(self) -> SandboxProbe:
        """Test the real arrangement once and report the result; never raises.

        It also ends half-made sandboxes of killed workers, because a host calls it at its start.
        """
        await asyncio.to_thread(sweep_orphans)
        return await probe_bubblewrap(self.run, self._program)

    async def layering(self, near: Path) -> Layering:
        """Mount a layer once and say whether that works; see the port."""
        if self._layering is None:
            self._layering = await try_layer(self.run, near)
        return self._layering

    @measured
    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        """Run one command to its end, kill what it leaves, and reap it, even under cancellation.

        Args:
            command: what to run, and where.
            hold: kept open by the sandbox's process 1, whose end ends all others. The command does
                not inherit it, because it could release the lock through the descriptor.

        Raises:
            SandboxUnavailableError: as real root; without bubblewrap, libseccomp or a wanted
                toolchain; or if the kernel forbids a part of the arrangement. Nothing ran.
        """
        _refuse_root()
        wanted, root = _wanted(self._offered, command.workspace)
        toolchain = {**self._toolchain, **wanted}
        program = self._located()
        with Descriptors() as fds:
            door = self._door(command, fds) if command.network else None
            told = {} if door is None else door.means.variables(toolchain)
            variables = (*told.items(), *command.workspace.environment.variables.items())
            added = (*variables, *command.env, *(() if door is None else VARIABLES))
            env = environment(toolchain.values(), added)
            files = {} if door is None else door.means.files
            plan = Plan(command.workspace, toolchain, env, command.limits, fds.data, files, root)
            options = [
                *arguments(plan),
                "--seccomp",
                str(fds.data(seccomp.program(), "seccomp")),
            ]
            info, writer = fds.pipe()
            options += ["--info-fd", str(writer)]
            if hold is not None:
                options += ["--sync-fd", str(fds.lend(hold))]
            # Passed as a file, so that the arguments of process 1 show no path of the host.
            hidden = fds.data("".join(f"{one}\0" for one in options).encode(), "options")
            inside = _inside(command, command.argv if door is None else door.argv, root)
            argv = (program, "--args", str(hidden), "--", *inside)
            async with kernel_limits(self._cgroup, command.limits) as kernel:
                started, cwd = _layered(argv, command.workspace.layer)
                entering = kernel.entering(started)
                spawn = Spawn(entering, {}, cwd, command.stdin, fds.passed, (_UP, _GO))
                if door is None:
                    return _result(kernel.judged(await _supervise(spawn, command, info)))
                async with answered(door.channel, door.egress):
                    ended = kernel.judged(await _supervise(spawn, command, info))
                refusals = tuple(door.egress.refusals)
                return _result(ended, refusals)

    def _door(self, command: SandboxCommand, fds: Descriptors) -> "_Door":
        try:
            reachable = self.outside.registries.wanted(command.workspace.environment.access)
        except RegistryError as error:
            raise SandboxUnavailableError(f"{error}.") from error
        means = SetUpMeans(reachable)
        egress = Egress(
            command.network, self.outside, registries=reachable, authority=means.authority
        )
        return _Door(command.argv, egress, means, fds)

    def _located(self) -> str:
        found = shutil.which(self._program, path=_PROGRAMS)
        if found is None:
            raise SandboxUnavailableError(
                f"{self._program!r} is not installed. Install it: `apt-get install bubblewrap`."
            )
        return found


def _wanted(offered: Toolchains, workspace: Workspace) -> tuple[dict[str, Path], Path | None]:
    environment = workspace.environment
    try:
        return offered.wanted(environment), offered.root_of(environment)
    except ToolchainError as error:
        raise SandboxUnavailableError(f"{error}.") from error


def _layered(argv: tuple[str, ...], layer: Layer | None) -> tuple[tuple[str, ...], str]:
    """Return what to start and where: unchanged, or with a layer mounted around it."""
    if layer is None:
        return argv, "/"
    fresh_work(layer)
    return under_layer(argv, layer), str(layer.root)


class _Door:
    """The way out of one sandbox."""

    def __init__(
        self, argv: tuple[str, ...], egress: Egress, means: SetUpMeans, fds: Descriptors
    ) -> None:
        self.means = means
        self.channel, inherited = fds.channel()
        self.egress = egress
        self.argv = through(inherited, argv)


async def _supervise(spawn: Spawn, command: SandboxCommand, info: int) -> Ended:
    limits = command.limits
    try:
        watchdog = Watchdog(command.workspace.path, limits.memory_bytes, limits.disk_bytes)
    except OSError as error:
        raise SandboxUnavailableError(f"The workspace cannot be seen: {error}.") from error
    async with _started(spawn, limits.output_bytes) as child:
        with Namespace(child, info) as inside:

            async def watch() -> Breach:
                # Earlier, process 1 is still in the host's root, and its /tmp would be measured.
                await child.private.started.wait()
                root = Path(f"/proc/{inside.first}/root")
                meter = ProcMeter(root / "proc", scratch_mounts(root))
                return await watchdog.breach(meter, root / WORKSPACE.lstrip("/"))

            return await run_bounded(child, inside, limits.timeout, watch)


@contextlib.asynccontextmanager
async def _started(spawn: Spawn, output_bytes: int) -> AsyncGenerator[Child]:
    child = Child(spawn, output_bytes)
    try:
        await child.__aenter__()
    except OSError as error:
        raise SandboxUnavailableError(f"{spawn.argv[0]!r} does not start: {error}.") from error
    try:
        yield child
    finally:
        await child.__aexit__()


def _inside(command: SandboxCommand, argv: tuple[str, ...], root: Path | None) -> tuple[str, ...]:
    """Return what bubblewrap runs: the first process, which runs `argv`."""
    argv = argv if root is None else root_folder.started(argv)
    limits = command.limits
    bounds = (-(-limits.file_bytes // _FILE_UNIT_BYTES), open_files(), limits.processes)
    return ("/bin/sh", "-c", _FIRST, "sh", *map(str, bounds), *argv)


def _refuse_root() -> None:
    if 0 in (os.getuid(), os.geteuid()):
        raise SandboxUnavailableError(
            "No sandbox is started as real root: a command could write /proc/sys with its rights. "
            "The host worker has to drop its privileges first (`python -m workers` started as root "
            "does so by itself), or start it as an ordinary user."
        )


def _result(ended: Ended, refusals: tuple[str, ...] = ()) -> SandboxResult:
    """Translate the end; the first process's message tells bubblewrap's failure from the command's.

    A time-out is no failure to start: on a busy machine the time may end before the command began.

    Raises:
        SandboxUnavailableError: the command did not start.
    """
    if _UP not in ended.private and ended.end != "timed_out":
        raise SandboxUnavailableError(explain(ended.private.decode(errors="replace")))
    left = re.search(rb"^left (\d+)$", ended.private, re.MULTILINE)
    by_itself = ended.end in ("exited", "signalled")
    return SandboxResult(
        end=ended.end,
        code=ended.code,
        output=ended.output,
        output_bytes=ended.output_bytes,
        cut_at=ended.cut_at,
        survivors=int(left[1]) if left and by_itself else 0,
        elapsed=ended.elapsed,
        refusals=refusals,
    )
