"""`log`: what the agents said and did, as it is recorded, and as it happens."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command
from starter.input.session_options import SessionArgument, open_sessions, say_choice

if TYPE_CHECKING:
    from starter.sessions.session_client import Chosen, Sessions


@command
async def log(
    session: SessionArgument = None,
    task: Annotated[
        str | None,
        typer.Argument(metavar="[TASK]", help="Task id or agent name. Default: all agents."),
    ] = None,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing new turns until the session ends.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> ExitCode:
    """Show agents' turns: text, tool calls, results, cost, time."""
    from starter.follow.turn_log import TurnLog

    sessions = await open_sessions()
    chosen, task = await _meant(sessions, session, task)
    if not json:
        say_choice(chosen)
    found = chosen.session
    # Asked first, so that a session that does not exist is an error and not an empty log.
    is_open = await sessions.is_open(found)
    told = TurnLog(sessions, await sessions.view(found), json=json)
    told.begin()
    turns = sessions.turns(found, task)
    if not (follow and is_open):
        past = await turns.past()
        if not past and task is not None:
            raise CommandError(f"no agent of session {found!r} worked on {task!r} so far")
        for happening in past:
            await told.tell(happening)
        return ExitCode.COMPLETE

    async def is_over() -> bool:
        return not await sessions.is_open(found)

    async for happening in turns.follow(is_over):
        await told.tell(happening)
    return ExitCode.COMPLETE


async def _meant(
    sessions: "Sessions", wanted: str | None, task: str | None
) -> "tuple[Chosen, str | None]":
    """Return which session is meant, and what of it; a task or an agent alone: of the latest.

    Raises:
        CommandError: there is no such session, and no such task.
    """
    from starter.sessions.turn_history import task_of

    try:
        return await sessions.find(wanted), task
    except CommandError:
        if wanted is None or task is not None:
            raise
    latest = await sessions.find(None)
    last = latest.session
    tasks = [str(each.id) for each in (await sessions.view(last)).tasks]
    if wanted in tasks or task_of(wanted) in tasks or wanted.startswith("plan."):
        return latest, wanted
    raise CommandError(
        f"{wanted!r} is neither a session (`ls` lists them) nor a task of the latest one, "
        f"{last!r}; it has {', '.join(tasks) or 'none yet'}. `log SESSION TASK` names both"
    )
