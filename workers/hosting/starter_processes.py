"""Asks the command line for what only it can do: which session to start, and a session's report.

What a person types, the layers of their configuration, and pages for people are in `starter`, which
no worker imports. So it runs as a process of its own, with this worker's rights and environment.
"""

import asyncio
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from activities.process_end import end_child
from workers.hosting.report_process import ReportProcess
from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionMaking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from workers.settings import Settings
    from workflows.contracts.land_contracts import WriteReport

_MAKING: TypeAdapter[SessionMaking] = TypeAdapter(SessionMaking)
_REPORT_SECONDS: Final = 150.0
"""For a report, and for those that were asked for before it."""
NO_ANSWER: Final = 75
"""How a process of the command line exits if the server or a hosting service does not answer."""


class SessionCommandError(RuntimeError):
    """The command line answered nothing that can be used."""

    def __init__(self, text: str, code: int | None = None) -> None:
        """Args: what it said last; how it exited."""
        super().__init__(text)
        self.code = code


async def make_session(goal: ScheduledGoal) -> SessionMaking:
    """Return the session that `run` would start now, or why it would refuse.

    Raises:
        NoAnswerError: the server or the hosting service does not answer now.
        SessionCommandError: the process failed; its last line says why.
    """
    from activities.land.scheduled_sessions import NoAnswerError

    try:
        answer = await _asked("starter.scheduled_request", goal.model_dump_json())
    except SessionCommandError as error:
        kind = NoAnswerError if error.code == NO_ANSWER else SessionCommandError
        raise kind(f"schedule {goal.name!r}: {error}") from None
    return _MAKING.validate_json(answer)


def report_writer(settings: "Settings") -> "Callable[[WriteReport], Awaitable[str]]":
    """Return what writes a session's report into the data directory of these settings."""
    return partial(write_report, settings, ReportProcess())


async def write_report(settings: "Settings", process: ReportProcess, request: "WriteReport") -> str:
    """Write a session's report, unless there is one from after its end.

    Returns:
        Why there is none; empty if there is one.

    Raises:
        ReportProcessError: the process failed; its last line says why.
    """
    with suppress(OSError):
        made = (settings.data_dir / "reports" / f"{request.session}.html").stat()
        if made.st_mtime >= request.ended_at.timestamp():
            return ""
    try:
        async with asyncio.timeout(_REPORT_SECONDS):
            return await process.write(request.session)
    except TimeoutError:
        return f"it was not ready after {_REPORT_SECONDS:g} seconds"


async def _asked(module: str, given: str) -> bytes:
    """Run a module of the command line with a text as its standard input; return its answer.

    Raises:
        SessionCommandError: the process failed; its last line says why.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        process_group=0,
    )
    try:
        out, errors = await process.communicate(given.encode())
    finally:
        await end_child(process, has_group=True)
    if process.returncode != 0:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise SessionCommandError(last[:1_000], process.returncode)
    return out
