"""`trace`: where a session's time and money went, as a tree."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption, SessionArgument, one_session


@command
async def trace(
    session: SessionArgument = None,
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[TASK]", help="Task id or agent name whose turns to show. Default: count them."
        ),
    ] = None,
    *,
    json: JsonOption = False,
) -> ExitCode:
    """Show waves, agents and activities with time and cost."""
    from starter.console import json_output
    from starter.views import safety_labels, session_words, trace_words

    sessions, found = await one_session(session, json=json)
    view = await sessions.view(found)
    read = await sessions.trace(found)
    if task is not None and not any(trace_words.is_agent(each, task) for each in read.spans):
        raise CommandError(f"no agent of session {found!r} worked on {task!r} so far")
    if json:
        labels = safety_labels.document(view)
        return json_output.write_object(**labels, trace_id=read.trace_id, spans=read.spans)
    write(safety_labels.of(view), session_words.style)
    write(trace_words.tree(read, datetime.now(UTC), task))
    return ExitCode.COMPLETE
