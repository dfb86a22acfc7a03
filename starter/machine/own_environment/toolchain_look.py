"""Checks a session's toolchains before anything is started or paid.

The workers check again when they start, and show only what they found then.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError

if TYPE_CHECKING:
    from workers.settings import Settings


def check_toolchains(toolchains: Sequence[str], settings: "Settings", root: Path | None) -> None:
    """Refuse toolchains that are missing, or must not be shown.

    Args:
        toolchains: absolute names.
        settings: those of this process; its data and key files are never shown.
        root: the repository's; its checkout is not shown as a whole.

    Raises:
        CommandError: with every fault, one per line.
    """
    if faults := toolchain_faults(toolchains, settings, root):
        raise CommandError("\n".join(faults))


def toolchain_faults(
    toolchains: Sequence[str], settings: "Settings", root: Path | None
) -> list[str]:
    """Return the fault of each toolchain that has one."""
    from activities.ports.toolchain_places import ToolchainError
    from workers.hosting.offered_toolchains import toolchain_place
    from workers.own_file import user_file

    own = user_file()
    kept = [path for path in (root, own and own.parent) if path is not None]
    faults: list[str] = []
    for name in toolchains:
        try:
            toolchain_place(name, settings, kept)
        except ToolchainError as error:
            faults.append(str(error))
    return faults
