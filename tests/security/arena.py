"""A throw-away host: a person's things, their repository, ours beside it, and two worktrees."""

import asyncio
import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activities.adapters.git.host_git import GitHostRepository
from activities.file_locks import FileLock
from activities.ports.sandbox_port import Layer, Workspace
from tests.contract.test_sandbox import processes_in
from tests.unit.activities.adapters.git.home import Home, plain_git, write
from tests.waiting import until_blocking

_HELP = """\
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *given):
    longs = [one if isinstance(one, bytes) else ctypes.c_long(one) for one in given]
    result = libc.syscall(ctypes.c_long(number), *longs)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def receipt(what="it worked"):
    with open("receipt", "w") as file:
        file.write(str(what))
def hold():
    os.write(os.open("look", os.O_WRONLY), b"look")
    os.read(os.open("on", os.O_RDONLY), 1)
def child():
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        os._exit(0)
"""
_SECRETS = (
    *(".ssh/id_ed25519", ".aws/credentials", ".netrc", ".git-credentials", ".docker/config.json"),
    *(".config/gh/hosts.yml", ".bash_history", ".kube/config", ".pypirc"),
)
_MARK = "blueflame-attack"


@dataclass(frozen=True)
class Ran:
    """What an attack left to see."""

    output: bytes = b""
    held: frozenset[str] = frozenset()
    """What `/proc` of the host showed of its processes while it held what it got."""
    tree: tuple[str, ...] = ()
    """Paths of the commit that was made of its worktree."""
    alive: tuple[str, ...] = ()
    """Processes that outlived it."""


class Arena:
    """The host of one attack; `reset` makes it again."""

    def __init__(self, top: Path) -> None:
        """Take an empty folder; `build` fills it."""
        self.top = top / "arena"
        self._template = top / "template"
        self.secret = secrets.token_hex(12).encode()
        self.person = self.top / "person"
        self.pwned = self.top / "PWNED"
        self.bystander = 0
        """A process of the host's that no attack may reach."""
        self.before: dict[str, tuple[int, bytes, list[str]]] = {}
        self.lock_file = self.top / "host" / "locks" / "lent"
        self.lock = FileLock(self.lock_file)
        """Held, and passed on to each attack as a worktree's lock is."""

    async def build(self) -> None:
        """Make everything once."""
        self.top.mkdir(mode=0o755)
        home = self.home()
        home.make({"a.txt": "one\n", "b.txt": "one\n", "d/c.txt": "one\n", ".gitignore": "*.o\n"})
        shutil.rmtree(home.path / ".git" / "hooks")
        write(self.person, dict.fromkeys(_SECRETS, self.secret + b"\n"))
        write(self.person, {".profile": "# theirs\n", "run/x": ""})
        self.worktree = await home.start("t1")
        self.other = await home.start("other-task")
        write(self.other, {"notes.txt": self.secret + b"\n"})
        self.bare = self.top / "host" / "repositories" / f"{'k' * 32}.git"
        self.base = home.base
        write(self.snapshot, {"lib/installed": "installed\n", "lib/bin/tool": "#!/bin/sh\n"})
        write(self.worktree, {"attack.py": _HELP})
        plain_git(self.top, "clone", "-q", "--template=", str(home.path), "naive")
        write(self.top / "naive", {"attack.py": _HELP})
        plain_git(self.top / "naive", "config", "user.name", "a")
        plain_git(self.top / "naive", "config", "user.email", "a@example.invalid")
        self.lock_file.touch(0o600)
        shutil.copytree(self.top, self._template, symlinks=True)
        self.reset()

    def reset(self) -> None:
        """Put everything back, and remember it; where nothing but the worktree changed, only it."""
        until_blocking(self._is_left, "no process of an attack holds the lock")
        if self.before and self.fingerprint() == self.before and not self._was_worked_on():
            self._copy(self.worktree)
        else:
            self._copy(self.top)
        for name in ("look", "on"):
            os.mkfifo(self.worktree / name)
        self.lock.release()
        assert self.lock.try_acquire()
        os.set_inheritable(self.lock.fileno(), True)
        self.before = self.fingerprint()

    def _is_left(self) -> bool:
        """Tell whether all that an attack started is gone: it inherited the lock."""
        self.lock.release()
        with contextlib.suppress(OSError):  # an attack without the layer may have removed the file
            return self.lock.try_acquire()
        return True

    def _was_worked_on(self) -> bool:
        ours, naive = self._template / "naive", self.top / "naive"
        return sorted(os.listdir(naive)) != sorted(os.listdir(ours))

    def _copy(self, place: Path) -> None:
        shutil.rmtree(place)
        shutil.copytree(self._template / place.relative_to(self.top), place, symlinks=True)

    def home(self) -> Home:
        """Return the repositories, with nothing remembered of them."""
        home = Home(self.top)
        home.host = GitHostRepository(home.git, self.top / "host", "k" * 32)
        home.base = getattr(self, "base", home.base)
        return home

    @property
    def workspace(self) -> Workspace:
        """The worktree, as a sandbox gets it."""
        return Workspace(path=self.worktree, git_dir=self.bare, git_name="t1")

    @property
    def snapshot(self) -> Path:
        """What a set-up left, outside the worktree."""
        return self.top / "host" / "snapshots" / "key" / "one" / "files"

    @property
    def layered(self) -> Workspace:
        """The worktree with the snapshot beneath it."""
        root = self.top.parent
        places = (self.snapshot, self.worktree, root / "layer-work")
        lower, upper, work = (str(place.relative_to(root)) for place in places)
        layer = Layer(root=root, lower=lower, upper=upper, work=work)
        return Workspace(path=self.worktree, git_dir=self.bare, git_name="t1", layer=layer)

    def environment(self, work: str, git: str) -> dict[str, str]:
        """Return where things are, for the script of an attack."""
        return {
            "WORK": work,
            "GIT": git,
            "HOST": str(self.person),
            "UP": os.path.relpath(self.person, self.worktree),
            "CHECKOUT": str(self.top / "user"),
            "OTHER": str(self.other),
            "PWNED": str(self.pwned),
            "BYSTANDER": str(self.bystander),
        }

    def fingerprint(self) -> dict[str, tuple[int, bytes, list[str]]]:
        """Return mode, content and extended attributes of all that is not the attack's own."""
        return {
            str(place.relative_to(self.top)): (*_content(place), _attributes(place))
            for place in self._guarded()
        }

    def _guarded(self) -> Iterator[Path]:
        yield self.worktree / ".git"
        for folder, folders, files in os.walk(self.top):
            folders[:] = [one for one in folders if Path(folder, one) != self.worktree]
            if Path(folder) != self.top / "naive":
                yield from (Path(folder, name) for name in (*folders, *files))

    def worktree_bytes(self) -> bytes:
        """Return all that lies in the worktree as the host reads it, links apart."""
        files = (
            Path(folder, name) for folder, _, names in os.walk(self.worktree) for name in names
        )
        return b"".join(_content(place)[1] for place in files)

    async def watched(self, running: Coroutine[Any, Any, bytes]) -> Ran:
        """Await an attack; look at its processes when it says so."""
        look = os.open(self.worktree / "look", os.O_RDWR | os.O_NONBLOCK)
        on = os.open(self.worktree / "on", os.O_RDWR | os.O_NONBLOCK)
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(look, asked.set)
        task, wait = asyncio.ensure_future(running), asyncio.ensure_future(asked.wait())
        try:
            await asyncio.wait({task, wait}, return_when=asyncio.FIRST_COMPLETED)
            found = facts(self.worktree) if asked.is_set() else frozenset[str]()
            os.write(on, b"on")
            return Ran(output=await task, held=found)
        finally:
            wait.cancel()
            loop.remove_reader(look)
            os.close(look)
            os.close(on)


