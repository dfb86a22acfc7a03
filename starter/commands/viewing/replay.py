"""`replay`: does this program's workflow code fit a session, and may it take the session over."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption, SessionArgument, one_session

if TYPE_CHECKING:
    from temporalio.client import Client

    from workers.replayed_session import ReplayedWorkflow


@command
async def replay(
    session: SessionArgument = None,
    *,
    adopt: Annotated[
        bool,
        typer.Option("--adopt", help="If it fits, move the open session to the current build."),
    ] = False,
    json: JsonOption = False,
) -> ExitCode:
    """Replay a session's histories with the installed workflow code, and say whether it fits."""
    from starter.console import json_output
    from starter.console.nested_session import refuse_inside
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings
    from starter.views import replay_words
    from workers.replayed_session import replay_session
    from workers.versions.build_id import build_of

    if adopt:
        refuse_inside("replay")
    _, found = await one_session(session, json=json)
    settings = read_settings()
    client, build = await connected(settings), build_of(settings)
    replayed = await replay_session(client, found)
    if not replayed:
        raise CommandError(f"there is no session {found!r}; `ls` lists them")
    fits = not any(each.failure for each in replayed)
    moved = await _adopt(client, replayed, build) if adopt and fits else 0
    if json:
        json_output.write_object(
            session=found, build=build, fits=fits, moved=moved, workflows=replayed
        )
    else:
        write(replay_words.lines(replayed, build, moved))
    return ExitCode.COMPLETE if fits else ExitCode.FAILED


async def _adopt(client: "Client", replayed: "list[ReplayedWorkflow]", build: str) -> int:
    """Bind the open workflows to the current build; return how many there were.

    Raises:
        CommandError: the current build is another one, or nothing is open.
    """
    from workers.versions import deployment

    current = await deployment.current_build(client)
    if current != build:
        raise CommandError(
            f"this command is of build {build!r}, but new sessions start on build {current!r}; use "
            "the program of that build, or start workers of this one (`up --detach`)",
            ExitCode.STALE,
        )
    named = [each.workflow for each in replayed if each.is_open]
    if not named:
        raise CommandError("the session has ended; nothing is left to adopt", ExitCode.STALE)
    for workflow in named:
        await deployment.move(client, workflow, build)
    return len(named)
