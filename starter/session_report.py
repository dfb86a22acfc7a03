"""Entry of `python -m starter.session_report`: writes the report of a session that has ended.

A worker of role `land` starts it: the session's id in, why there is no report out; nothing if there
is one. It starts nothing.
"""

import asyncio
import sys

from starter.console.command_errors import explained
from starter.machine.engine import connected
from starter.machine.own_settings import read_settings
from starter.reports.report_files import write_report
from starter.sessions.session_client import Sessions
from workflows.domain.ids import SessionId


def main() -> None:
    """Answer the request on the standard input."""
    sys.stdout.write(asyncio.run(answer(SessionId(sys.stdin.read().strip()))))


async def answer(session: SessionId) -> str:
    """Write the report; return why there is none, or an empty text.

    Raises:
        Exception: something failed that may pass, such as the connection to the server.
    """
    settings = read_settings()
    sessions = Sessions(await connected(settings))
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
