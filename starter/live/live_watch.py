"""Runs the full-screen view of one session, and reports how the session ended after it."""

import asyncio
import os
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.follow.watching import Watch
from starter.machine.engine import read_settings

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from workflows.domain.ids import SessionId


async def watch_live(sessions: "Sessions", session: "SessionId") -> ExitCode:
    """Show a session until it ends or the person leaves.

    Raises:
        CommandError: there is no such session, or the view failed.
        asyncio.CancelledError: the person left; the session goes on.
    """
    # Late: Textual takes a quarter of a second to import.
    from starter.live.live_app import LiveApp
    from starter.live.live_source import SessionSource
    from starter.sessions.sent_decisions import decider

    last = await sessions.view(session)
    has_decided = False
    if last.outcome is None:
        app = LiveApp(SessionSource(sessions, session, read_settings()), decider())
        ended = await app.run_async()
        if app.no_color:
            os.environ["NO_COLOR"] = "1"  # Textual removes it, and more is written after it
        if app.return_code:
            raise CommandError(
                "the live view failed; `watch --plain` shows the session without it",
                ExitCode.FAILED,
            )
        if ended is None:
            raise asyncio.CancelledError
        last, has_decided = ended, app.has_decided
    return await Watch(sessions, session).conclude(last, has_decided=has_decided)