def _content(place: Path) -> tuple[int, bytes]:
    try:
        found = place.lstat()
    except FileNotFoundError:
        return 0, b"missing"
    if stat.S_ISLNK(found.st_mode):
        return found.st_mode, os.fsencode(os.readlink(place))
    if not stat.S_ISREG(found.st_mode):
        return found.st_mode, b""
    try:
        return found.st_mode, place.read_bytes()
    except PermissionError:
        return found.st_mode, b"closed"


def _attributes(place: Path) -> list[str]:
    return os.listxattr(place, follow_symlinks=False) if os.path.lexists(place) else []


def facts(worktree: Path) -> frozenset[str]:
    """Say what the Python processes of an attack hold, as the host sees it."""
    found: set[str] = set()
    spaces: dict[str, set[str]] = {}
    for process in (Path("/proc", pid) for pid in processes_in(worktree)):
        with contextlib.suppress(OSError):
            if not (process / "comm").read_text().startswith("python"):
                continue
            found |= {f"fd {os.readlink(one)}" for one in (process / "fd").iterdir()}
            for space in (process / "ns").iterdir():
                spaces.setdefault(space.name, set()).add(os.readlink(space))
            root = (process / "root").stat()
            spaces.setdefault("root", set()).add(f"{root.st_dev} {root.st_ino}")
            if "TracerPid:\t0" not in (process / "status").read_text():
                found.add("traced")
            if _MARK in (process / "mountinfo").read_text():
                found.add("mounted")
    return frozenset(found | {f"another {name}" for name, seen in spaces.items() if len(seen) > 1})
