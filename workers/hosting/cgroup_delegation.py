"""Prepares a delegated cgroup for the commands of a host worker.

A person names it in `BLUEFLAME_CGROUP`: a path below `/sys/fs/cgroup`, or `own` for the cgroup
that the worker was started in (a systemd unit with `Delegate=yes`). Blue Flame's processes move
into its leaf `LEAF`, because the kernel gives controllers only to the children of a cgroup that
holds no process itself. Each command then gets a child next to that leaf. Source: the kernel's
`admin-guide/cgroup-v2`, "Delegation" and "No Internal Process Constraint".
"""

import os
from pathlib import Path

from activities.adapters.sandbox.processes.cgroups import sweep_cgroups

OWN = "own"
LEAF = "workers.blueflame"
"""Blue Flame moved every process in a cgroup of this name there; no other program should use it."""
_MOUNT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("memory", "pids")
_ROUNDS = 1000
_GIVEN = ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads")
"""The files that the kernel's documentation names as delegated, besides the directory."""


class DelegationError(Exception):
    """The cgroup directory that was named cannot be used; the message says why and what to do."""


def place_of(named: str | None) -> Path | None:
    """Return the delegated cgroup's directory; None if no directory is named.

    Raises:
        DelegationError: it is not a cgroup of version 2 that limits memory and processes, or it
            belongs to another user.
    """
    if named is None:
        return None
    place = _unit() if named == OWN else Path(named)
    try:
        there = (place / "cgroup.controllers").read_text().split()
    except OSError as error:
        raise DelegationError(
            f"BLUEFLAME_CGROUP={named!r} is not a cgroup of version 2 ({error}); name a directory "
            f"below {str(_MOUNT)!r} that was delegated to this user, or unset it"
        ) from error
    missing = [name for name in _CONTROLLERS if name not in there]
    if missing:
        raise DelegationError(
            f"BLUEFLAME_CGROUP={named!r} stands for {str(place)!r}, which has no controller "
            f"{' and '.join(missing)}; enable it in its parent's cgroup.subtree_control (systemd: "
            "`Delegate=memory pids`), or unset the variable"
        )
    if not os.access(place, os.W_OK):
        raise DelegationError(
            f"BLUEFLAME_CGROUP={named!r} stands for {str(place)!r}, which is not delegated to this "
            "user (systemd: `Delegate=memory pids`); delegate it, or unset the variable"
        )
    return place


def claim(place: Path, uid: int, gid: int) -> None:
    """Prepare a cgroup for commands of `uid`: move in, enable, change owner, sweep. Repeatable.

    Raises:
        DelegationError: this user may not change it.
    """
    try:
        _move_in(place)
        _enable(place)
        if os.geteuid() == 0:
            for path in (place, *(place / name for name in _GIVEN)):
                os.chown(path, uid, gid)
        sweep_cgroups(place)
    except OSError as error:
        raise DelegationError(
            f"the cgroup {str(place)!r} cannot be arranged: {error}; delegate it to this user "
            "(systemd: `Delegate=memory pids`), or unset BLUEFLAME_CGROUP"
        ) from error


def _unit() -> Path:
    """Return the cgroup that the worker was started in, even after it moved into the leaf."""
    own = _own()
    return own.parent if own.name == LEAF else own


def _own() -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::/"):
            return _MOUNT / line.removeprefix("0::/")
    raise DelegationError("BLUEFLAME_CGROUP=own: this process is in no cgroup of version 2")


def _move_in(place: Path) -> None:
    leaf = place / LEAF
    leaf.mkdir(exist_ok=True)
    if not (leaf / "cgroup.kill").exists():
        raise DelegationError(
            f"the kernel cannot end a whole cgroup in {str(place)!r}; that takes Linux 5.14 or "
            "newer: unset BLUEFLAME_CGROUP"
        )
    own = _own()
    if own == leaf:
        return
    _move(str(os.getpid()), leaf)
    if own != place:
        return  # Processes in a foreign cgroup may belong to other programs.
    # Repeated, because they may start others; a process of another namespace (0) stays.
    for _ in range(_ROUNDS):
        members = (place / "cgroup.procs").read_text().split()
        for pid in members:
            _move(pid, leaf)
        if not members:
            return


def _move(pid: str, leaf: Path) -> None:
    try:
        (leaf / "cgroup.procs").write_text(pid)
    except ProcessLookupError:
        return  # It has already ended.


def _enable(place: Path) -> None:
    control = place / "cgroup.subtree_control"
    if not set(_CONTROLLERS) <= set(control.read_text().split()):
        control.write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
