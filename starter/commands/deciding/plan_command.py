"""`plan`: the plan in full, another one in its place, and changes while a session runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.nested_session import refuse_inside
from starter.console.terminal import command, write
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
            help="`edit` changes the plan. SESSION: the session's id. Default: the latest open "
            "session, else the latest one; for `edit`, the only open session.",
        ),
    ] = None,
    *,
    edit: Annotated[bool, typer.Option("--edit", help="The same as the word `edit`.")] = False,
    file: Annotated[
        Path | None, typer.Option(help="Take the new plan from this YAML or JSON file.")
    ] = None,
    digest: Annotated[
        str | None, typer.Option(help="Digest of the plan that FILE changes; a prefix is enough.")
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
    from starter.input.plan_change import change_plan
    from starter.views import session_words

    sessions, session = await one_session(wanted, acts=True)
    write(await change_plan(sessions, session, file, digest), session_words.style)
    return ExitCode.COMPLETE
