"""`plan`: the plan in full, and another one in its place."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starter.commands.shared import JsonOption, SessionArgument, one_session
from starter.errors import CommandError
from starter.exit_codes import ExitCode
from starter.inside import refuse_inside
from starter.own_name import program
from starter.terminal import execute, fail, is_interactive, write

if TYPE_CHECKING:
    from starter.sessions import Sessions
    from starter.shown_session import ShownSession
    from workflows.domain.plan import Plan


def plan(
    session: SessionArgument = None,
    *,
    edit: Annotated[
        bool, typer.Option("--edit", help="Open it in $EDITOR; saved, it is sent and approved.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option(help="Send this YAML file in its place, without an editor.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the plan: tasks, dependencies, claims, criteria; or replace it."""
    if sum((edit, file is not None, json)) > 1:
        fail(CommandError("--edit, --file and --json exclude each other"), json=json)
    if edit or file is not None:
        refuse_inside("plan")
        execute(_replace(session, file))
    execute(_plan(session, json=json), json=json)


async def _plan(wanted: str | None, *, json: bool) -> ExitCode:
    from starter import documents, marks, plan_views, views

    sessions, session = await one_session(wanted)
    # Looked at first, so that a session that does not exist is said to be none.
    view = await sessions.view(session)
    found = await _found(sessions, view)
    if json:
        return documents.write_of_session(view, plan=found)
    write([*marks.of(view), *plan_views.plan(found)], views.style)
    return ExitCode.COMPLETE


async def _found(sessions: "Sessions", view: "ShownSession") -> "Plan":
    from starter import views

    found = await sessions.plan(view.session)
    if found is None:
        raise CommandError(
            f"session {view.session!r} has no plan yet: it is {views.state(view)}", ExitCode.STALE
        )
    return found


async def _replace(wanted: str | None, file: Path | None) -> ExitCode:
    from starter import deciding, marks, plan_files, views
    from starter.sessions import decider
    from starter.telling import tell
    from workflows.domain.session import ReplacePlan
    from workflows.policy.amounts import counted

    sessions, session = await one_session(wanted)
    view = await sessions.view(session)
    deciding.replaceable(view)
    if file is not None:
        new = plan_files.read_plan_file(file)
    else:
        new = await _edited(sessions, view)
    if new is None:
        write(["nothing was changed; nothing was sent"])
        return ExitCode.COMPLETE
    await tell(sessions, view, "replace_plan", ReplacePlan(plan=new, by=decider()))
    tasks = counted(len(new.tasks), "task")
    told = views.told(f"plan of {tasks}, approved with it", session)
    write([*told, *marks.of(view)], views.style)
    return ExitCode.COMPLETE


async def _edited(sessions: "Sessions", view: "ShownSession") -> "Plan | None":
    from starter import plan_files

    if not is_interactive():
        raise CommandError("there is no terminal for an editor; give the plan with --file FILE")
    found = await _found(sessions, view)
    return await plan_files.edited(found, f"{program()} plan {view.session}")
