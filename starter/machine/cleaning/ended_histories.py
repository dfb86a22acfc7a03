"""Deletes the histories of ended sessions on the bundled server; on any other, its retention does.

The server itself deletes them after 30 days; this is for a clean-up with a shorter age. Pages
that become free in its database are used again, and given back when it starts the next time.
"""

from collections.abc import Set as AbstractSet
from datetime import datetime

from temporalio.api.common.v1 import WorkflowExecution as WorkflowExecutionMessage
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

_PREFIX = "session/"
_STARTS = ("schedule/", "repository/", "queue/")
_OF_BUILDS = (
    'TemporalNamespaceDivision = "TemporalWorkerDeployment" AND ExecutionStatus != "Running"'
)


async def delete_histories(
    client: Client, sessions: AbstractSet[str], before: datetime, *, dry_run: bool
) -> int:
    """Delete every workflow of some sessions that has ended, and what started them; count them.

    Args:
        client: of the bundled server.
        sessions: ids of sessions of which nothing runs any more.
        before: firings of schedules, and earlier runs of queues, go if they ended before this.
        dry_run: only count.
    """
    count = 0
    async for found in client.list_workflows('ExecutionStatus != "Running"'):
        if found.status is WorkflowExecutionStatus.RUNNING:
            continue
        session = found.id.removeprefix(_PREFIX).split("/")[0]
        is_of_session = found.id.startswith(_PREFIX) and session in sessions
        if not is_of_session and not _is_old_start(found, before):
            continue
        if dry_run or await _deleted(client, found.id, found.run_id):
            count += 1
    return count


async def delete_earlier_runs(client: Client, before: datetime) -> None:
    """Delete what the server keeps of earlier starts of workers: ended runs of its own workflows.

    Args:
        client: of the bundled server. It has one such workflow for all builds, and one for each;
            each start of a worker ends a run and begins the next, which holds all that is known.
        before: runs go that ended before this.
    """
    async for found in client.list_workflows(_OF_BUILDS):
        if _is_over(found, before):
            await _deleted(client, found.id, found.run_id)


def _is_old_start(found: WorkflowExecution, before: datetime) -> bool:
    """Tell whether it started sessions, and ended before a time."""
    return found.id.startswith(_STARTS) and _is_over(found, before)


def _is_over(found: WorkflowExecution, before: datetime) -> bool:
    return found.close_time is not None and found.close_time < before


async def _deleted(client: Client, workflow: str, run: str) -> bool:
    request = DeleteWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_execution=WorkflowExecutionMessage(workflow_id=workflow, run_id=run),
    )
    try:
        await client.workflow_service.delete_workflow_execution(request, retry=True)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
