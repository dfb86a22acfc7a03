"""Commands that only look: `ls`, `status`, `watch`, `diff`."""

import asyncio
from typing import Annotated

import typer

from starter.commands.shared import (
    JsonOption,
    SessionArgument,
    SessionOption,
    one_session,
    open_sessions,
    program,
)
from starter.errors import CommandError
from starter.exit_codes import ExitCode
from starter.terminal import execute, write


def ls(
    *,
    json: JsonOption = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, the newest first.")] = 20,
) -> None:
    """List the sessions, the newest first."""
    execute(_ls(limit, json=json))


def status(session: SessionArgument = None, *, json: JsonOption = False) -> None:
    """Show a session as it stands; needs no worker."""
    execute(_status(session, json=json))


def watch(
    session: SessionArgument = None,
    *,
    wait: Annotated[
        bool, typer.Option("--wait", help="Without a terminal, go on while a person is needed.")
    ] = False,
) -> None:
    """Follow a session to its end, and answer what it asks."""
    execute(_watch(session, patient=wait))


def diff(
    changeset: Annotated[
        str | None, typer.Argument(help="Its id; left out: the only one that waits.")
    ] = None,
    session: SessionOption = None,
) -> None:
    """Print the diff of a changeset."""
    execute(_diff(changeset, session))


async def _ls(limit: int, *, json: bool) -> ExitCode:
    from starter import documents, views

    found = await (await open_sessions()).list(limit)
    if json:
        return documents.write_all(found)
    write(views.sessions(found))
    return ExitCode.COMPLETE


async def _status(wanted: str | None, *, json: bool) -> ExitCode:
    from starter import documents, views

    sessions, session = await one_session(wanted)
    view = await sessions.view(session)
    if json:
        return documents.write(view)
    write(views.status(view, program()), views.style)
    return ExitCode.COMPLETE


async def _watch(wanted: str | None, *, patient: bool) -> ExitCode:
    from starter import views
    from starter.engine import read_settings
    from starter.watching import Watch
    from workers.supervisor import read_state

    sessions, session = await one_session(wanted)
    try:
        return await Watch(sessions, session, program(), patient=patient).follow()
    except asyncio.CancelledError:
        goes_on = read_state(read_settings()) is not None
        write(views.detached(session, program(), goes_on=goes_on))
        raise


async def _diff(wanted: str | None, session_wanted: str | None) -> ExitCode:
    import sys

    from starter.diffs import diff_text
    from starter.engine import read_settings
    from starter.terminal import shown

    sessions, session = await one_session(session_wanted)
    view = await sessions.view(session)
    known = {str(c.id): c for c in view.changesets}
    names = [wanted] if wanted is not None else list(known)
    if len(names) != 1 or names[0] not in known:
        listed = ", ".join(sorted(known)) or "none yet"
        said = f"changeset {wanted!r} does not exist" if wanted else "name one changeset"
        raise CommandError(f"{said}; there are: {listed}")
    text = await diff_text(sessions, session, known[names[0]], read_settings())
    # To a file or a pipe the bytes as they are; a terminal must not obey them.
    sys.stdout.write(shown(text) if sys.stdout.isatty() else text)
    return ExitCode.COMPLETE
