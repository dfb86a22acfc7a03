"""The format of the data directory, in its file `version`.

| version | since                                                     |
|---------|-----------------------------------------------------------|
| 1       | the first release; directories without the file are of it |

A new format gets the next number and a step here that brings a directory forward. A release that
does not know a directory's number does not touch the directory.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from workers.atomic_file import replace_text

DATA_VERSION: Final = 1
_STEPS: Final[Mapping[int, Callable[[Path], None]]] = {}
"""For each older version, what turns a directory of it into one of the next version."""


class DataVersionError(Exception):
    """The data directory is of a format that this release does not read."""


def version_file(data_dir: Path) -> Path:
    """Return the file that holds the format's number."""
    return data_dir / "version"


def read_version(data_dir: Path) -> int:
    """Return the format of a data directory; 1 if it does not say, or does not exist.

    A host's user may not read the file; the supervisor has checked it before.

    Raises:
        DataVersionError: it is newer than this release, or not a number.
    """
    path = version_file(data_dir)
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return 1
    if not text.isdecimal() or int(text) < 1:
        raise DataVersionError(
            f"{str(path)!r} holds {text[:20]!r} and not the number of a format; restore it from a "
            "backup, or name another BLUEFLAME_DATA_DIR"
        )
    if int(text) > DATA_VERSION:
        raise DataVersionError(
            f"data directory {str(data_dir)!r} is of format {text}, and this release reads formats "
            f"up to {DATA_VERSION}; use the newer release that wrote it, or name another "
            "BLUEFLAME_DATA_DIR"
        )
    return int(text)


def bring_forward(data_dir: Path) -> None:
    """Bring an existing data directory to this release's format, and note its number.

    The caller supervises this directory, so no other process works in it.

    Raises:
        DataVersionError: it is newer than this release.
        OSError: it cannot be written.
    """
    for version in range(read_version(data_dir), DATA_VERSION):
        _STEPS[version](data_dir)
        replace_text(version_file(data_dir), f"{version + 1}\n")
    if not version_file(data_dir).exists():
        replace_text(version_file(data_dir), f"{DATA_VERSION}\n")
