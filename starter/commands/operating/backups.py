"""`backup` and `restore`: all that open sessions need, in one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, shown, write

if TYPE_CHECKING:
    from workers.settings import Settings


@command
async def backup(
    path: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
) -> ExitCode:
    """Back up histories, work and code of all sessions to one file, even while they run."""
    import asyncio

    from workers.backups.backup_writing import write_backup

    settings = _own_server("backup")
    manifest = await asyncio.to_thread(write_backup, settings, path.absolute())
    size_mb = path.stat().st_size / 1e6
    lines = [
        f"Backup     {shown(str(path))} ({size_mb:.1f} MB)",
        f"As of      {manifest.at:%Y-%m-%d %H:%M:%S} UTC",
        "after a restore, later work may be repeated, including paid model calls",
    ]
    if manifest.key_ids:
        named = ", ".join(manifest.key_ids)
        lines.append(f"Keys       not in the backup; keep {named} of BLUEFLAME_PAYLOAD_KEYS")
    write(lines)
    return ExitCode.COMPLETE


@command
async def restore(
    path: Annotated[Path, typer.Argument(help="A file that `backup` wrote.")],
) -> ExitCode:
    """Restore a backup into the data directory, which must be empty."""
    import asyncio

    from starter.console.program_name import program
    from workers.backups.backup_reading import restore_backup

    settings = _own_server("restore")
    manifest = await asyncio.to_thread(restore_backup, settings, path.absolute())
    lines = [
        f"Restored   {shown(str(settings.data_dir))}",
        f"As of      {manifest.at:%Y-%m-%d %H:%M:%S} UTC",
        "first stop the original's workers; otherwise both would do the same work",
        f"then `{program()} up --detach` continues the open sessions",
    ]
    write(lines)
    return ExitCode.COMPLETE


def _own_server(name: str) -> "Settings":
    """Return the settings of a machine that has its own server.

    Raises:
        CommandError: the histories are on another server.
    """
    from starter.machine.own_settings import read_settings

    settings = read_settings()
    if settings.has_external_server:
        raise CommandError(
            f"`{name}` works on the bundled server's histories, and TEMPORAL_ADDRESS or "
            "TEMPORAL_PROFILE names another server; back that up with its own means, and the data "
            "directory after it"
        )
    return settings
