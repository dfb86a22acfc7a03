"""`queue` and `requeue`: goals that wait for their repository, one after the other."""

from typing import Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.nested_session import refuse_inside
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption, goal_queues

queue = typer.Typer(
    help="Show each repository's queue of goals, and remove goals.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
EntryArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The goal's id, or enough of its beginning or end.")
]


@queue.command(name="list")
@command
async def list_(*, json: JsonOption = False) -> ExitCode:
    """List each repository's queue: the current goal and those that wait. Needs a worker."""
    from starter.console import json_output
    from starter.views import session_list

    found = await (await goal_queues()).list()
    if json:
        return json_output.write_object(queues=found)
    write(session_list.queues(found))
    return ExitCode.COMPLETE


@queue.command()
@command
async def remove(entry: EntryArgument) -> ExitCode:
    """Remove a goal that waits or was set aside."""
    refuse_inside("queue remove")
    from starter.views import session_list

    removed = await (await goal_queues()).remove(entry)
    write([f"removed {session_list.entry(removed)}"])
    return ExitCode.COMPLETE


@command
async def requeue(
    entry: Annotated[
        str, typer.Argument(metavar="ID", help="The goal's or its session's id; see `ls --failed`.")
    ],
) -> ExitCode:
    """Move a goal that was set aside back to the end of its queue."""
    from starter.views import session_list

    again = await (await goal_queues()).requeue(entry)
    write([f"queued again: {session_list.entry(again)}"])
    return ExitCode.COMPLETE
