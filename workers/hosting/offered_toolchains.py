"""Which of the configured toolchains this host shows: each is checked when the worker starts.

They are checked once, before root is dropped: the result depends on the rights of the user that
started the worker, and stays valid while the worker runs. A toolchain that is refused or missing
keeps neither the others nor the worker from starting; a session that wants it is refused.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from activities.ports.toolchain_places import ToolchainError, Toolchains, examine
from workers.settings import Settings
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)


def offered_toolchains(settings: Settings) -> Toolchains:
    """Return the toolchains that may be shown; log each other one with its reason."""
    places: dict[str, Path] = {}
    for name, real in settings.toolchains.items():
        try:
            places[name] = toolchain_place(str(real), settings)
        except ToolchainError as error:
            log_event(_log, "toolchain_refused", reason=error)
    return Toolchains(places)


def toolchain_place(name: str, settings: Settings, kept: Iterable[Path] = ()) -> Path:
    """Return the real directory behind a toolchain's name.

    Args:
        name: an absolute path.
        settings: those of this process; its data and key files are never shown.
        kept: further paths that must not be shown with it.

    Raises:
        ToolchainError: it cannot be shown; the message says why and what to do.
    """
    return examine(name, (*_homes(), *settings.key_files, *kept), (settings.data_dir,))


def _homes() -> tuple[Path, ...]:
    try:
        return (Path.home(),)
    except RuntimeError:
        return ()
