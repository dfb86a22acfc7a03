"""Processor time of our own processes and of all that they started, from `/proc`."""

import os
from pathlib import Path
from typing import Final

_TICK: Final = os.sysconf("SC_CLK_TCK")
_PARENT, _UTIME, _CSTIME = 1, 11, 14
"""Places of the fields of `/proc/<pid>/stat` behind the program's name (proc(5))."""


def below(root: int) -> float:
    """Return the seconds that all descendants of a process used, ended and reaped ones included.

    Without the process itself. A child that ended before it was asked for counts with its parent,
    so two readings of a tree whose members stay alive differ by what was used between them.
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


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()
