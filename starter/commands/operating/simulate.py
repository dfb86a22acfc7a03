"""`simulate`: the providers' dialects over HTTP, spoken by a playbook, or recorded as one."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, shown, write


@command
async def simulate(
    playbook: Annotated[Path, typer.Argument(help="YAML file to play or to record.")],
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port on 127.0.0.1.")] = 8765,
    *,
    record: Annotated[
        bool,
        typer.Option("--record", help="Forward calls to real models and record them in the file."),
    ] = False,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=URL", help="With --record: the address of a provider."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --record: overwrite an existing file.")
    ] = False,
) -> ExitCode:
    """Serve a playbook as the providers' HTTP APIs, or record one."""
    from activities.yaml_documents.model_reader import DocumentError
    from workers.local.playbook_server import serve_playbook

    if record:
        await _record(playbook, port, tuple(to or ()), force=force)
        return ExitCode.COMPLETE
    if to or force:
        raise CommandError("--to and --force need --record")
    if not playbook.is_file():
        raise CommandError(f"playbook {str(playbook)!r} is not a file")
    try:
        said = f"SCRIPTED: {shown(str(playbook))} plays on http://127.0.0.1:{port}; Ctrl-C ends it"
        await serve_playbook(playbook, port, lambda _url: write([said]))
    except DocumentError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise _taken(port, error) from None
    return ExitCode.COMPLETE


async def _record(playbook: Path, port: int, to: tuple[str, ...], *, force: bool) -> None:
    from starter.input import recording_options
    from starter.machine.own_settings import settings_as_they_are, with_own_providers
    from workers.local.playbook_server import PlaybookRecording

    recording_options.require_place(playbook, force=force)
    given = recording_options.given_addresses(to)
    settings = with_own_providers(settings_as_they_are())

    def warn(message: str) -> None:
        sys.stderr.write(f"warning: {shown(message)}\n")

    recording = PlaybookRecording(settings, playbook, port, given, warn)
    recording_options.refuse_itself(recording.loops)
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(recording)
        except OSError as error:
            raise _taken(port, error) from None
        write(recording_options.begun(str(playbook), recording.url, recording.addresses))
        try:
            await asyncio.Event().wait()
        finally:
            await stack.aclose()
            write(recording_options.ended(str(playbook), recording.recorded))


def _taken(port: int, error: OSError) -> CommandError:
    return CommandError(f"port {port} cannot be served ({error.strerror}); use another --port")
