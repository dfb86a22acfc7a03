"""Checks the data directory before anything starts in it.

`workers.hosting.data_layout` defines its directories.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.console.disk_space import free_bytes

if TYPE_CHECKING:
    from workers.settings import Settings

_LEAST_BYTES: Final = 100_000_000
"""With less, the server could not even write its first histories."""
_OTHER: Final = "BLUEFLAME_DATA_DIR names another"


def require_place(path: Path) -> None:
    """Refuse a path that cannot be a data directory; it need not exist.

    Raises:
        CommandError: something else is at the path or a parent, or it may not be inspected.
        DataVersionError: the directory is of a newer release.
    """
    from workers.hosting.data_version import read_version

    for place in (path, *path.parents):
        try:
            is_folder = place.is_dir()
            is_there = place.exists()
        except OSError as error:
            raise CommandError(
                f"data directory {str(path)!r} cannot be accessed ({error.strerror}); {_OTHER}"
            ) from error
        if is_folder:
            read_version(path)
            return
        if is_there:
            raise CommandError(
                f"data directory {str(path)!r} cannot be made, {str(place)!r} is not a folder; "
                f"{_OTHER}"
            )


def prepare(settings: "Settings") -> None:
    """Make the data directory if it does not exist.

    Raises:
        CommandError: it cannot be made or written, or its disk is full.
    """
    from workers.hosting import data_layout

    directory = settings.data_dir
    try:
        _require_room(directory)
        data_layout.prepare(settings)
    except OSError as error:
        raise _unwritable(directory, error.strerror or str(error), error.filename) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise _unwritable(directory, "no right to write", directory)


def _require_room(directory: Path) -> None:
    free = free_bytes(directory)
    if free < _LEAST_BYTES:
        raise CommandError(
            f"data directory {str(directory)!r} is on a disk with {free / 1e6:.0f} MB free, and "
            f"{_LEAST_BYTES / 1e6:.0f} MB is the least; free some, or {_OTHER}"
        )


def _unwritable(directory: Path, why: str, what: object) -> CommandError:
    return CommandError(
        f"data directory {str(directory)!r} cannot be written ({why}: {str(what)!r}); fix that, "
        f"or {_OTHER}"
    )
