"""A person's own root folder: an unpacked image, shown read-only in place of the host's /usr.

Top folders of programs are shown as they are. Mixed folders (/etc, /var, /opt, /srv) are created
with a link for each entry of the image, because a mount for each would cost a quarter of a
millisecond. Homes, mounts and the kernel's own folders are left out. Only the text of a link at the
top is used, so no link leads the host elsewhere.

The file tools need the interpreter that runs Blue Flame, whatever C library the image has. It is
shown at a separate path, with the host's /usr, and started by its own loader.
"""

import functools
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from activities.adapters.sandbox.blueflame_programs import own_programs
from activities.ports.sandbox_port import SandboxUnavailableError

HOST: Final = "/etc/own-programs/host"
"""Where the host's programs appear inside."""
_OUT: Final = frozenset(
    {
        *("proc", "sys", "dev", "tmp", "run", "home", "root", "boot", "mnt", "media", "lost+found"),
        *("workspace", "git"),
    }
)
_SPREAD: Final = frozenset({"etc", "var", "opt", "srv"})
_IMAGE: Final = ".image"
_OWN: Final = frozenset(
    {
        *("etc/passwd", "etc/passwd-", "etc/group", "etc/group-", "etc/shadow", "etc/shadow-"),
        *("etc/gshadow", "etc/gshadow-", "etc/hosts", "etc/nsswitch.conf", "etc/resolv.conf"),
        *("etc/hostname", "etc/machine-id", "etc/mtab", "etc/no-terminal", "etc/own-programs"),
        "etc/registries",
        *("var/tmp", "var/run", "var/lock", "var/cache", "var/log"),
    }
)
"""Provided by the sandbox or the host, or useless if read-only."""
_LOADER: Final = re.compile(r"\s(/\S*/ld[-.][^/\s]*)$", re.MULTILINE)


def arguments(root: Path, shown: Collection[Path]) -> Iterator[str]:
    """Return bubblewrap's options for the image.

    Args:
        root: the real folder, checked when the worker started.
        shown: other paths shown inside; they take precedence over the image.

    Raises:
        SandboxUnavailableError: the folder is not an unpacked image.
    """
    for entry in _entries(root):
        place = f"/{entry.name}"
        if entry.is_symlink():
            yield from ("--symlink", os.readlink(entry.path), place)
        elif entry.name in _SPREAD:
            yield from _spread(entry, shown)
        elif entry.is_dir():
            yield from ("--ro-bind", entry.path, place)


def _entries(root: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise _no_image(root, error.strerror or "it cannot be read") from error
    missing = {"usr", "etc"} - {each.name for each in entries if each.is_dir(follow_symlinks=False)}
    if missing:
        raise _no_image(root, f"it has no folder {min(missing)!r}")
    return [entry for entry in entries if entry.name not in _OUT]


def _no_image(root: Path, why: str) -> SandboxUnavailableError:
    return SandboxUnavailableError(
        f"The root folder {str(root)!r} is not an unpacked image: {why}. Unpack one there, "
        "readable for the worker, or take `environment.root` out."
    )


def _spread(folder: os.DirEntry[str], shown: Collection[Path]) -> Iterator[str]:
    top = f"/{folder.name}"
    yield from ("--dir", top, "--ro-bind", folder.path, f"{top}/{_IMAGE}")
    below = [path.relative_to(top).parts for path in shown if path.is_relative_to(top)]
    taken = {parts[0] for parts in below if parts}
    for name in sorted(os.listdir(folder.path)):
        if f"{folder.name}/{name}" not in _OWN and name not in {*taken, _IMAGE}:
            yield from ("--symlink", f"{_IMAGE}/{name}", f"{top}/{name}")


def host_programs() -> Iterator[str]:
    """Return bubblewrap's options for the file tools' interpreter and what it needs."""
    own = own_programs()
    for path in (Path("/usr"), *own.prefixes):
        yield from ("--ro-bind", str(path), f"{HOST}{path}")
    for path in own.hidden:
        yield from ("--perms", "0555", "--size", str(1 << 20), "--tmpfs", f"{HOST}{path}")
        yield from ("--remount-ro", f"{HOST}{path}")


def started(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return `argv` as it starts inside, if it begins with Blue Flame's own interpreter."""
    own = own_programs()
    if argv[0] != str(own.interpreter):
        return argv
    loader = _loader()
    libraries = [str(Path(loader).parent), str(own.interpreter.parent.parent / "lib")]
    path = ":".join(f"{HOST}{each}" for each in libraries)
    program = f"{HOST}{own.interpreter}"
    return (f"{HOST}{loader}", "--library-path", path, program, *argv[1:])


@functools.cache
def _loader() -> str:
    """Return the loader that started this process; its C library is next to it."""
    found = _LOADER.search(Path("/proc/self/maps").read_text())
    if found is None:
        raise SandboxUnavailableError(
            "A root folder cannot be used: the loader of this interpreter is not found. "
            "Run Blue Flame with a Python that is linked dynamically."
        )
    return os.path.realpath(found[1])
