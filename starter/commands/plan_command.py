"""`plan`: the plan in full, and another one in its place."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.nested_session import refuse_inside
from starter.console.program_name import program
from starter.console.terminal import command, is_interactive, write
from starter.input.session_options import JsonOption, one_session

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession
    from workflows.domain.plan import Plan


@command
async def plan(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]",
            help="The session's id. Default: the latest open session; to replace, the only one.",
        ),
    ] = None,
    *,
    edit: Annotated[
        bool, typer.Option("--edit", help="Edit the plan in $EDITOR; saving sends and approves it.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option(help="Replace the plan with this YAML file and approve it.")
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """Print the plan (tasks, dependencies, claims, criteria), or replace it."""
    from starter.console import json_output
    from starter.views import plan_words, safety_labels, session_words

    if sum((edit, file is not None, json)) > 1:
        raise CommandError("--edit, --file and --json exclude each other")
    if edit or file is not None:
        refuse_inside("plan")
        return await _replace(session, file)
    sessions, meant = await one_session(session, json=json)
    # Looked at first, so that a session that does not exist is said to be none.
    view = await sessions.view(meant)
    found = await _found(sessions, view)
    if json:
        return json_output.write_object(**safety_labels.document(view), plan=found)
    write([*safety_labels.of(view), *plan_words.plan(found)], session_words.style)
    return ExitCode.COMPLETE


async def _found(sessions: "Sessions", view: "ShownSession") -> "Plan":
    from starter.views import session_words

    found = await sessions.plan(view.session)
    if found is None:
        raise CommandError(
            f"session {view.session!r} has no plan yet: it is {session_words.state(view)}",
            ExitCode.STALE,
        )
    return found


async def _replace(wanted: str | None, file: Path | None) -> ExitCode:
    from starter.decisions import decision_checks
    from starter.input import plan_files
    from starter.sessions.sent_decisions import decider, send
    from starter.views import safety_labels, session_words
    from workflows.domain.session.session_values import ReplacePlan
    from workflows.policy.money.amounts_in_words import counted

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    decision_checks.replaceable(view)
    if file is not None:
        new = plan_files.read_plan_file(file)
    else:
        new = await _edited(sessions, view)
    if new is None:
        write(["nothing was changed; nothing was sent"])
        return ExitCode.COMPLETE
    await send(sessions, view, "replace_plan", ReplacePlan(plan=new, by=decider()))
    tasks = counted(len(new.tasks), "task")
    told = session_words.told(f"plan of {tasks}, approved with it", session)
    write([*told, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE


async def _edited(sessions: "Sessions", view: "ShownSession") -> "Plan | None":
    from starter.input import plan_files

    if not is_interactive():
        raise CommandError("there is no terminal for an editor; give the plan with --file FILE")
    found = await _found(sessions, view)
    return await plan_files.edited(found, f"{program()} plan {view.session}")
