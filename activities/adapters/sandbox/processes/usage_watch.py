"""Watches what a running command uses, and reports when it is too much.

This works everywhere: the kernel's limits per process (set by the launcher) plus samples of the
whole. It overshoots by what a command takes within one interval, and it cannot see socket and pipe
buffers or descriptors in flight. A delegated cgroup (`cgroups`) closes these gaps.

Files that cannot be counted (in a folder that was closed, or held by a process that hides its
descriptors) are taken for as much as the whole file system has filled.
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

from activities.adapters.sandbox.processes.child_process import Breach

_INTERVAL_S = 0.1
_ROUNDS_PER_DESCRIPTOR_SCAN = 5
_ROUNDS_PER_WALK = 100
_OWN_MEMORY = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
_BLOCK_BYTES = 512
_MOST_NEW_FILES = 200_000
"""On disk, and on the in-memory file systems, where an empty file costs a kilobyte of memory."""
_CLOCK_LEEWAY_NS = 20_000_000
"""Files get the time of the kernel's last tick."""
_LONGEST_PATH = 3_000
"""Characters; below it a folder is named by a descriptor: the kernel takes at most 4,095."""
_MAPPED = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) .* \(deleted\)$", re.MULTILINE
)


@dataclass(frozen=True)
class Nameless:
    """Open or mapped files that have no name: deleted, or never had one."""

    by_device: dict[int, int] = field(default_factory=dict[int, int])
    """Bytes by device number."""
    is_whole: bool = True
    """No process hides its descriptors (`PR_SET_DUMPABLE`)."""


@dataclass(frozen=True)
class Written:
    """The files of a tree that were changed since some time."""

    size_bytes: int
    """On disk; a file with several names counts once."""
    files: int
    is_whole: bool
    """Every folder could be read."""


class Meter(Protocol):
    """What a command uses at this moment."""

    def memory_bytes(self, *, exact: bool) -> int:
        """Memory in use; `exact` divides shared pages among their users, which is slow."""
        ...

    def scratch_files(self) -> int:
        """Files on the command's private in-memory file systems."""
        ...

    def nameless(self) -> Nameless:
        """Open and mapped files that have no name."""
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

    def nameless(self) -> Nameless:
        """Sum the nameless files, each once, however many processes hold it."""
        files: dict[tuple[int, int], int] = {}
        is_whole = True
        for process in self._processes():
            try:
                files |= _mapped_files(process) | _unlinked_files(process)
            except PermissionError:
                is_whole = False
        sums: dict[int, int] = {}
        for (device, _), size in files.items():
            sums[device] = sums.get(device, 0) + size
        return Nameless(sums, is_whole)

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
    _devices: frozenset[int] = field(default=frozenset(), init=False)
    """On them nameless files take disk, elsewhere memory."""
    _since_ns: int = field(default=0, init=False)
    _free_at_first: int = field(default=0, init=False)
    _sees_all: bool = field(default=True, init=False)
    """No process has hidden its descriptors yet."""

    def __post_init__(self) -> None:
        self._since_ns = time.time_ns() - _CLOCK_LEEWAY_NS
        self._devices = frozenset({os.stat(self.workspace).st_dev})
        self._remember_free()
        self._free_at_first = self._free

    async def breach(self, meter: Meter, seen: Path | None = None) -> Breach:
        """Sample until a limit is broken, and return which.

        Args:
            meter: what to read.
            seen: the workspace as the command sees it; with a layer beneath, it is another device.
        """
        with contextlib.suppress(OSError):
            self._devices |= {os.stat(seen or self.workspace).st_dev}
        number = 0
        while True:
            await asyncio.sleep(_INTERVAL_S)
            number += 1
            broken = self._memory_breach(meter, number) or await self._disk_breach(number)
            if broken:
                return broken

    def _memory_breach(self, meter: Meter, number: int) -> Breach | None:
        found = Nameless() if number % _ROUNDS_PER_DESCRIPTOR_SCAN else meter.nameless()
        self._sees_all = self._sees_all and found.is_whole
        nameless = dict(found.by_device)
        if sum(nameless.pop(one, 0) for one in self._devices) > self.disk_bytes:
            return "out_of_disk"
        used = meter.memory_bytes(exact=False) + sum(nameless.values())
        if used > self.memory_bytes:
            used = meter.memory_bytes(exact=True) + sum(nameless.values())
        too_many = meter.scratch_files() > _MOST_NEW_FILES
        return "out_of_memory" if used > self.memory_bytes or too_many else None

    async def _disk_breach(self, number: int) -> Breach | None:
        """Walk the tree only when the file system has changed notably, or at long intervals."""
        if number % _ROUNDS_PER_WALK and not self._has_changed():
            return None
        self._remember_free()
        written = await asyncio.to_thread(written_since, self.workspace, self._since_ns)
        is_over = written.size_bytes > self.disk_bytes or written.files > _MOST_NEW_FILES
        if not (written.is_whole and self._sees_all):
            is_over = is_over or self._free_at_first - self._free > self.disk_bytes
        return "out_of_disk" if is_over else None

    def _has_changed(self) -> bool:
        # In either direction: what others delete at the same time hides what is written here.
        now = os.statvfs(self.workspace)
        changed = abs(self._free - now.f_bfree * now.f_frsize)
        return changed > self.disk_bytes // 8 or (
            abs(self._inodes - now.f_ffree) > _MOST_NEW_FILES // 8
        )

    def _remember_free(self) -> None:
        now = os.statvfs(self.workspace)
        self._free, self._inodes = now.f_bfree * now.f_frsize, now.f_ffree


