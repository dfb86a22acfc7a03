"""Deletes the histories of ended sessions on the bundled server; on any other, its retention does.

The server forgets them by itself after 30 days; this is for a clean-up with a shorter age. Pages
that become free in its database are used again, and given back when it starts the next time.
"""

from collections.abc import Set as AbstractSet

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

_PREFIX = "session/"


async def delete_histories(client: Client, sessions: AbstractSet[str], *, dry_run: bool) -> int:
    """Delete every workflow of some sessions that has ended; return how many.

    Args:
        client: of the bundled server.
        sessions: ids of sessions of which nothing runs any more.
        dry_run: only count.
    """
    count = 0
    async for found in client.list_workflows('ExecutionStatus != "Running"'):
        is_running = found.status is WorkflowExecutionStatus.RUNNING
        session = found.id.removeprefix(_PREFIX).split("/")[0]
        if is_running or not found.id.startswith(_PREFIX) or session not in sessions:
            continue
        if dry_run or await _deleted(client, found.id, found.run_id):
            count += 1
    return count


async def _deleted(client: Client, workflow: str, run: str) -> bool:
    request = DeleteWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_execution=WorkflowExecution(workflow_id=workflow, run_id=run),
    )
    try:
        await client.workflow_service.delete_workflow_execution(request, retry=True)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
