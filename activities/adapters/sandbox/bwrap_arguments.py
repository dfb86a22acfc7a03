"""The command line of bubblewrap: what exists inside, and nothing else. Pure; starts nothing.

Each line closes a known hole; the attack suite names them. The rules: the root is an allow-list;
every in-memory file system has a size; no mount target is below a directory that the agent can
write (bubblewrap before 0.12 follows a link planted there), except `/workspace/.git`, which is
checked before each start.
"""

import functools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from activities.adapters.sandbox import root_folder
from activities.adapters.sandbox.blueflame_programs import own_programs
from activities.ports.sandbox_port import (
    INSIDE,
    WORKSPACE,
    Limits,
    SandboxUnavailableError,
    Workspace,
)
from activities.ports.toolchain_places import masked_files

HOME = "/home/agent"
GIT_DIR = "/git"
_USER, _ID = "agent", 1000

_ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl", "/etc/pki")
"""Machine-independent parts of /etc that programs need; each costs a quarter of a millisecond."""

_STUBS = "/etc/no-terminal"
_OWN = "/etc/own-programs"
"""Last in PATH: ripgrep, and a Python under the names that nothing else provides."""
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_STUB = """\
#!/bin/sh
# There is no terminal here, and some editors wait for one for ever. Scripted use goes through.
name=${0##*/}
for one in "$@"; do
  case "$one" in -es | -Es | -e | -s | --batch | -batch | --version | --help)
    exec "/usr/bin/$name" "$@" ;;
  esac
done
echo "$name: there is no terminal here. Use the edit or write tool, sed, or a here-document." >&2
exit 1
"""
_INTERACTIVE = ("vi", "vim", "view", "vimdiff", "ex", "nano", "pico", "emacs", "mcedit", "watch")

