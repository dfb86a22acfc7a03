"""Reads what processes, and all that they started, used of processor and memory, from `/proc`."""

import os
from pathlib import Path
from typing import Final

_TICK: Final = os.sysconf("SC_CLK_TCK")
_PARENT, _UTIME, _CSTIME = 1, 11, 14
"""Places of the fields of `/proc/<pid>/stat` behind the program's name (proc(5))."""


def below(root: int) -> float:
    """Return the seconds that all descendants of a process used, including ended and reaped ones.

    The process itself does not count. An ended child counts with its parent, so the difference of
    two readings is the time used between them if the other processes stay alive.
    """
    table = {pid: fields for pid in _pids() if (fields := _stat(pid)) is not None}
    children: dict[int, list[int]] = {}
    for pid, fields in table.items():
        children.setdefault(int(fields[_PARENT]), []).append(pid)
    ticks = 0
    waiting = list(children.get(root, []))
    while waiting:
        pid = waiting.pop()
        ticks += sum(int(each) for each in table[pid][_UTIME : _CSTIME + 1])
        waiting += children.get(pid, [])
    return ticks / _TICK


def of(*words: str) -> float:
    """Return the seconds of the processes with these arguments, and of all their descendants."""
    found = [pid for pid in _pids() if set(words) <= set(_arguments(pid))]
    return sum(below(pid) + _own(pid) for pid in found)


def peak_mb(*words: str) -> float:
    """Return the most memory in MB that one of the processes with these arguments ever held."""
    found = [_status(pid, "VmHWM") for pid in _pids() if set(words) <= set(_arguments(pid))]
    return max(found, default=0) / 1024


def _status(pid: int, key: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key}:")), 0)


def _own(pid: int) -> float:
    fields = _stat(pid) or ["0"] * (_CSTIME + 1)
    return sum(int(each) for each in fields[_UTIME : _CSTIME + 1]) / _TICK


def _arguments(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()
