"""Which of the toolchains that the settings name this host shows: each is looked at as it starts.

Once, before root is given up: what a name leads to is seen with the rights of the user that started
the worker, and holds as long as the worker runs. One that is refused or gone does not keep the
others, nor the worker, from starting; a session that wants it is refused with the reason.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from activities.ports.toolchain_places import ToolchainError, Toolchains, examine
from workers.settings import Settings

_log = logging.getLogger(__name__)


def offered_toolchains(settings: Settings) -> Toolchains:
    """Return what may be shown; what may not is logged with its reason."""
    places: dict[str, Path] = {}
    for name, real in settings.toolchains.items():
        try:
            places[name] = toolchain_place(str(real), settings)
        except ToolchainError as error:
            _log.warning("%s", error)
    return Toolchains(places)


def toolchain_place(name: str, settings: Settings, kept: Iterable[Path] = ()) -> Path:
    """Return the real directory behind a toolchain's name.

    Args:
        name: an absolute path.
        settings: of this process; its data and its key files are never shown.
        kept: what else must not be seen with it.

    Raises:
        ToolchainError: it cannot be shown; the message says why and what to do.
    """
    return examine(name, (*_homes(), *settings.key_files, *kept), (settings.data_dir,))


def _homes() -> tuple[Path, ...]:
    try:
        return (Path.home(),)
    except RuntimeError:
        return ()
