"""Why a session's workflow cannot go on: its build has no worker, or its code does not fit.

Temporal then keeps the workflow open and tries again; nothing is lost. The texts here say what a
person can do.
"""

from collections.abc import Set as AbstractSet
from typing import Final

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import Client

from workers.versions.deployment import build_of_workflow

_LOOKED_AT: Final = 10
"""Events at the end of a history; after a failed workflow task follow only signals and the like."""
_MESSAGE: Final = 300


async def obstacle(
    client: Client, described: DescribeWorkflowExecutionResponse, at_work: AbstractSet[str]
) -> str:
    """Return why an open workflow cannot go on; empty if nothing is known to stop it.

    Args:
        client: of the server.
        described: the workflow.
        at_work: the builds that have workers (`deployment.builds_at_work`).

    Raises:
        RPCError: the server does not answer.
    """
    build = build_of_workflow(described.workflow_execution_info)
    if build and build not in at_work:
        return without_worker(build)
    return await unfit_code(client, described)


def without_worker(build: str) -> str:
    """Return what to say of a session whose build has no worker."""
    return (
        f"it belongs to build {build!r}, which has no running worker; start workers of that build, "
        "or run `replay` to see whether the session can move to the current build"
    )


async def unfit_code(client: Client, described: DescribeWorkflowExecutionResponse) -> str:
    """Return how the workflow's code fails on its history; empty if it does not.

    Raises:
        RPCError: the server does not answer.
    """
    if described.pending_workflow_task.attempt <= 1:
        return ""
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(
            workflow_id=described.workflow_execution_info.execution.workflow_id
        ),
        maximum_page_size=_LOOKED_AT,
    )
    service = client.workflow_service
    answer = await service.get_workflow_execution_history_reverse(request)
    return _failure(list(answer.history.events))


def _failure(newest_first: list[HistoryEvent]) -> str:
    for event in newest_first:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            break
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            message = event.workflow_task_failed_event_attributes.failure.message
            return (
                f"the workflow code fails and is tried again ({message[:_MESSAGE]}); see `replay`: "
                "it goes on with workers of a build that fits its history"
            )
    return ""
