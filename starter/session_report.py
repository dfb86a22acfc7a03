"""Entry of `python -m starter.session_report`: writes the reports of sessions that have ended.

A worker of role `land` starts it: on each line of the standard input a session's id, on one of the
standard output why there is no report; nothing if there is one. It ends with its input.
"""

import asyncio
import sys

from starter.console.command_errors import explained
from starter.machine.engine import connected
from starter.machine.own_settings import read_settings
from starter.reports.report_files import write_report
from starter.sessions.session_client import Sessions
from workers.settings import Settings
from workflows.domain.ids import SessionId


def main() -> None:
    """Answer the requests on the standard input."""
    asyncio.run(serve())


async def serve() -> None:
    """Write one report after the other.

    Raises:
        Exception: something failed that may pass, such as the connection to the server.
    """
    settings = read_settings()
    sessions = Sessions(await connected(settings))
    while line := await asyncio.to_thread(sys.stdin.readline):
        fault = await written(sessions, settings, SessionId(line.strip()))
        sys.stdout.write(" ".join(fault.split()) + "\n")
        sys.stdout.flush()


async def written(sessions: Sessions, settings: Settings, session: SessionId) -> str:
    """Write a report; return why there is none, or an empty text."""
    await sessions.result(session)  # it ends at this moment, if it has not yet
    try:
        await write_report(sessions, session, settings)
    except Exception as error:
        known = explained(error)
        if known is None:
            raise
        return str(known)[:500]
    return ""


if __name__ == "__main__":
    main()
