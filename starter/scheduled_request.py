"""Entry of `python -m starter.scheduled_request`: which session would `run` start now?

A worker of role `land` starts it when a schedule fires: a `ScheduledGoal` in, a `SessionMaking`
out, both as JSON. It starts no session, and no server.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import explained
from starter.console.exit_codes import ExitCode
from starter.input.session_request import RunOptions, make_request, settings_for
from workflows.domain.session.scheduled_goal import (
    ScheduledGoal,
    SessionMade,
    SessionMaking,
    SessionNotMade,
)

if TYPE_CHECKING:
    from workers.settings import Settings


def main() -> None:
    """Answer the request on the standard input."""
    goal = ScheduledGoal.model_validate_json(sys.stdin.buffer.read())
    sys.stdout.write(asyncio.run(answer(goal)).model_dump_json())


async def answer(goal: ScheduledGoal) -> SessionMaking:
    """Return the session that a schedule starts now, or why it starts none.

    Raises:
        Exception: something failed that may pass, such as the connection to the server.
    """
    try:
        return await _made(goal)
    except Exception as error:
        known = explained(error)
        if known is None or known.code is ExitCode.UNAVAILABLE:
            raise
        return SessionNotMade(kind="refused", reason=str(known)[:2_000])


async def _made(goal: ScheduledGoal) -> SessionMaking:
    from starter.machine import engine

    # The names count, not the values: this process has no keys.
    known = {**dict.fromkeys(goal.keys, "set"), **os.environ}
    options = options_of(goal)
    repository, request, configuration = await make_request(options, known)
    settings = settings_for(options, configuration, repository.root)
    engine.check_workers(settings, request)
    if (open_session := await _open_on(request.repository, settings)) is not None:
        reason = f"session {open_session!r} is open on {request.repository!r}"
        return SessionNotMade(kind="busy", reason=reason[:2_000])
    return SessionMade(request=request)


def options_of(goal: ScheduledGoal) -> RunOptions:
    """Return what a person would type after `run` for a scheduled goal."""
    return RunOptions(
        # A goal that is a dash would be read from the standard input.
        goal=goal.goal if goal.goal != "-" else " -",
        repo=Path(goal.repository),
        config=None if goal.config is None else Path(goal.config),
        base=goal.base,
        pacing=goal.pacing,
        auto_approve=goal.auto_approve,
        playbook=None if goal.playbook is None else Path(goal.playbook),
        budget=goal.budget,
        allow_unjudged_base=goal.allow_unjudged_base,
    )


async def _open_on(repository: str, settings: "Settings") -> str | None:
    """Return a session that is open on a repository, by whomever it was started."""
    from starter.machine import engine
    from starter.sessions.session_client import Sessions

    sessions = await Sessions(await engine.connected(settings)).list(limit=1_000, is_open=True)
    return next((each.session for each in sessions if each.repository == repository), None)


if __name__ == "__main__":
    main()
