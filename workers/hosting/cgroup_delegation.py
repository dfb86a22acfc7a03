"""Prepares a delegated cgroup for the commands of a host worker.

A person names it in `BLUEFLAME_CGROUP`: a path below `/sys/fs/cgroup`, or `own`, which is the one
that the worker was started in (a systemd unit with `Delegate=yes`). Blue Flame's processes go into
its leaf `LEAF`, because the kernel gives controllers only to the children of a cgroup that holds no
process itself; each command then gets a child beside that leaf. Source: the kernel's
`admin-guide/cgroup-v2`, "Delegation" and "No Internal Process Constraint".
"""

import os
from pathlib import Path

from activities.adapters.sandbox.cgroups import sweep_cgroups

OWN = "own"
LEAF = "workers.blueflame"
"""Whoever is in a cgroup of this name was moved there by us, so no one else should choose it."""
_MOUNT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("memory", "pids")
_ROUNDS = 1000
_GIVEN = ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads")
"""What the kernel's documentation names as delegated, beside the directory."""


class DelegationError(Exception):
    """The place named for cgroups cannot be used; the message says why and what to do."""


def place_of(named: str | None) -> Path | None:
    """Return the delegated cgroup's directory; None where none is named.

    Raises:
        DelegationError: it is not a cgroup of version 2 that limits memory and processes, or it is
            someone else's.
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
    """Make a place ready for commands of `uid`: move in, enable, give, sweep. Safe to repeat.

    Raises:
        DelegationError: this user may not arrange it.
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
    """Return the cgroup that we were started in, though we may have moved into its leaf since."""
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
        return  # Others in it may be anyone's; only in its own cgroup are they of this unit.
    # Repeated, for they may start others; but one of another namespace (0) stays.
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
        return  # It has ended since.


def _enable(place: Path) -> None:
    control = place / "cgroup.subtree_control"
    if not set(_CONTROLLERS) <= set(control.read_text().split()):
        control.write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
