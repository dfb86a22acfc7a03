"""Commands that decide what a session waits for: `approve`, `reject`."""

from typing import Annotated

import typer

from starter.commands.shared import SessionOption, one_session
from starter.exit_codes import ExitCode
from starter.terminal import execute, write

_What = Annotated[
    str | None,
    typer.Argument(metavar="[WHAT]", help="`plan` or a changeset; left out: the only one waiting."),
]
_Digest = Annotated[
    str | None,
    typer.Option(help="The digest that you have seen, or its beginning; another one is refused."),
]


def approve(what: _What = None, digest: _Digest = None, session: SessionOption = None) -> None:
    """Approve the plan or a changeset."""
    execute(_approve(what, digest, session))


def reject(
    what: _What = None,
    notes: Annotated[str, typer.Option(help="What the agents shall know.")] = "",
    digest: _Digest = None,
    session: SessionOption = None,
) -> None:
    """Send the plan or a changeset back to work."""
    execute(_reject(what, digest, session, notes))


async def _approve(what: str | None, digest: str | None, wanted: str | None) -> ExitCode:
    from starter import deciding, marks, views
    from starter.sessions import decider
    from starter.telling import tell

    sessions, session = await one_session(wanted)
    view = await sessions.view(session)
    ask = deciding.chosen(view, what, digest)
    await tell(sessions, view, *deciding.approval(ask, decider()))
    write([*views.decided("approved", ask, session), *marks.of(view)], views.style)
    return ExitCode.COMPLETE


async def _reject(what: str | None, digest: str | None, wanted: str | None, notes: str) -> ExitCode:
    from starter import deciding, marks, views
    from starter.sessions import decider
    from starter.telling import tell

    sessions, session = await one_session(wanted)
    view = await sessions.view(session)
    ask = deciding.chosen(view, what, digest)
    await tell(sessions, view, *deciding.rejection(ask, notes, decider()))
    write([*views.decided("sent back", ask, session), *marks.of(view)], views.style)
    return ExitCode.COMPLETE
