"""Commands that only look: `ls`, `status`, `watch`, `task`, `diff`."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from starter.commands.shared import (
    JsonOption,
    LinesOption,
    SessionArgument,
    SessionOption,
    one_session,
    open_sessions,
)
from starter.errors import CommandError
from starter.exit_codes import ExitCode
from starter.own_name import program
from starter.terminal import execute, write

if TYPE_CHECKING:
    from starter.sessions import Sessions
    from starter.shown_session import ShownSession
    from workflows.domain.ids import SessionId
    from workflows.domain.session import ChangesetLine


def ls(
    *,
    json: JsonOption = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, the newest first.")] = 20,
) -> None:
    """List the sessions, the newest first."""
    execute(_ls(limit, json=json), json=json)


def status(session: SessionArgument = None, *, json: JsonOption = False) -> None:
    """Show a session as it stands; needs the server, but no worker."""
    execute(_status(session, json=json), json=json)


def watch(
    session: SessionArgument = None,
    *,
    wait: Annotated[
        bool, typer.Option("--wait", help="Without a terminal, go on while a person is needed.")
    ] = False,
    json: LinesOption = False,
) -> None:
    """Follow a session to its end, and answer what it asks."""
    execute(_watch(session, patient=wait, json=json), json=json)


def task(
    task: Annotated[str, typer.Argument(help="The task's id.")],
    session: SessionOption = None,
    *,
    json: JsonOption = False,
) -> None:
    """Show one task in full: what it asks for, where it stands, what was said of it."""
    execute(_task(task, session, json=json), json=json)


def diff(
    changeset: Annotated[
        str | None, typer.Argument(help="Its id; left out: the only one that waits.")
    ] = None,
    session: SessionOption = None,
    *,
    json: JsonOption = False,
) -> None:
    """Print the diff of a changeset."""
    execute(_diff(changeset, session, json=json), json=json)


async def _ls(limit: int, *, json: bool) -> ExitCode:
    from starter import documents, list_views

    sessions = await open_sessions()
    found = await sessions.list(limit)
    seen = await sessions.glance(each.session for each in found)
    found = [list_views.summary(each, seen.get(each.session)) for each in found]
    if json:
        return documents.write_object(sessions=found)
    write(list_views.sessions(found))
    return ExitCode.COMPLETE


async def _status(wanted: str | None, *, json: bool) -> ExitCode:
    from starter import documents, kept_work, views
    from starter.engine import read_settings

    sessions, session = await one_session(wanted)
    view = await sessions.view(session)
    if view.outcome is None:
        view = view.model_copy(update={"waits": await sessions.waits(session)})
    if json:
        return documents.write(view)
    write(views.status(view, program()), views.style)
    write(kept_work.lines(view, read_settings().host_dir))
    return ExitCode.COMPLETE


async def _watch(wanted: str | None, *, patient: bool, json: bool) -> ExitCode:
    from starter import worker_views
    from starter.engine import read_settings
    from starter.watching import Watch
    from workers.supervisor import read_state

    sessions, session = await one_session(wanted)
    try:
        watch = Watch(sessions, session, patient=patient, json=json)
        return await watch.follow()
    except asyncio.CancelledError:
        goes_on = read_state(read_settings()) is not None
        if json:
            raise
        write(worker_views.detached(session, program(), goes_on=goes_on))
        raise


async def _task(name: str, wanted: str | None, *, json: bool) -> ExitCode:
    from starter import decision_views, documents, marks, plan_views, views

    sessions, session = await one_session(wanted)
    record = await sessions.task(session, name)
    if record is None:
        raise await _no_task(sessions, session, name)
    view = await sessions.view(session)
    decisions = decision_views.about(view, record.task.id)
    if json:
        return documents.write_of_session(view, task=record, decisions=decisions)
    lines = [*plan_views.record(record, marks.of(view)), *decision_views.section(decisions)]
    write(lines, views.style)
    return ExitCode.COMPLETE


async def _no_task(sessions: "Sessions", session: "SessionId", name: str) -> CommandError:
    """Say why a task was not answered: there is none of that name, or nobody answers."""
    view = await sessions.view(session)
    known = [str(each.id) for each in view.tasks]
    if name in known or not view.tasks:
        return CommandError(
            f"no worker answers for task {name!r} of session {session!r}; `up --detach` starts "
            "one, `status` shows what is known without",
            ExitCode.UNAVAILABLE,
        )
    return CommandError(
        f"task {name!r} does not exist in session {session!r}; there are: {', '.join(known)}"
    )


async def _diff(wanted: str | None, session_wanted: str | None, *, json: bool) -> ExitCode:
    from starter import diffs, documents
    from starter.engine import read_settings

    sessions, session = await one_session(session_wanted)
    view = await sessions.view(session)
    changeset = _chosen(view, wanted)
    found = await diffs.diffs_of(sessions, session, changeset, read_settings())
    if json:
        tasks = [{"id": task, "diff": text} for task, text in found.items()]
        return documents.write_of_session(view, changeset=changeset, tasks=tasks)
    diffs.show(view, found)
    return ExitCode.COMPLETE


def _chosen(view: "ShownSession", wanted: str | None) -> "ChangesetLine":
    from starter import views

    known = {str(c.id): c for c in view.changesets}
    if not known and wanted is None:
        raise CommandError(
            f"session {view.session!r} has no changeset yet: it is {views.state(view)}",
            ExitCode.STALE,
        )
    usual = [str(c.id) for c in views.waiting(view)] or list(known)
    names = [wanted] if wanted is not None else usual
    if len(names) != 1 or names[0] not in known:
        listed = ", ".join(sorted(known)) or "none yet"
        said = f"changeset {wanted!r} does not exist" if wanted else "name one changeset"
        raise CommandError(f"{said}; there are: {listed}")
    return known[names[0]]