_FILES = {
    "/etc/passwd": f"{_USER}:x:{_ID}:{_ID}::{HOME}:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n",
    "/etc/group": f"{_USER}:x:{_ID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

_GIT_PARTS = ("HEAD", "config", "packed-refs", "shallow", "info")
"""The visible parts of a bare repository. Not FETCH_HEAD and logs (they name the user's paths), not
hooks, not other worktrees, and no refs except tags and remote-tracking names (`packed-refs`)."""
_OBJECTS = f"{GIT_DIR}/base-objects"
_OWN_BYTES = 1 << 20
_OWN_PARTS = ("HEAD", "commondir", "index")
"""The parts of a worktree's own git folder of which each command gets a copy that it may change."""

_ENVIRONMENT = {
    "HOME": HOME,
    "USER": _USER,
    "LOGNAME": _USER,
    "SHELL": "/bin/bash",
    "TMPDIR": "/tmp",  # noqa: S108 -- the sandbox's own
    "TERM": "dumb",
    "NO_COLOR": "1",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "CI": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PIP_NO_INPUT": "1",
    "DEBIAN_FRONTEND": "noninteractive",
}


_KEYS = ("key-users", "keys")
"""Files of /proc that no namespace confines and every user may read: they name the keyrings of the
user who runs the worker. Others of that kind (`kcore`, `timer_list` …) need the host's root."""


def environment(
    toolchain: Iterable[Path], added: tuple[tuple[str, str], ...], own: str = _OWN
) -> dict[str, str]:
    """Return the whole environment of a command; it holds nothing of the host's.

    Args:
        toolchain: prefixes whose `bin` come first in PATH.
        added: further variables.
        own: the folder that comes last in PATH; see `own_links`.
    """
    path = ":".join([_STUBS, *_tools(toolchain), _SYSTEM_PATH, own])
    return {"PATH": path, **_ENVIRONMENT, **dict(added), INSIDE: "1"}


def _tools(toolchain: Iterable[Path]) -> list[str]:
    return [str(prefix / "bin") for prefix in toolchain if (prefix / "bin").is_dir()]


def own_links(toolchain: Iterable[Path]) -> dict[str, str]:
    """Return links for the names of Python that neither toolchains nor the system provide.

    If one of the two names exists, the other one links to the same program. If neither exists,
    both link to the interpreter that runs Blue Flame, without its packages.
    """
    path = ":".join([*_tools(toolchain), _SYSTEM_PATH])
    found = {name: shutil.which(name, path=path) for name in ("python", "python3")}
    known = found["python3"] or found["python"] or str(own_programs().interpreter)
    return {name: known for name, place in found.items() if place is None}


Data = Callable[[bytes, str], int]
"""Makes a descriptor that holds these bytes; the launcher passes and closes it."""


@dataclass(frozen=True)
class Plan:
    """The parameters of one start of bubblewrap."""

    workspace: Workspace
    toolchain: Mapping[str, Path]
    """The real path on the host by the name inside."""
    env: dict[str, str]
    limits: Limits
    data: Data
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further files, shown read-only, by their absolute path inside."""
    root: Path | None = None
    """The real root folder; None: the host's /usr."""


def arguments(plan: Plan) -> list[str]:
    """Return bubblewrap's options up to the `--`.

    Raises:
        SandboxUnavailableError: the worktree's `.git` is not the expected file.
    """
    return [
        *("--unshare-user", "--disable-userns", "--unshare-all"),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--uid", str(_ID), "--gid", str(_ID), "--hostname", "sandbox"),
        *_system_of(plan),
        *_files(plan.data, plan.files),
        *_processes(),
        *("--dev", "/dev", *_tmpfs("/dev/shm", plan.limits.memory_bytes // 8)),  # noqa: S108
        *("--remount-ro", "/dev"),
        *("--dir", "/run"),
        *_tmpfs("/tmp", plan.limits.memory_bytes // 4),  # noqa: S108 -- the sandbox's own
        *_tmpfs(HOME, plan.limits.memory_bytes // 4, mode="0755"),
        *("--dir", "/var", "--symlink", "/tmp", "/var/tmp"),  # noqa: S108
        *_own(plan),
        *_toolchains(plan),
        *_workspace(plan.workspace, plan),
        *("--chdir", WORKSPACE, "--remount-ro", "/"),
        "--clearenv",
        *(part for name, value in plan.env.items() for part in ("--setenv", name, value)),
    ]


def scratch_mounts(root: Path) -> tuple[Path, ...]:
    """Return the in-memory file systems, as seen through `/proc/<pid>/root`."""
    fixed = ("tmp", "dev/shm", HOME.lstrip("/"), f"{GIT_DIR}/objects".lstrip("/"))
    return tuple(root / one for one in fixed)


def _processes() -> list[str]:
    """Return the command's own /proc, without the user's keyrings and without process 1.

    Process 1 is bubblewrap. Its `fd` holds the worktree's lock, which could be written and its
    mode changed there, and its `exe`, `maps` and `environ` are of no use to a command.
    """
    names = [f"/proc/{name}" for name in _KEYS if Path("/proc", name).exists()]
    masks = (part for name in names for part in ("--ro-bind", "/dev/null", name))
    first = (*_tmpfs("/proc/1", 0, mode="0555"), "--remount-ro", "/proc/1")
    return ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", *masks, *first]


def _system_of(plan: Plan) -> Iterator[str]:
    if plan.root is None:
        yield from _system()
        return
    shown = [*plan.toolchain.values(), *map(Path, plan.toolchain)]
    yield from root_folder.arguments(plan.root, shown)
    yield from ("--dir", "/etc", "--dir", _STUBS, *_stubs())


@functools.cache
def _system() -> tuple[str, ...]:
    """Return the system's own programs and settings; searched once per process."""
    etc = (part for path in filter(os.path.exists, _ETC) for part in ("--ro-bind", path, path))
    etc = ("--dir", "/etc", *etc, "--dir", _STUBS, *_stubs())
    return ("--ro-bind", "/usr", "/usr", *_roots(), *etc)


def _stubs() -> Iterator[str]:
    for name in _INTERACTIVE:
        yield from ("--symlink", "stub", f"{_STUBS}/{name}")


def _roots() -> Iterator[str]:
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = f"/{name}"
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)


def _files(data: Data, more: Mapping[str, str]) -> Iterator[str]:
    for path, content in {**_FILES, **more}.items():
        yield from _file(path, content, "0444", data)
    yield from _file(f"{_STUBS}/stub", _STUB, "0555", data)


def _file(path: str, content: str, mode: str, data: Data) -> tuple[str, ...]:
    return ("--perms", mode, "--file", str(data(content.encode(), path)), path)


def _tmpfs(path: str, size_bytes: int, mode: str = "1777") -> tuple[str, ...]:
    return ("--perms", mode, "--size", str(max(size_bytes, 1 << 20)), "--tmpfs", path)


def _workspace(workspace: Workspace, plan: Plan) -> Iterator[str]:
    yield from (
        "--bind" if workspace.writable else "--ro-bind",
        str(workspace.path),
        WORKSPACE,
    )
    if workspace.git_dir is None or workspace.git_name is None:
        return
    check_git_file(workspace)
    inside = f"{GIT_DIR}/worktrees/{workspace.git_name}"
    yield from ("--dir", GIT_DIR, "--dir", f"{GIT_DIR}/refs")
    for name in _GIT_PARTS:
        yield from ("--ro-bind-try", str(workspace.git_dir / name), f"{GIT_DIR}/{name}")
    yield from ("--ro-bind", str(workspace.git_dir / "objects"), _OBJECTS)
    yield from _private_git(workspace.git_dir / "worktrees" / workspace.git_name, inside, plan)
    git_file = plan.data(f"gitdir: {inside}\n".encode(), "git")
    yield from ("--ro-bind-data", str(git_file), f"{WORKSPACE}/.git")


def _private_git(own: Path, inside: str, plan: Plan) -> Iterator[str]:
    """Give the command its own index, HEAD and new objects, which end with it."""
    objects = f"{GIT_DIR}/objects"
    yield from _tmpfs(objects, plan.limits.memory_bytes // 4, mode="0755")
    yield from _file(f"{objects}/info/alternates", f"{_OBJECTS}\n", "0444", plan.data)
    parts = {name: _content(own / name) for name in _OWN_PARTS}
    # Enough for a few copies of the index: the watch measures only the objects.
    room = _OWN_BYTES + 4 * len(parts["index"] or b"")
    yield from _tmpfs(inside, room, mode="0755")
    yield from _file(f"{inside}/gitdir", f"{WORKSPACE}/.git\n", "0444", plan.data)
    for name, content in parts.items():
        if content is not None:
            fd = plan.data(content, name)
            yield from ("--perms", "0644", "--file", str(fd), f"{inside}/{name}")


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def check_git_file(workspace: Workspace) -> None:
    """Check that the worktree's `.git` is the file that git wrote, before mounting over it.

    Raises:
        SandboxUnavailableError: it is missing, a link, a folder, or points elsewhere.
    """
    assert workspace.git_dir is not None
    assert workspace.git_name is not None
    path = workspace.path / ".git"
    expected = workspace.git_dir / "worktrees" / workspace.git_name
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxUnavailableError(_git_message(path, expected)) from error
    with open(fd, "rb") as file:
        found = file.read(8192)
    named = os.fsdecode(found.removeprefix(b"gitdir: ").rstrip(b"\n"))
    is_expected = os.path.realpath(named) == os.path.realpath(expected)
    if not found.startswith(b"gitdir: ") or not is_expected:
        raise SandboxUnavailableError(_git_message(path, expected))


def _git_message(path: Path, expected: Path) -> str:
    return (
        f"{str(path)!r} is not the file that git wrote for the worktree {str(expected)!r}. "
        "Nothing was started. Make the worktree again from its last checkpoint."
    )


def _own(plan: Plan) -> Iterator[str]:
    """Show the interpreter that the file tools need, and cover the packages next to it."""
    own = own_programs()
    if plan.root is not None:
        yield from ("--dir", _OWN, *root_folder.host_programs())
        if own.search is not None:
            yield from ("--ro-bind", str(own.search), f"{_OWN}/{own.search.name}")
        return
    for prefix in own.prefixes:
        yield from ("--ro-bind", str(prefix), str(prefix))
    for folder in own.hidden:
        yield from (*_tmpfs(str(folder), 0, mode="0555"), "--remount-ro", str(folder))
    yield from ("--dir", _OWN)
    for name, target in own_links(plan.toolchain.values()).items():
        yield from ("--symlink", target, f"{_OWN}/{name}")
    if own.search is not None:
        yield from ("--ro-bind", str(own.search), f"{_OWN}/{own.search.name}")


def _toolchains(plan: Plan) -> Iterator[str]:
    """Show each toolchain at its real path, and by its name if that is a link.

    A toolchain inside another one, or in /usr, is already visible: it needs no mount or link.
    """
    toolchain, data = plan.toolchain, plan.data
    shown = [Path("/usr")]
    if plan.root is None:
        shown += own_programs().prefixes
    for real in sorted(set(toolchain.values()), key=lambda one: len(one.parts)):
        if not any(real.is_relative_to(place) for place in shown):
            yield from ("--ro-bind", str(real), str(real))
            for path in masked_files(real):
                yield from ("--ro-bind-data", str(data(b"", path.name)), str(path))
            shown.append(real)
    for name in sorted(map(Path, toolchain), key=lambda one: len(one.parts)):
        if not any(name.is_relative_to(place) for place in shown):
            yield from ("--symlink", str(toolchain[str(name)]), str(name))
            shown.append(name)
