"""Commands that only look: `ls`, `status`, `watch`, `task`, `diff`, `trace`."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.program_name import program
from starter.console.terminal import can_fill_the_screen, command, write
from starter.input.session_options import (
    JsonOption,
    LinesOption,
    SessionArgument,
    SessionOption,
    goal_queues,
    one_session,
    open_sessions,
)

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession
    from workflows.domain.ids import SessionId
    from workflows.domain.session.query_answers import ChangesetLine


@command
async def ls(
    *,
    json: JsonOption = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of sessions.")] = 20,
    failed: Annotated[
        bool, typer.Option("--failed", help="List the goals that queues have set aside.")
    ] = False,
) -> ExitCode:
    """List sessions, newest first."""
    from starter.console import json_output
    from starter.views import session_list

    if failed:
        return await _set_aside(json=json)
    sessions = await open_sessions()
    found = await sessions.list(limit)
    seen = await sessions.glance(each.session for each in found)
    found = [session_list.summary(each, seen.get(each.session)) for each in found]
    if json:
        return json_output.write_object(sessions=found)
    write(session_list.sessions(found))
    return ExitCode.COMPLETE


async def _set_aside(*, json: bool) -> ExitCode:
    from starter.console import json_output
    from starter.views import session_list

    found = await (await goal_queues()).list()
    if json:
        aside = {each.repository: each.state.failed for each in found}
        return json_output.write_object(failed=aside)
    write(session_list.failed(found))
    return ExitCode.COMPLETE


@command
async def status(session: SessionArgument = None, *, json: JsonOption = False) -> ExitCode:
    """Show the state of a session. Needs the server, but no worker."""
    from starter.console import json_output
    from starter.follow import kept_work
    from starter.machine.own_settings import read_settings
    from starter.views import session_words

    sessions, found = await one_session(session, json=json)
    view, waits = await asyncio.gather(sessions.view(found), sessions.waits(found))
    if view.outcome is None:
        view = view.with_waits(waits)
    if json:
        return json_output.write(view)
    write(session_words.status(view, program()), session_words.style)
    write(kept_work.lines(view, read_settings().host_dir))
    return ExitCode.COMPLETE


@command
async def watch(
    session: SessionArgument = None,
    *,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Without a terminal: keep waiting when a decision is needed."),
    ] = False,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="On a terminal: print lines and ask questions instead."),
    ] = False,
    json: LinesOption = False,
) -> ExitCode:
    """Follow a session until it ends, full-screen on a terminal, and decide there."""
    from starter.follow.watching import Watch
    from starter.live.live_watch import watch_live
    from starter.machine.own_settings import read_settings
    from starter.views import worker_words
    from workers.server.supervisor import read_state

    sessions, found = await one_session(session, json=json)
    try:
        if can_fill_the_screen() and not (plain or json):
            return await watch_live(sessions, found)
        return await Watch(sessions, found, patient=wait, json=json).follow()
    except asyncio.CancelledError:
        if not json:
            goes_on = read_state(read_settings()) is not None
            write(worker_words.detached(found, program(), goes_on=goes_on))
        raise


@command
async def task(
    task: Annotated[str, typer.Argument(help="The task's id.")],
    session: SessionOption = None,
    *,
    json: JsonOption = False,
) -> ExitCode:
    """Show one task in full: criteria, state, findings, decisions."""
    from starter.console import json_output
    from starter.views import decision_words, plan_words, safety_labels, session_words

    sessions, found = await one_session(session, json=json)
    record = await sessions.task(found, task)
    if record is None:
        raise await _no_task(sessions, found, task)
    view = await sessions.view(found)
    decisions = decision_words.about(view, record.task.id)
    if json:
        return json_output.write_object(
            **safety_labels.document(view), task=record, decisions=decisions
        )
    lines = [*plan_words.record(record, safety_labels.of(view)), *decision_words.section(decisions)]
    write(lines, session_words.style)
    return ExitCode.COMPLETE


@command
async def diff(  # noqa: PLR0913 (each option is one)
    changeset: Annotated[
        str | None, typer.Argument(help="The changeset's id. Default: the only one that waits.")
    ] = None,
    session: SessionOption = None,
    task: Annotated[str | None, typer.Option(help="Only the diff of this task.")] = None,
    file: Annotated[str | None, typer.Option(help="Only the diff of this file.")] = None,
    *,
    side_by_side: Annotated[
        bool, typer.Option("--side-by-side", help="Old lines left, new lines right.")
    ] = False,
    json: JsonOption = False,
) -> ExitCode:
    """Print the diff of a changeset; on a terminal, in a pager."""
    from starter.console import json_output
    from starter.follow import changeset_diff
    from starter.machine.own_settings import read_settings
    from starter.views import safety_labels

    sessions, found = await one_session(session, json=json)
    view = await sessions.view(found)
    chosen = _chosen(view, changeset)
    diffs = await changeset_diff.diffs_of(sessions, found, chosen, read_settings())
    comments = await changeset_diff.comments_of(sessions, found, diffs)
    diffs = changeset_diff.selected(diffs, task, file)
    if json:
        tasks = [{"id": each, "diff": text} for each, text in diffs.items()]
        return json_output.write_object(
            **safety_labels.document(view), changeset=chosen, tasks=tasks, comments=comments
        )
    changeset_diff.show(view, chosen, diffs, comments, side_by_side=side_by_side)
    return ExitCode.COMPLETE


async def _no_task(sessions: "Sessions", session: "SessionId", name: str) -> CommandError:
    """Say why a task was not answered: there is none of that name, or no one answers."""
    view = await sessions.view(session)
    known = [str(each.id) for each in view.tasks]
    if name in known or not view.tasks:
        return CommandError(
            f"no worker answers for task {name!r} of session {session!r}; `up --detach` starts "
            "one, `status` shows what is known without",
            ExitCode.UNAVAILABLE,
        )
    return CommandError(
        f"task {name!r} does not exist in session {session!r}; its tasks: {', '.join(known)}"
    )


def _chosen(view: "ShownSession", wanted: str | None) -> "ChangesetLine":
    from starter.views import session_words

    known = {str(c.id): c for c in view.changesets}
    if not known and wanted is None:
        raise CommandError(
            f"session {view.session!r} has no changeset yet: it is {session_words.state(view)}",
            ExitCode.STALE,
        )
    usual = [str(c.id) for c in session_words.waiting(view)] or list(known)
    names = [wanted] if wanted is not None else usual
    if len(names) != 1 or names[0] not in known:
        listed = ", ".join(sorted(known)) or "none yet"
        said = f"changeset {wanted!r} does not exist" if wanted else "name one changeset"
        raise CommandError(f"{said}; the session has: {listed}")
    return known[names[0]]


@command
async def trace(
    session: SessionArgument = None,
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[TASK]", help="Task or agent whose turns to show. Default: show only counts."
        ),
    ] = None,
    *,
    json: JsonOption = False,
) -> ExitCode:
    """Show waves, agents and activities with time and cost."""
    from starter.console import json_output
    from starter.views import safety_labels, session_words, trace_words

    sessions, found = await one_session(session, json=json)
    view = await sessions.view(found)
    read = await sessions.trace(found)
    if task is not None and not any(trace_words.is_agent(each, task) for each in read.spans):
        raise CommandError(f"no agent of session {found!r} worked on {task!r} so far")
    if json:
        labels = safety_labels.document(view)
        return json_output.write_object(**labels, trace_id=read.trace_id, spans=read.spans)
    write(safety_labels.of(view), session_words.style)
    write(trace_words.tree(read, datetime.now(UTC), task))
    return ExitCode.COMPLETE
