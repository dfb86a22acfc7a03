"""`plan`: the plan in full, another one in its place, and changes while a session runs."""

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

_EDIT = "edit"


@command
async def plan(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[edit] [SESSION]",
            help="`edit` changes the plan. SESSION is an id; default: the latest open session, "
            "or the only open one for `edit`.",
        ),
    ] = None,
    *,
    edit: Annotated[bool, typer.Option("--edit", help="The same as the word `edit`.")] = False,
    file: Annotated[
        Path | None, typer.Option(help="Take the new plan from this YAML or JSON file.")
    ] = None,
    digest: Annotated[
        str | None, typer.Option(help="Digest, or its beginning, of the plan that FILE changes.")
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """Print the plan (tasks, claims, criteria …), or change it."""
    from starter.console import json_output
    from starter.views import plan_words, safety_labels, session_words
    from workflows.policy.decision.plan_edits import plan_digest

    is_edit = (words or [])[:1] == [_EDIT]
    rest = (words or [])[is_edit:]
    if len(rest) > 1:
        raise CommandError(f"plan takes one session, not {len(rest)}: {' '.join(rest)}")
    if json and (is_edit or edit or file is not None):
        raise CommandError("--json cannot go with an edit or --file")
    if edit and file is not None:
        raise CommandError("--edit opens an editor, --file reads a file: choose one")
    session = rest[0] if rest else None
    if is_edit or edit or file is not None:
        refuse_inside("plan")
        return await _change(session, file, digest or "")
    sessions, meant = await one_session(session, json=json)
    # Looked at first, so that a session that does not exist is said to be none.
    view = await sessions.view(meant)
    found = await _found(sessions, view)
    if json:
        facts = safety_labels.document(view)
        return json_output.write_object(**facts, digest=plan_digest(found), plan=found)
    agents = await sessions.agents(meant)
    write([*safety_labels.of(view), *plan_words.plan(found, agents)], session_words.style)
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


async def _change(wanted: str | None, file: Path | None, digest: str) -> ExitCode:
    from starter.decisions import decision_checks
    from starter.sessions.sent_decisions import decider, send
    from starter.views import plan_words, safety_labels, session_words
    from workflows.domain.session.session_values import EditPlan, ReplacePlan

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    decision_checks.editable(view)
    old = await sessions.plan(session)
    new = await _edited(view, old, file)
    if new is None:
        write(["nothing was changed; nothing was sent"])
        return ExitCode.COMPLETE
    if old is None:
        await send(sessions, view, "replace_plan", ReplacePlan(plan=new, by=decider()))
    else:
        made_from = _digest(old, digest, file)
        await send(sessions, view, "edit_plan", EditPlan(plan=new, digest=made_from, by=decider()))
    told = session_words.told(plan_words.edit(old, new), session)
    money = plan_words.most_money(new.tasks, await sessions.agents(session))
    write([*told, money, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE


def _digest(old: "Plan", named: str, file: Path | None) -> str:
    """Return the digest of the plan that an edit was made from; not said: of the one of now."""
    from starter.input.plan_files import digest_in
    from workflows.policy.decision.plan_edits import plan_digest

    now = plan_digest(old)
    said = named or (digest_in(file) if file is not None else "")
    return now if now.startswith(said) else said[:64]


async def _edited(view: "ShownSession", old: "Plan | None", file: Path | None) -> "Plan | None":
    from starter.input import plan_files

    if file is not None:
        return plan_files.read_plan_file(file)
    if not is_interactive():
        raise CommandError("there is no terminal for an editor; give the plan with --file FILE")
    if old is None:
        raise CommandError(
            f"session {view.session!r} has no plan to edit; give one with --file FILE",
            ExitCode.STALE,
        )
    return await plan_files.edited(old, f"{program()} plan edit {view.session}")
