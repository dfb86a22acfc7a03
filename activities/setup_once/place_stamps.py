"""Stamps that show whether a toolchain or a root folder has changed since a set-up used it."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from activities.ports.toolchain_places import Toolchains
from workflows.domain.environment import ProjectEnvironment

_TELLING: Final = (
    *(".", "bin", "lib", "usr/bin", "usr/lib", "etc/os-release"),
    *("var/lib/dpkg/status", "var/lib/rpm", "lib/apk/db/installed"),
)
"""Places that change when software is installed: folders of programs, lists of packages."""


def stamps(offered: Toolchains, environment: ProjectEnvironment) -> tuple[str, ...]:
    """Return a text for each place that an environment shows; see `stamp`."""
    root = offered.root_of(environment)
    shown = [stamp(name, real) for name, real in offered.wanted(environment).items()]
    return (*shown, *(() if root is None else (stamp("/", root),)))


def stamp(name: str, real: Path) -> str:
    """Return a text that changes when the place is replaced or updated.

    Args:
        name: as the environment names it.
        real: its real path on this host.
    """
    found: list[str] = []
    for part in _TELLING:
        with suppress(OSError):
            status = (real / part).stat()
            found.append(f"{part}:{status.st_ino}:{status.st_mtime_ns}")
    return f"{name}={real} {' '.join(found)}"
