"""Drops root for good, once per worker, and keeps what the worker needs in reach.

A worker that was started as root enters its own mount namespace. Directories on the way to a
needed path that its new uid could not pass (mostly a home of mode 0700) are covered by an empty
in-memory file system, and only the named paths are bound back. Then it takes the new uid with no
capability and no way back, and executes itself again. From then on it is an ordinary process.

If an ordinary user starts it, none of this happens. This module does not confine commands (the
sandbox does) and does not decide which roles need root (`land` does: it uses the person's rights).
"""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel, Field

from workers.settings import DROPPED_ID

_CLONE_NEWNS = 0x00020000
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_CAPABILITIES = {"CAP_CHOWN": 0, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SYS_ADMIN": 21}
_PERSONAL = ("USER", "LOGNAME", "MAIL", "SUDO_USER", "SUDO_UID", "SUDO_GID", "SUDO_COMMAND")


class PrivilegeError(Exception):
    """Root cannot be dropped safely; the message says why and how to fix it."""


class PrivilegePlan(BaseModel, frozen=True, extra="forbid"):
    """What a process becomes, and what it keeps."""

    argv: tuple[str, ...] = Field(min_length=1)
    """What to execute afterwards; the first part is an absolute path."""
    cwd: Path
    """The working directory, which must be reachable afterwards."""
    writable: tuple[Path, ...]
    """Directories of the new uid (see `prepare_data_dir`); the first becomes its HOME."""
    readable: tuple[Path, ...]
    """Directories to keep in reach, read-only: interpreter, virtual environment, code."""
    uid: int = Field(default=DROPPED_ID, gt=0)
    gid: int = Field(default=DROPPED_ID, gt=0)
    env: tuple[tuple[str, str], ...] = ()
    """Added to the environment."""
    dropped_env: tuple[str, ...] = ()
    """Prefixes of names, in capitals; the environment loses every variable with one of them."""


def prepare_data_dir(
    data_dir: Path, uid: int = DROPPED_ID, gid: int = DROPPED_ID
) -> tuple[Path, ...]:
    """Make the host's part of the data directory and give it to the uid that the host drops to.

    Covers only `host/` and the shared `store/`; the rest stays root's. Without root, they are only
    made. The top of each tree is given last, so that an interrupted walk is repeated.

    Returns:
        The two directories, for `PrivilegePlan.writable`.
    """
    made = tuple(data_dir / name for name in ("host", "store"))
    for path in made:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        if os.geteuid() == 0 and path.stat().st_uid != uid:
            _give(path, uid, gid)
    return made


def enter(plan: PrivilegePlan) -> None:
    """Drop root and execute `plan.argv`; return at once if this process is not root.

    Raises:
        PrivilegeError: a capability is missing, or a path cannot be kept. Only this process's own
            view of the mounts has changed; the process should end.
    """
    if os.geteuid() != 0:
        return
    _require_capabilities()
    _require_owner(plan)
    _hide_and_bind(plan)
    os.chdir(plan.cwd)
    dropped = tuple(plan.dropped_env)
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in _PERSONAL and not name.upper().startswith(dropped)
    }
    env |= {"HOME": str(plan.writable[0]) if plan.writable else "/", **dict(plan.env)}
    _become(plan, env)


def closed_directories(paths: Iterable[Path], uid: int, gid: int) -> tuple[Path, ...]:
    """Return the outermost directories that keep `uid` from `paths`, each once, in order."""
    closed = (_first_closed(path, uid, gid) for path in paths)
    return tuple(sorted({path for path in closed if path is not None}))


def _first_closed(path: Path, uid: int, gid: int) -> Path | None:
    for parent in reversed(path.parents):
        if not _may_pass(parent.stat(), uid, gid):
            return parent
    return None


