"""What tells that a toolchain or a root folder is still the one that a set-up was made with."""

from contextlib import suppress
from pathlib import Path
from typing import Final

_TELLING: Final = (
    *(".", "bin", "lib", "usr/bin", "usr/lib", "etc/os-release"),
    *("var/lib/dpkg/status", "var/lib/rpm", "lib/apk/db/installed"),
)
"""What changes where something is installed: folders of programs, and lists of packages."""


def stamp(name: str, real: Path) -> str:
    """Return a text that is another one once the place was replaced or updated.

    Args:
        name: as the environment says it.
        real: what it is on this host.
    """
    found: list[str] = []
    for part in _TELLING:
        with suppress(OSError):
            status = (real / part).stat()
            found.append(f"{part}:{status.st_ino}:{status.st_mtime_ns}")
    return f"{name}={real} {' '.join(found)}"
