"""Commands on work of the past: go back to one of its turns, or take it back after its merge."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command
from starter.input.session_options import ActingOption, one_session, send_and_tell

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession


@command
async def rewind(
    task: Annotated[str, typer.Argument(help="The task's id.")],
    turn: Annotated[int, typer.Argument(min=1, help="The turn to go back to; `log` lists them.")],
    session: ActingOption = None,
    *,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="The attempt of that turn. Default: the latest.")
    ] = None,
    notes: Annotated[str, typer.Option(help="What the next attempt should know.")] = "",
) -> ExitCode:
    """Start a new attempt of a task from a turn of an earlier one."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import RewindTask

    sessions, view = await _found(session, task)
    if view.outcome is not None:
        raise CommandError(
            f"session {view.session!r} has ended, so no attempt can start in it; start another "
            "session with `run`",
            ExitCode.STALE,
        )
    content = RewindTask(id=task, turn=turn, attempt=attempt, notes=notes, by=decider())
    told = f"rewind task {task} to turn {turn}"
    return await send_and_tell(sessions, view, "rewind_task", content, told)


@command
async def revert(
    task: Annotated[str, typer.Argument(help="The merged task's id.")],
    reason: Annotated[
        str, typer.Option(help="Why; goes into the description of the task that reverts the work.")
    ] = "",
    session: ActingOption = None,
    *,
    by_agent: Annotated[
        bool, typer.Option("--by-agent", help="Let an agent do it if git alone cannot.")
    ] = False,
) -> ExitCode:
    """Take back a merged task's work, in a new changeset."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import RevertTask

    sessions, view = await _found(session, task)
    if view.outcome is not None:
        branch = view.branch or f"blueflame/{view.session}"
        raise CommandError(
            f"session {view.session!r} has ended, so no changeset can be added to it. Take the "
            f"work back yourself: `git log --grep='^Blueflame-Task: {task}$' {branch}` names the "
            "commit for `git revert`; or give `run` the goal to take it back",
            ExitCode.STALE,
        )
    content = RevertTask(id=task, reason=reason, by_agent=by_agent, by=decider())
    return await send_and_tell(sessions, view, "revert_task", content, f"revert task {task}")


async def _found(wanted: str | None, task: str) -> "tuple[Sessions, ShownSession]":
    from starter.decisions import decision_checks

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    decision_checks.known_task(view, task)
    return sessions, view
