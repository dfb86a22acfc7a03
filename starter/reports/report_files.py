"""Where reports are written: by default `<data>/reports/<session>.html`, readable by its owner."""

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starter.console.program_name import program
from starter.reports.report_facts import gather, with_diffs
from workers.atomic_file import replace_text
from workflows.domain.ids import SessionId

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from workers.settings import Settings

_PATIENCE_SECONDS: Final = 120
"""How long the end of a session may take because of its report."""


def usual_place(settings: "Settings", session: SessionId) -> Path:
    """Return where a session's report is written unless a person names another file."""
    return settings.data_dir / "reports" / f"{session}.html"


async def write_report(
    sessions: "Sessions", session: SessionId, settings: "Settings", path: Path | None = None
) -> Path:
    """Write a session's report and return where it is; an earlier one is replaced whole.

    Args:
        sessions: the client.
        session: its id.
        settings: of this process: where the data directory and the store of diffs are.
        path: where to write; None: the usual place.

    Raises:
        CommandError: there is no such session.
        OSError: the file cannot be written; what was there stays.
    """
    from starter.reports.page import render

    began = time.time()
    facts = await with_diffs(await gather(sessions, session), settings)
    text = render(facts, program())
    if path is None:
        path = usual_place(settings, session)
        for folder in (settings.data_dir, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_text(path, text)
    if facts.ended_at is None:
        # By its time a worker tells whether a report is from after the session's end, and this one
        # is not, even if the session has ended while it was made.
        os.utime(path, (began, began))
    return path


async def closing_lines(
    sessions: "Sessions", session: SessionId, settings: "Settings"
) -> list[str]:
    """Write the report of a session that has ended, and say where it is.

    The report is an extra: whatever prevents it is said, and changes nothing about the session.
    """
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            path = await write_report(sessions, session, settings)
    except Exception as error:  # noqa: BLE001 (a broken report must not change how a session ends)
        why = f"{type(error).__name__}: {error}"[:200]
        return [f"Report     not written ({why}); `{program()} report {session}` tries again"]
    return [f"Report     {path}"]
