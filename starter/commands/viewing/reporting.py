"""Commands that tell a session as a whole: `report` as a page, `history` as a story."""

from pathlib import Path
from typing import Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption, SessionArgument, one_session


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
    from starter.machine.engine import read_settings
    from starter.reports.report_files import write_report

    sessions, found = await one_session(session, json=json)
    try:
        path = await write_report(sessions, found, read_settings(), output)
    except OSError as error:
        raise CommandError(
            f"the report cannot be written ({error.strerror or error}: "
            f"{str(output or error.filename)!r}); name another file with --output"
        ) from error
    if json:
        return json_output.write_object(session=found, path=str(path.absolute()))
    write([f"Report     {path}"])
    return ExitCode.COMPLETE


@command
async def history(session: SessionArgument = None, *, json: JsonOption = False) -> ExitCode:
    """Tell a session as a story: what happened, who decided what, when and why."""
    from starter.console import json_output
    from starter.reports import story_words
    from starter.reports.report_facts import gather
    from starter.reports.story import story
    from starter.views import safety_labels, session_words

    sessions, found = await one_session(session, json=json)
    facts = await gather(sessions, found)
    if json:
        labels = safety_labels.document(facts.view)
        return json_output.write_object(**labels, events=story(facts))
    write(safety_labels.of(facts.view), session_words.style)
    write(story_words.lines(story(facts)))
    return ExitCode.COMPLETE
