"""Watches what a running command uses, and reports when it is too much.

This works everywhere: the kernel's limits per process (set by the launcher) plus samples of the
whole. It overshoots by what a command takes within one interval, and it cannot see socket and pipe
buffers or descriptors in flight. A delegated cgroup (`cgroups`) closes these gaps.
"""

import asyncio
import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from activities.adapters.sandbox.child_process import Breach

_INTERVAL_S = 0.1
_ROUNDS_PER_DESCRIPTOR_SCAN = 5
_ROUNDS_PER_WALK = 100
_OWN_MEMORY = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
_BLOCK_BYTES = 512
_MOST_NEW_FILES = 200_000
"""On disk, and on the in-memory file systems, where an empty file costs a kilobyte of memory."""
_CLOCK_LEEWAY_NS = 20_000_000
"""Files get the time of the kernel's last tick."""


class Meter(Protocol):
    """What a command uses at this moment."""

    def memory_bytes(self, *, exact: bool) -> int:
        """Memory in use; `exact` divides shared pages among their users, which is slow."""
        ...

    def scratch_files(self) -> int:
        """Files on the command's private in-memory file systems."""
        ...

    def unlinked_bytes(self) -> dict[int, int]:
        """Bytes of open files that have no name (deleted, or never had one), by device number."""
        ...


@dataclass(frozen=True)
class ProcMeter:
    """Reads a `/proc`, and the in-memory file systems that belong only to the command."""

    proc: Path
    """For a sandbox the inner one, which shows only its processes."""
    scratch: tuple[Path, ...] = ()
    """Mount points as seen from this process."""
    session: int | None = None
    """Count only processes of this session; None: all."""

    def memory_bytes(self, *, exact: bool) -> int:
        """Sum the processes' own memory and the in-memory file systems."""
        measure = _proportional_bytes if exact else _anonymous_bytes
        used = sum((one.f_blocks - one.f_bfree) * one.f_frsize for one in self._scratch())
        return used + sum(measure(process) for process in self._processes())

    def scratch_files(self) -> int:
        """Count the files on the in-memory file systems."""
        return sum(one.f_files - one.f_ffree for one in self._scratch())

    def unlinked_bytes(self) -> dict[int, int]:
        """Sum the open nameless files, each once, however many processes hold it."""
        files = {key: size for one in self._processes() for key, size in _unlinked_files(one)}
        sums: dict[int, int] = {}
        for (device, _), size in files.items():
            sums[device] = sums.get(device, 0) + size
        return sums

    def _processes(self) -> Iterator[Path]:
        with contextlib.suppress(OSError):
            for name in os.listdir(self.proc):
                path = self.proc / name
                if name.isdigit() and (self.session is None or session_of(path) == self.session):
                    yield path

    def _scratch(self) -> Iterator[os.statvfs_result]:
        for mount in self.scratch:
            with contextlib.suppress(OSError):
                yield os.statvfs(mount)


@dataclass
class Watchdog:
    """Compares samples with the limits until one is broken. Create it before the command starts."""

    workspace: Path
    memory_bytes: int
    disk_bytes: int
    _free: int = field(default=0, init=False)
    _inodes: int = field(default=0, init=False)
    _device: int = field(default=0, init=False)
    _since_ns: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._since_ns = time.time_ns() - _CLOCK_LEEWAY_NS
        self._device = os.stat(self.workspace).st_dev
        self._remember_free()

    async def breach(self, meter: Meter) -> Breach:
        """Sample until a limit is broken, and return which."""
        number = 0
        while True:
            await asyncio.sleep(_INTERVAL_S)
            number += 1
            broken = self._memory_breach(meter, number) or await self._disk_breach(number)
            if broken:
                return broken

    def _memory_breach(self, meter: Meter, number: int) -> Breach | None:
        nameless = {} if number % _ROUNDS_PER_DESCRIPTOR_SCAN else meter.unlinked_bytes()
        if nameless.pop(self._device, 0) > self.disk_bytes:
            return "out_of_disk"
        used = meter.memory_bytes(exact=False) + sum(nameless.values())
        if used > self.memory_bytes:
            used = meter.memory_bytes(exact=True) + sum(nameless.values())
        too_many = meter.scratch_files() > _MOST_NEW_FILES
        return "out_of_memory" if used > self.memory_bytes or too_many else None

    async def _disk_breach(self, number: int) -> Breach | None:
        """Walk the tree only when the file system has filled notably, or at long intervals."""
        if number % _ROUNDS_PER_WALK and not self._has_filled():
            return None
        self._remember_free()
        size, files = await asyncio.to_thread(written_since, self.workspace, self._since_ns)
        return "out_of_disk" if size > self.disk_bytes or files > _MOST_NEW_FILES else None

    def _has_filled(self) -> bool:
        now = os.statvfs(self.workspace)
        filled = self._free - now.f_bfree * now.f_frsize
        return filled > self.disk_bytes // 8 or self._inodes - now.f_ffree > _MOST_NEW_FILES // 8

    def _remember_free(self) -> None:
        now = os.statvfs(self.workspace)
        self._free, self._inodes = now.f_bfree * now.f_frsize, now.f_ffree


def written_since(root: Path, since_ns: int) -> tuple[int, int]:
    """Sum the disk space of all files under `root` that were changed since `since_ns`.

    Returns:
        Bytes on disk (a file with several names counts once), and how many files.
    """
    seen: dict[int, int] = {}
    pending = [os.fspath(root)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    pending.append(entry.path)
                if found.st_ctime_ns >= since_ns:
                    seen[found.st_ino] = found.st_blocks * _BLOCK_BYTES
    return sum(seen.values()), len(seen)


def session_of(process: Path) -> int | None:
    """Return the session id of a `/proc/<pid>`; None if the process is gone."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, IndexError, ValueError):
        return None


def _anonymous_bytes(process: Path) -> int:
    """Sum a process's own pages and those of shared memory, which `statm` counts as files."""
    with contextlib.suppress(OSError, ValueError):
        text = (process / "status").read_bytes()
        return sum(int(found) << 10 for found in _OWN_MEMORY.findall(text))
    return 0


def _proportional_bytes(process: Path) -> int:
    wanted = (b"Pss_Anon:", b"Pss_Shmem:")
    with contextlib.suppress(OSError, IndexError, ValueError):
        lines = (process / "smaps_rollup").read_bytes().splitlines()
        return sum(int(one.split()[1]) << 10 for one in lines if one.startswith(wanted))
    return 0


def _unlinked_files(process: Path) -> Iterator[tuple[tuple[int, int], int]]:
    with contextlib.suppress(OSError):
        for name in os.listdir(process / "fd"):
            with contextlib.suppress(OSError):
                found = os.stat(process / "fd" / name)
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                    yield (found.st_dev, found.st_ino), found.st_blocks * _BLOCK_BYTES