def _may_pass(found: os.stat_result, uid: int, gid: int) -> bool:
    """Whether a directory lets this uid through; the kernel checks only one class of bits."""
    if found.st_uid == uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def _require_capabilities() -> None:
    status = Path("/proc/self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    missing = [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]
    if missing:
        raise PrivilegeError(
            f"This process is root but lacks {', '.join(missing)}, so it cannot drop its "
            "privileges in order. In a container add `--cap-add SYS_ADMIN`, or start the worker as "
            "an ordinary user (`--user`)."
        )


def _require_owner(plan: PrivilegePlan) -> None:
    for path in plan.writable:
        if path.stat().st_uid != plan.uid:
            raise PrivilegeError(
                f"{str(path)!r} does not belong to uid {plan.uid}. Give it to that uid first: "
                f"`chown -R {plan.uid}:{plan.gid} {path}`."
            )
    for path in plan.readable:
        if not _may_pass(path.stat(), plan.uid, plan.gid):
            raise PrivilegeError(
                f"{str(path)!r} is closed to all but root, so the worker could not read it. Open "
                f"it: `chmod -R go+rX {path}`, or install elsewhere."
            )


def _hide_and_bind(plan: PrivilegePlan) -> None:
    """Cover closed directories, and bind the kept ones back.

    The kept directories are opened before they are covered: an open directory can be bound from
    `/proc/self/fd` even if its path is hidden by then. They are opened after `unshare`, because the
    kernel binds only from mounts of the process's own namespace.
    """
    kept = dict.fromkeys(_names(plan.readable), _RDONLY)
    kept |= dict.fromkeys(_names(plan.writable), 0)
    closed = closed_directories(kept, plan.uid, plan.gid)
    _call("unshare", _CLONE_NEWNS)
    _mount("none", "/", _REC | _PRIVATE)
    below = [path for path in kept if any(map(path.is_relative_to, closed))]
    opened = {path: os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for path in below}
    for path in closed:
        _mount("tmpfs", str(path), _NOSUID | _NODEV, "tmpfs", "mode=0755,size=1m")
    for path in sorted(below, key=lambda one: len(one.parts)):
        path.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{opened[path]}", str(path), _BIND | _REC)
        _mount("none", str(path), _REMOUNT | _BIND | _NOSUID | _NODEV | kept[path])
    for path in closed:
        _mount("none", str(path), _REMOUNT | _NOSUID | _NODEV | _RDONLY)


def _names(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield each path as named and as resolved, because both names may be in use."""
    for path in paths:
        yield path.absolute()
        yield path.resolve(strict=True)


def _become(plan: PrivilegePlan, env: Mapping[str, str]) -> NoReturn:
    options = (
        *(f"--reuid={plan.uid}", f"--regid={plan.gid}", "--clear-groups", "--no-new-privs"),
        *("--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"),
    )
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(  # noqa: S606 -- no shell is wanted
            "/usr/bin/setpriv", ("setpriv", *options, "--", *plan.argv), env
        )
    except OSError as error:
        raise PrivilegeError(
            f"'/usr/bin/setpriv' does not start: {error}. Install it: `apt-get install util-linux`."
        ) from error


def _give(top: Path, uid: int, gid: int) -> None:
    """Change the owner of a tree without following links, because its content may be an agent's."""
    for _, folders, files, fd in os.fwalk(top, topdown=False, follow_symlinks=False):
        for name in (*folders, *files):
            os.chown(name, uid, gid, dir_fd=fd, follow_symlinks=False)
    os.chown(top, uid, gid, follow_symlinks=False)


def _mount(source: str, target: str, flags: int, kind: str | None = None, data: str = "") -> None:
    encoded = (os.fsencode(source), os.fsencode(target), kind and kind.encode())
    _call("mount", *encoded, ctypes.c_ulong(flags), data.encode() or None)


def _call(name: str, *arguments: object) -> None:
    """Call the C library; Python 3.11 has neither `unshare` nor `mount`."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        code = ctypes.get_errno()
        hint = "In a container add `--cap-add SYS_ADMIN`." if code == errno.EPERM else ""
        shown = ", ".join(repr(one) for one in arguments[:2])
        raise PrivilegeError(f"{name}({shown}) failed: {os.strerror(code)}. {hint}".rstrip())
