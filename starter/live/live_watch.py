"""Runs the full-screen view of one session, and reports how the session ended after it."""

import asyncio
import os
import select
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.follow.watching import Watch
from starter.machine.own_settings import read_settings

if TYPE_CHECKING:
    from starter.live.live_app import LiveApp
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession
    from workflows.domain.ids import SessionId


_LOOK_SECONDS: Final = 1.0
_CLOSING_SECONDS: Final = 5.0


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
    told: Sequence[str] = ()
    has_decided = False
    while last.outcome is None:
        app = LiveApp(SessionSource(sessions, session, read_settings()), decider(), told)
        ended = await _shown(app)
        if app.no_color:
            os.environ["NO_COLOR"] = "1"  # Textual removes it, and more is written after it
        if app.return_code:
            raise CommandError(
                "the live view failed; `watch --plain` shows the session without it",
                ExitCode.FAILED,
            )
        has_decided = has_decided or app.has_decided
        if app.wants_edit:
            told = await _edit(sessions, session)
            last = await sessions.view(session)
        elif ended is None:
            raise asyncio.CancelledError
        else:
            last = ended
    return await Watch(sessions, session).conclude(last, has_decided=has_decided)


async def _edit(sessions: "Sessions", session: "SessionId") -> list[str]:
    """Let the person edit the plan, and return what came of it."""
    from starter.input.plan_change import change_plan

    try:
        return await change_plan(sessions, session)
    except CommandError as error:
        return str(error).split("\n")


async def _shown(app: "LiveApp") -> "ShownSession | None":
    """Run the view to its end; a signal, or a terminal that is closed, ends it as `q` does.

    Textual goes on when its task is cancelled, and reads a closed terminal again and again.

    Raises:
        asyncio.CancelledError: told to end.
    """
    running = asyncio.create_task(app.run_async())
    closed = asyncio.create_task(_terminal_is_closed())
    try:
        await asyncio.wait({running, closed}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        closed.cancel()
        if not running.done():
            app.exit()
            await asyncio.wait({running}, timeout=_CLOSING_SECONDS)
    return running.result() if running.done() else None


async def _terminal_is_closed() -> None:
    terminal = select.poll()
    terminal.register(sys.stdin, 0)  # only what is always told: hung up, or an error
    while not terminal.poll(0):  # noqa: ASYNC110 (only the kernel knows)
        await asyncio.sleep(_LOOK_SECONDS)
