"""What several commands have in common: their options, and the way to one session."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from workflows.domain.ids import SessionId

SessionArgument = Annotated[
    str | None,
    typer.Argument(metavar="[SESSION]", help="Its id; left out: the only open one, or the latest."),
]
SessionOption = Annotated[
    str | None,
    typer.Option("--session", "-s", help="Its id; left out: the only open one, or the latest."),
]
LinesOption = Annotated[
    bool, typer.Option("--json", help="One JSON document a line, for each change; asks nobody.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document, and nothing else.")]


async def open_sessions() -> "Sessions":
    """Return the sessions of the server that is there.

    Raises:
        CommandError: no server is there.
    """
    from starter.machine.engine import connected, read_settings
    from starter.sessions.session_client import Sessions

    return Sessions(await connected(read_settings()))


async def one_session(wanted: str | None) -> "tuple[Sessions, SessionId]":
    """Return the sessions and the one that is meant.

    Raises:
        CommandError: no server is there, or no session fits.
    """
    sessions = await open_sessions()
    return sessions, await sessions.find(wanted)
