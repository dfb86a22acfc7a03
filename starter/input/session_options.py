"""What several commands share: their options, and how to find one session."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import one_line, write

if TYPE_CHECKING:
    from starter.sessions.goal_queues import GoalQueues
    from starter.sessions.session_client import Chosen, Sessions
    from starter.sessions.shown_session import ShownSession
    from workflows.domain.ids import SessionId

_ACTS = "The session's id. Default: the only open session."
_READS = "The session's id. Default: the latest open session, else the latest one."
ActingArgument = Annotated[str | None, typer.Argument(metavar="[SESSION]", help=_ACTS)]
ActingOption = Annotated[str | None, typer.Option("--session", "-s", help=_ACTS)]
SessionArgument = Annotated[str | None, typer.Argument(metavar="[SESSION]", help=_READS)]
SessionOption = Annotated[str | None, typer.Option("--session", "-s", help=_READS)]
LinesOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document per change; ask no questions.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]


async def open_sessions() -> "Sessions":
    """Return the sessions of the running server.

    Raises:
        CommandError: no server is running.
    """
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings
    from starter.sessions.session_client import Sessions

    return Sessions(await connected(read_settings()))


async def goal_queues() -> "GoalQueues":
    """Return the queues of goals of the running server.

    Raises:
        CommandError: no server is running.
    """
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings
    from starter.sessions.goal_queues import GoalQueues

    return GoalQueues(await connected(read_settings()))


async def one_session(
    wanted: str | None, *, acts: bool = False, json: bool = False
) -> "tuple[Sessions, SessionId]":
    """Return the sessions and the chosen one.

    Args:
        wanted: an id or a part of one; None: not named.
        acts: the command changes the session, so that it never guesses between open ones.
        json: the command prints JSON, so that the choice between open sessions is not mentioned.

    Raises:
        CommandError: no server is running, no session matches or is open, or several match.
    """
    sessions = await open_sessions()
    chosen = await sessions.find(wanted, acts=acts)
    if not json:
        say_choice(chosen)
    return sessions, chosen.session


async def send_and_tell(
    sessions: "Sessions", view: "ShownSession", name: str, content: object, told: str
) -> ExitCode:
    """Send a decision and print what was sent, and what else follows.

    Args:
        sessions: where the session is.
        view: its latest view.
        name: the decision's name.
        content: its one input.
        told: the decision in words.

    Raises:
        CommandError: the session has ended, refused the decision, or did not answer.
    """
    from starter.sessions.sent_decisions import send
    from starter.views import safety_labels, session_words

    follows = await send(sessions, view, name, content)
    lines = session_words.told(told, view.session)
    lines += [one_line(follows, 1_000)] if follows else []
    write([*lines, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE


def say_choice(chosen: "Chosen") -> None:
    """Say on the error stream which session was chosen, if several are open."""
    if chosen.open_sessions > 1:
        line = f"{chosen.open_sessions} sessions are open; this is the latest, {chosen.session}"
        write([line], beside=True)
