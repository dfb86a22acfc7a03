"""`cleanup`: removes what ended sessions left on this machine."""

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starter.machine.cleaning.cleanup_request import Cleaned

_AGE: Final = re.compile(r"(\d{1,4})(d|h|m)", re.ASCII)
_USUAL: Final = timedelta(days=30)
_UNITS: Final = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


@command
async def cleanup(
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would go and why the rest stays; remove nothing."),
    ] = False,
    merged: Annotated[
        bool,
        typer.Option(
            "--merged", help="Only sessions whose work is proven merged, like the daily clean-up."
        ),
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Minimum time since the session ended: 12h, 90d … Default: 30d, or "
            "BLUEFLAME_RETENTION_DAYS with --merged.",
        ),
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """Remove data of ended sessions: worktrees, refs, blobs, histories, logs."""
    from starter.console import json_output
    from starter.machine.cleaning.cleanup_request import clean_up
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings

    age = None if older_than is None else _age(older_than)
    settings = read_settings()
    if age is None:
        age = timedelta(days=settings.retention_days) if merged else _USUAL
    client = await connected(settings)
    cleaned = await clean_up(client, settings, age, dry_run=dry_run, only_merged=merged)
    if json:
        return json_output.write(cleaned)
    write(lines(cleaned))
    return ExitCode.COMPLETE


def _age(text: str) -> timedelta:
    match = _AGE.fullmatch(text)
    if match is None:
        raise CommandError(f"{text!r} is not an age; write it as 30d, 12h or 5m")
    return int(match[1]) * _UNITS[match[2]]


def lines(cleaned: "Cleaned") -> "Iterator[str]":
    """Return what went, or would go, one kind a line."""
    host = cleaned.host
    yield f"{'would remove' if cleaned.dry_run else 'removed'}, of {len(host.sessions)} sessions:"
    yield f"  worktrees     {host.worktrees:>6}  {_size(host.worktree_bytes)}"
    yield f"  refs          {host.refs:>6}"
    known = "(measured when it is done)" if cleaned.dry_run else _size(host.repository_bytes)
    yield f"  repositories  {host.repositories:>6}  {known}"
    yield f"  set-ups       {host.snapshots:>6}  {_size(host.snapshot_bytes)}"
    yield f"  blobs         {host.blobs:>6}  {_size(host.blob_bytes)}"
    yield f"  histories     {cleaned.histories:>6}"
    yield f"  logs          {cleaned.logs:>6}  {_size(cleaned.log_bytes)}"
    yield f"  reports       {cleaned.reports:>6}"
    yield f"in total {_size(cleaned.size_bytes)}; of {cleaned.open_sessions} open sessions nothing"
    if cleaned.dry_run:
        yield from (f"stays: {name}: {reason}" for name, reason in cleaned.kept.items())
    for name in host.busy:
        yield f"left alone, because someone holds it: {name}"
    for each in host.failed:
        yield f"not removed: {each}"
    if host.failed:
        yield "Look at the owner and mode of what is named, and run `cleanup` again."


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB"
