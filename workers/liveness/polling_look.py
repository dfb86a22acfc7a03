"""One look of a worker process at itself: do its workers run, and does the server see them?"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from workers.versions.deployment import RECENT
from workflows import queues

_ANSWER: Final = timedelta(seconds=10)
_UNTOLD: Final = frozenset({RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED})
"""The server answers, but does not say who asks it for work."""


async def trouble(
    client: Client, workers: Sequence[Worker], identity: str, is_at_work: Callable[[], bool]
) -> str:
    """Return why this process's workers do not get work; empty if they do.

    Args:
        client: of the server.
        workers: this process's.
        identity: under which they ask for work.
        is_at_work: tells whether activities run: a worker that is full does not ask.
    """
    for worker in workers:
        if not worker.is_running:
            return f"its worker for queue {worker.task_queue!r} has ended"
    for worker in workers:
        try:
            asked = await _is_seen(client, worker.task_queue, identity)
        except RPCError as error:
            if error.status in _UNTOLD:
                continue
            return f"the Temporal server does not answer: {error}"
        if not asked and not is_at_work():
            seconds = RECENT.total_seconds()
            return f"it has not asked queue {worker.task_queue!r} for work in {seconds:.0f} s"
    return ""


async def _is_seen(client: Client, queue: str, identity: str) -> bool:
    """Tell whether the server has lately seen a worker ask a queue for work."""
    of_workflows = queue == queues.WORKFLOWS
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
        if of_workflows
        else TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    )
    answer = await client.workflow_service.describe_task_queue(request, timeout=_ANSWER)
    recent = datetime.now(UTC) - RECENT
    return any(
        each.identity == identity and each.last_access_time.ToDatetime(UTC) > recent
        for each in answer.pollers
    )
