"""Asks the command line which session it would start now, for a schedule.

What a person types, and the layers of their configuration, are read in `starter`, which no worker
imports. So it runs as a process of its own, with this worker's rights and environment.
"""

import asyncio
import sys

from pydantic import TypeAdapter

from activities.process_end import end_child
from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionMaking

_MAKING: TypeAdapter[SessionMaking] = TypeAdapter(SessionMaking)


class SessionCommandError(RuntimeError):
    """The command line answered nothing that can be used."""


async def make_session(goal: ScheduledGoal) -> SessionMaking:
    """Return the session that `run` would start now, or why it would refuse.

    Raises:
        SessionCommandError: the process failed; its last line says why.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "starter.scheduled_request"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        process_group=0,
    )
    try:
        out, errors = await process.communicate(goal.model_dump_json().encode())
    finally:
        await end_child(process, has_group=True)
    if process.returncode != 0:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise SessionCommandError(f"schedule {goal.name!r}: {last[:1_000]}")
    return _MAKING.validate_json(out)
