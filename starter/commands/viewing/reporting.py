"""Commands that tell a session as a whole: `report`, `history`, and all of it: `export`."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, shown, write
from starter.input.session_options import JsonOption, SessionArgument, one_session

if TYPE_CHECKING:
    from workflows.domain.ids import SessionId


@command
async def report(
    session: SessionArgument = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            dir_okay=False,
            help="The file to write. Default: reports/SESSION.html in the data directory.",
        ),
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """Write a session's report: one HTML page. Needs the server, but no worker."""
    from starter.console import json_output
    from starter.machine.own_settings import read_settings
    from starter.reports.report_files import write_report

    sessions, found = await one_session(session, json=json)
    with _written("report", output):
        path = await write_report(sessions, found, read_settings(), output)
    if json:
        return json_output.write_object(session=found, path=str(path.absolute()))
    write([f"Report     {path}"])
    return ExitCode.COMPLETE


@command
async def export(
    session: SessionArgument = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            dir_okay=False,
            help="The file to write; it must not exist. Default: SESSION.zip here.",
        ),
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """Write a session's report, plan, diffs and histories to one ZIP file. Needs no worker."""
    from starter.console import json_output
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings
    from starter.reports.session_archive import write_archive

    sessions, found = await one_session(session, json=json)
    settings = read_settings()
    path = (output or Path(f"{found}.zip")).absolute()
    with _written("archive", path):
        await write_archive(sessions, await connected(settings), found, settings, path)
    if json:
        return json_output.write_object(session=found, path=str(path))
    write([f"Archive    {shown(str(path))}"])
    return ExitCode.COMPLETE


@contextmanager
def _written(what: str, path: Path | None) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError(
            f"the {what} cannot be written ({error.strerror or error}: "
            f"{str(path or error.filename)!r}); name another file with --output"
        ) from error


@command
async def history(
    session: SessionArgument = None,
    *,
    events: Annotated[
        bool, typer.Option("--events", help="List every event of the session's Temporal histories.")
    ] = False,
    json: JsonOption = False,
) -> ExitCode:
    """Tell a session's story: what happened, who decided what, when and why."""
    from starter.console import json_output
    from starter.reports import story_words
    from starter.reports.report_facts import gather
    from starter.reports.story import story
    from starter.views import safety_labels, session_words

    sessions, found = await one_session(session, json=json)
    if events:
        return await _events(found, json=json)
    facts = await gather(sessions, found)
    if json:
        labels = safety_labels.document(facts.view)
        return json_output.write_object(**labels, events=story(facts))
    write(safety_labels.of(facts.view), session_words.style)
    write(story_words.lines(story(facts)))
    return ExitCode.COMPLETE


async def _events(session: "SessionId", *, json: bool) -> ExitCode:
    from starter.console import json_output
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings
    from starter.views import event_words
    from workers.telemetry.event_list import list_events, read_histories

    listed = list_events(await read_histories(await connected(read_settings()), session))
    if not listed:
        raise CommandError(f"there is no session {session!r}; `ls` lists them")
    if json:
        return json_output.write_object(session=session, events=listed)
    write(event_words.lines(listed))
    return ExitCode.COMPLETE
