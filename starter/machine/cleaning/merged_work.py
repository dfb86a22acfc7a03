"""Which ended sessions are proven merged: nothing is lost if their data goes.

A session that is complete has merged each task, or a person skipped it, and its branch is in the
person's repository. In any other, work may exist that is nowhere else.
"""

import asyncio
from collections.abc import Collection

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from workers.temporal.temporal_errors import PayloadUnreadableError
from workflows.domain.session.query_answers import SessionResult

_AT_ONCE = 8


async def unproven(client: Client, sessions: Collection[str]) -> dict[str, str]:
    """Return those sessions whose work is not proven merged, each with the reason.

    Args:
        client: of the server that knows them.
        sessions: ids of sessions that have ended.
    """
    turns = asyncio.Semaphore(_AT_ONCE)

    async def doubt(session: str) -> str:
        async with turns:
            return await _doubt(client, session)

    doubts = await asyncio.gather(*map(doubt, sessions))
    return {name: reason for name, reason in zip(sessions, doubts, strict=True) if reason}


async def _doubt(client: Client, session: str) -> str:
    handle = client.get_workflow_handle(f"session/{session}", result_type=SessionResult)
    try:
        status = (await handle.describe()).status
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return "the server has just forgotten how it ended"
    if status is not WorkflowExecutionStatus.COMPLETED:
        return "it failed or was ended by hand, so its work is not proven merged"
    try:
        result = await handle.result()
    except PayloadUnreadableError:
        return "its result cannot be read here, so its work is not proven merged"
    if result.outcome == "complete":
        return ""
    return f"it ended as {result.outcome}, so not all of its work is proven merged"
