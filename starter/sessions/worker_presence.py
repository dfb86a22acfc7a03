"""Whether any workers serve sessions on a server."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from temporalio.client import Client

_RECENT: Final = timedelta(seconds=90)
"""A worker without work asks once a minute; the server records when the request began."""


async def has_workers(client: "Client") -> bool:
    """Tell whether any workers asked for work on sessions recently.

    They may run on other machines. A killed worker counts for this time too.

    Raises:
        RPCError: the server does not answer.
    """
    from temporalio.api.enums.v1 import TaskQueueType
    from temporalio.api.taskqueue.v1 import TaskQueue
    from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest

    from workflows.queues import WORKFLOWS

    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=WORKFLOWS),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    answer = await client.workflow_service.describe_task_queue(request)
    recent = datetime.now(UTC) - _RECENT
    return any(p.last_access_time.ToDatetime(UTC) > recent for p in answer.pollers)
