"""One attack as a row of a table: what is tried, what it would do to the host, and its control.

An effect is observed on the host, after the attack or while it holds what it got. A control is the
same attack without the layer: if it had no effect there, its failing in the sandbox would prove
nothing. Controls run in private namespaces, on throw-away files.
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from activities.adapters.git.worktrees.worktree import unlock_folders
from activities.file_locks import is_held
from tests.security.arena import Arena, Ran

Effect = Callable[[Arena, Ran], str]
"""Says what reached the host; empty: nothing did."""

WORKS = "works"
KERNEL = "the kernel may refuse it to everybody"
"""The control is tried; where this kernel refuses it too, only the confined run is judged."""

Way = Literal["once", "collected", "left"]


@dataclass(frozen=True)
class Case:
    """An attack."""

    name: str
    attack: str
    """A script for bash; `case.python` makes one of a Python text."""
    effect: Effect
    control: str = WORKS
    """`WORKS`, `KERNEL`, or the reason why no control is possible."""
    way: Way = "once"
    """`collected`: the host's git works on the tree afterwards. `left`: without a process namespace
    in the control, so that what is left behind can be seen there."""
    limits: dict[str, object] = field(default_factory=dict[str, object])
    is_x86: bool = False
    is_slow: bool = False
    """Tried by `make test-slow` only; another row of its kind is tried each time."""


def python(text: str) -> str:
    """Return a script that runs a text after `attack.py`."""
    return f"cat attack.py - <<'END' >run.py; python3 run.py\n{text}\nEND"


def leaked(arena: Arena, ran: Ran) -> str:
    """A secret of the host's is in the output or in the worktree."""
    found = ran.output + arena.worktree_bytes()
    return "" if arena.secret not in found else "the secret is in the output or in the worktree"


def changed(arena: Arena, _: Ran) -> str:
    """Something outside the worktree, or its `.git`, is not as it was."""
    now = arena.fingerprint()
    before = arena.before
    return ", ".join(sorted(key for key in now.keys() | before if now.get(key) != before.get(key)))


def relocked(arena: Arena, _: Ran) -> str:
    """The file of the lock that was passed on is not as it was, or the lock is free."""
    found = arena.lock_file.stat()
    if found.st_mode != 0o100600:
        return f"mode {found.st_mode:o}"
    facts = {
        "size": found.st_size,
        "names": found.st_nlink - 1,
        "attributes": os.listxattr(arena.lock_file),
        "free": not is_held(arena.lock_file),
    }
    return ", ".join(f"{name} {fact}" for name, fact in facts.items() if fact)


def receipt(arena: Arena, _: Ran) -> str:
    """The attack got what it asked for and wrote that down in its worktree."""
    place = arena.worktree / "receipt"
    return place.read_text() if place.exists() else ""


def held(wanted: str) -> Effect:
    """Return an effect: `/proc` of the host shows it on a process of the attack."""

    def effect(_: Arena, ran: Ran) -> str:
        return ", ".join(sorted(fact for fact in ran.held if wanted in fact))

    return effect


def executed(arena: Arena, _: Ran) -> str:
    """The host's git ran what was planted."""
    return "it ran" if arena.pwned.exists() else ""


def stored(part: str) -> Effect:
    """Return an effect: a path with this part is in the commit that was made of the worktree."""

    def effect(_: Arena, ran: Ran) -> str:
        return ", ".join(path for path in ran.tree if part in path)

    return effect


def survived(_: Arena, ran: Ran) -> str:
    """A process of the attack outlives it."""
    return ", ".join(ran.alive)


def grown(name: str, limit_bytes: int) -> Effect:
    """Return an effect: files of the worktree that begin with `name` take more than the limit."""

    def effect(arena: Arena, _: Ran) -> str:
        size = sum(one.stat().st_blocks * 512 for one in arena.worktree.glob(f"{name}*"))
        return f"{size} bytes" if size > limit_bytes else ""

    return effect


def hoarded(limit_bytes: int) -> Effect:
    """Return an effect: the worktree takes more than the limit, with closed and deep folders."""

    def effect(arena: Arena, _: Ran) -> str:
        unlock_folders(arena.worktree)
        counted = subprocess.run(
            ("du", "-s", "-B1", str(arena.worktree)), capture_output=True, text=True, check=True
        )
        size = int(counted.stdout.split()[0])
        return f"{size} bytes" if size > limit_bytes else ""

    return effect


def flooded(limit_bytes: int) -> Effect:
    """Return an effect: more output was kept than the limit."""

    def effect(_: Arena, ran: Ran) -> str:
        return f"{len(ran.output)} bytes" if len(ran.output) > limit_bytes else ""

    return effect


def counted(limit: int) -> Effect:
    """Return an effect: the attack counted more than the limit of what it made."""

    def effect(arena: Arena, ran: Ran) -> str:
        number = receipt(arena, ran)
        return number if number and int(number) > limit else ""

    return effect
