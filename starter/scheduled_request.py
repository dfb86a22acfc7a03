"""Entry of `python -m starter.scheduled_request`: which session would `run` start now?

A worker of role `land` starts it when a schedule fires, or when a goal's turn in a queue comes: a
`ScheduledGoal` in, a `SessionMaking` out, both as JSON. It starts no session, and no server; the
issues of a label it puts into the repository's queue.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError, explained
from starter.console.exit_codes import ExitCode
from starter.input.session_request import RunOptions, make_request, settings_for
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.scheduled_goal import (
    IssuesQueued,
    ScheduledGoal,
    SessionMade,
    SessionMaking,
    SessionNotMade,
)

if TYPE_CHECKING:
    from starter.configuration.effective_configuration import Configuration
    from workers.settings import Settings


def main() -> None:
    """Answer the request on the standard input."""
    from workers.hosting.starter_processes import NO_ANSWER

    goal = ScheduledGoal.model_validate_json(sys.stdin.buffer.read())
    try:
        sys.stdout.write(asyncio.run(answer(goal)).model_dump_json())
    except CommandError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(NO_ANSWER)


async def answer(goal: ScheduledGoal) -> SessionMaking:
    """Return the session that a schedule starts now, or why it starts none.

    Raises:
        CommandError: the server or the hosting service does not answer now.
        Exception: an internal error.
    """
    try:
        return await _made(goal)
    except Exception as error:
        known = explained(error)
        if known is None:
            raise
        if known.code is ExitCode.UNAVAILABLE:
            raise known from error
        is_told = _wants_to_be_told()
        return SessionNotMade(kind="refused", reason=str(known)[:2_000], is_told=is_told)


async def _made(goal: ScheduledGoal) -> SessionMaking:
    from starter.machine import engine

    # Where another session is open, its service is not asked for an issue each minute.
    if goal.issue and (busy := await _busy(goal.repository)) is not None:
        return busy
    # The names count, not the values: this process has no keys.
    known = {**dict.fromkeys(goal.keys, "set"), **os.environ}
    options = options_of(goal)
    repository, request, configuration = await make_request(options, known)
    settings = settings_for(options, configuration, repository.root)
    engine.check_workers(settings, request)
    if goal.label and not goal.issue:
        return await _queued(goal, configuration, settings)
    if not goal.issue and (busy := await _busy(goal.repository)) is not None:
        return busy
    return SessionMade(request=request)


async def _queued(
    goal: ScheduledGoal, configuration: "Configuration", settings: "Settings"
) -> IssuesQueued:
    """Put the open issues with the goal's label into the queue; those it knows are left out."""
    from starter.input.scheduled_goals import goal_of_issue, labelled
    from starter.machine import engine
    from starter.sessions.goal_queues import GoalQueues

    issues = await labelled(Path(goal.repository), configuration, goal.label)
    goals = [goal_of_issue(goal, each) for each in issues]
    queues = GoalQueues(await engine.connected(settings))
    answer = await queues.enqueue(goal.repository, goals)
    return IssuesQueued(added=len(answer.added), known=len(answer.known))


def _wants_to_be_told() -> bool:
    """Tell whether the person is told of schedules that did not start, as their own file says."""
    from activities.ports.land.notification_port import NotificationSettingsError
    from workers.own_file import read_notifications

    try:
        settings = read_notifications()
    except NotificationSettingsError:
        return False  # there is no address to send it to
    return settings.has_targets and NotificationKind.SCHEDULE in settings.tell


def options_of(goal: ScheduledGoal) -> RunOptions:
    """Return what a person would type after `run` for a scheduled goal."""
    # A goal that is a dash would be read from the standard input.
    typed = goal.goal if goal.goal != "-" else " -"
    return RunOptions(
        goal=None if goal.issue else typed,
        issue=goal.issue or None,
        label=goal.label if goal.issue else "",
        repo=Path(goal.repository),
        config=None if goal.config is None else Path(goal.config),
        base=goal.base,
        pacing=goal.pacing,
        auto_approve=goal.auto_approve,
        playbook=None if goal.playbook is None else Path(goal.playbook),
        budget=goal.budget,
        allow_unjudged_base=goal.allow_unjudged_base,
    )


async def _busy(repository: str) -> SessionNotMade | None:
    """Return that a session is open on a repository, by whomever it was started; None: none is."""
    from starter.machine import engine
    from starter.machine.own_settings import read_settings
    from starter.sessions.session_client import Sessions

    sessions = Sessions(await engine.connected(read_settings()))
    for each in await sessions.list(limit=1_000, is_open=True):
        # The list lags behind: a session that has just ended may still be in it.
        if each.repository == repository and await sessions.is_open(each.session):
            reason = f"session {each.session!r} is open on {repository!r}"
            return SessionNotMade(
                kind="busy",
                reason=reason[:2_000],
                session=each.session,
                is_told=_wants_to_be_told(),
            )
    return None


if __name__ == "__main__":
    main()
