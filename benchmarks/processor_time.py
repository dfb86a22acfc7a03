"""The processor time of this process's descendants, from /proc. Linux only."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def children() -> set[int]:
    """Return the ids of all processes below this one."""
    parents = {pid: int(fields[1]) for pid, fields in _processes().items()}
    found: set[int] = set()
    fresh = {os.getpid()}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def seconds_of(processes: set[int]) -> float:
    """Return the processor time so far of processes and of all that they waited for, in seconds."""
    found = _processes()
    # utime, stime, cutime, cstime: fields 14 to 17 of the file, of which the first two are cut off.
    ticks = (sum(map(int, found[pid][11:15])) for pid in processes if pid in found)
    return sum(ticks) / _TICKS


def _processes() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = place.read_text()
        except OSError:
            continue  # it has just ended
        found[int(place.parent.name)] = text.rpartition(")")[2].split()
    return found