def written_since(root: Path, since_ns: int) -> Written:
    """Sum the disk space of all files under `root` that were changed since `since_ns`.

    A folder that was closed before then is left out: nothing below it was reachable since.
    """
    seen: dict[int, int] = {}
    try:
        is_whole = _walk(os.fspath(root), since_ns, seen)
    except (OSError, RecursionError):
        is_whole = False
    return Written(sum(seen.values()), len(seen), is_whole)


def _walk(top: str, since_ns: int, seen: dict[int, int]) -> bool:
    """Add what was changed to `seen`, by inode; return whether everything could be read."""
    is_whole = True
    pending = [top]
    while pending:
        place = pending.pop()
        if len(place) - len(top) > _LONGEST_PATH:
            is_whole = _walk_deep(place, since_ns, seen) and is_whole
            continue
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    _count(entry, since_ns, seen, pending)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            is_whole = is_whole and not _is_newer(place, since_ns)
    return is_whole


def _walk_deep(place: str, since_ns: int, seen: dict[int, int]) -> bool:
    try:
        fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return True
    try:
        return _walk(f"/proc/self/fd/{fd}", since_ns, seen)
    finally:
        os.close(fd)


def _count(
    entry: os.DirEntry[str], since_ns: int, seen: dict[int, int], pending: list[str]
) -> None:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        pending.append(entry.path)
    if found.st_ctime_ns >= since_ns:
        seen[found.st_ino] = found.st_blocks * _BLOCK_BYTES


def _is_newer(place: str, since_ns: int) -> bool:
    try:
        return os.lstat(place).st_ctime_ns >= since_ns
    except FileNotFoundError:
        return False
    except OSError:
        return True


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
    try:
        lines = (process / "smaps_rollup").read_bytes().splitlines()
        return sum(int(one.split()[1]) << 10 for one in lines if one.startswith(wanted))
    except PermissionError:
        return _anonymous_bytes(process)  # the process hides it, but not what it has for its own
    except (OSError, IndexError, ValueError):
        return 0


def _unlinked_files(process: Path) -> dict[tuple[int, int], int]:
    """Return the bytes of open nameless files by device and inode.

    Raises:
        PermissionError: the process hides its descriptors.
    """
    files: dict[tuple[int, int], int] = {}
    for name in _descriptors(process):
        with contextlib.suppress(OSError):
            found = os.stat(process / "fd" / name)
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                files[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK_BYTES
    return files


def _descriptors(process: Path) -> list[str]:
    try:
        return os.listdir(process / "fd")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _mapped_files(process: Path) -> dict[tuple[int, int], int]:
    """Return the mapped bytes of nameless files: a mapping outlives its descriptor.

    Raises:
        PermissionError: the process hides its mappings.
    """
    files: dict[tuple[int, int], int] = {}
    try:
        text = (process / "maps").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return files
    if b" (deleted)" not in text:
        return files
    for low, high, major, minor, inode in _MAPPED.findall(text):
        key = os.makedev(int(major, 16), int(minor, 16)), int(inode)
        files[key] = files.get(key, 0) + int(high, 16) - int(low, 16)
    return files
