"""Stamps that show whether a toolchain or a root folder is still the one that a set-up used."""

from contextlib import suppress
from pathlib import Path
from typing import Final

_TELLING: Final = (
    *(".", "bin", "lib", "usr/bin", "usr/lib", "etc/os-release"),
    *("var/lib/dpkg/status", "var/lib/rpm", "lib/apk/db/installed"),
)
"""What changes when software is installed: folders of programs, and lists of packages."""


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
