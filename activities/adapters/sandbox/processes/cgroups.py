"""Limits that the kernel enforces for a whole command, which gets its own cgroup (version 2).

Only if a person delegated a cgroup; `workers.hosting.cgroup_delegation` prepares it. The limits
include what the watchdog's samples miss: socket and pipe buffers, detached shared memory, and use
between two samples. Source: the kernel's `admin-guide/cgroup-v2`.
"""

import asyncio
import contextlib
import errno
import os
import re
import secrets
import signal
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path

from activities.adapters.sandbox.processes.child_process import Ended
from activities.ports.sandbox_port import Limits, SandboxUnavailableError
from activities.uninterrupted import uninterrupted

_OWN_PROCESSES = 4
"""Bubblewrap outside and inside, and the shells that start it and the command."""
_ENTER = 'echo 0 >"$0" && exec "$@"'
_ROUNDS = 1000
_ROUND_S = 0.01


@dataclass(frozen=True)
class KernelLimits:
    """The cgroup of one command, or none."""

    path: Path | None

    def entering(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command that enters the cgroup and becomes `argv`, or fails."""
        if self.path is None:
            return argv
        return ("/bin/sh", "-c", _ENTER, str(self.path / "cgroup.procs"), *argv)

    def judged(self, ended: Ended) -> Ended:
        """Distinguish an end for lack of memory from any other death; only the kernel knows."""
        if self.path is None or ended.end not in {"exited", "signalled"}:
            return ended
        events = (self.path / "memory.events").read_text()
        if not re.search(r"^oom_kill [1-9]", events, re.MULTILINE):
            return ended
        return replace(ended, end="out_of_memory", code=int(signal.SIGKILL))


@contextlib.asynccontextmanager
async def kernel_limits(place: Path | None, limits: Limits) -> AsyncGenerator[KernelLimits]:
    """Make a cgroup for one command; on leaving, end its processes and remove it.

    Args:
        place: the delegated cgroup; None: the kernel enforces no limits on the whole.
        limits: the command's; only `memory_bytes` and `processes` are used.

    Raises:
        SandboxUnavailableError: it cannot be made there.
    """
    if place is None:
        yield KernelLimits(None)
        return
    # A killed worker with the same number may have left one behind.
    path = place / f"run-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        _make(path, limits)
        yield KernelLimits(path)
    finally:
        await uninterrupted(_remove(path))


def sweep_cgroups(place: Path) -> None:
    """End and remove the cgroups that killed workers left in `place`, within ten seconds."""
    left = [path for path in place.glob("run-*-*") if not _has_worker(path)]
    for path in left:
        _kill(path)
    for _ in range(_ROUNDS):
        left = [path for path in left if not _is_done(path)]
        if not left:
            return
        time.sleep(_ROUND_S)


def _has_worker(path: Path) -> bool:
    return Path("/proc", path.name.split("-")[1]).exists()


def _make(path: Path, limits: Limits) -> None:
    values = {
        "memory.max": limits.memory_bytes,
        "memory.oom.group": 1,
        "pids.max": limits.processes + _OWN_PROCESSES,
    }
    try:
        path.mkdir()
        if (path / "memory.swap.max").exists():
            values["memory.swap.max"] = 0
        for name, value in values.items():
            (path / name).write_text(str(value))
    except OSError as error:
        raise SandboxUnavailableError(
            f"No cgroup for the command can be made: {error}. Delegate the place that "
            "BLUEFLAME_CGROUP names to this user, or unset it."
        ) from error


async def _remove(path: Path) -> None:
    """Kill, wait until it is empty, remove. Processes that do not die in ten seconds are left."""
    _kill(path)
    for _ in range(_ROUNDS):
        if _is_done(path):
            return
        await asyncio.sleep(_ROUND_S)


def _kill(path: Path) -> None:
    with contextlib.suppress(OSError):
        (path / "cgroup.kill").write_text("1")


def _is_done(path: Path) -> bool:
    """Remove a cgroup; return False while it still has processes."""
    try:
        path.rmdir()
    except OSError as error:
        return error.errno != errno.EBUSY
    return True
