"""All open sessions and all workers of one server, as they are now: what `health` and gauges show.

Read from Temporal alone: pollers and backlog of the task queues, the workers' own heartbeats, and
each open session by its queries, its pending activities and its last events. Nothing is decided
here; `fleet_findings` does that.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from pydantic import BaseModel
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import PendingActivityState, TaskQueueType, WorkerStatus
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryReverseRequest,
    ListWorkersRequest,
)
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.service import RPCError, RPCStatusCode

from workers.roles import Role
from workers.versions.deployment import RECENT, build_of_workflow, builds_at_work
from workers.versions.obstacles import obstacle
from workflows import queues
from workflows.domain.budget import LedgerView
from workflows.domain.session.query_answers import SessionView

_QUERY: Final = timedelta(seconds=5)
"""Without a worker a query would wait for 30 s."""
_AT_ONCE: Final = 16
_MESSAGE: Final = 300
_QUEUES: Final = (queues.WORKFLOWS, queues.MODELS, queues.HOST, queues.LAND)

_T = TypeVar("_T")


class Poller(BaseModel, frozen=True, extra="forbid"):
    """A worker that asked a queue for work."""

    identity: str
    """Its process, machine and build: `4711@host blueflame/0.1.0-3f2a91c07e`."""
    last_seen: datetime
    """When it asked, or sent its heartbeat."""

    @property
    def version(self) -> str:
        """The build of Blue Flame that it runs; empty if it does not say."""
        return self.identity.partition(" blueflame/")[2]


class QueueState(BaseModel, frozen=True, extra="forbid"):
    """One task queue."""

    queue: str
    """`workflows`, `models`, `host`, `land`, or a host's own: `host/<name>`."""
    pollers: tuple[Poller, ...]
    """Those that the server remembers: it forgets one after five minutes."""
    backlog: int
    """Work that no worker has taken yet."""


class PendingWork(BaseModel, frozen=True, extra="forbid"):
    """An activity that has failed and is tried again later."""

    workflow: str
    activity: str
    attempt: int
    failure: str
    """The last attempt's message."""
    model: str = ""
    """As `provider/model`, for a model call."""
    again_at: datetime | None
    """None: it runs now."""


class OpenSession(BaseModel, frozen=True, extra="forbid"):
    """One open session."""

    session: str
    view: SessionView | None
    """None: no worker answers for it."""
    ledger: LedgerView | None
    """None: there is none yet, or no worker answers."""
    last_own_event: datetime
    """Of the session's own workflow: a wait for a person is at least this old."""
    last_event: datetime
    """Of any of its open workflows except the ledger."""
    pending: tuple[PendingWork, ...]
    build: str = ""
    """The build that it is bound to; empty if to none."""
    obstacle: str = ""
    """Why one of its workflows cannot go on: no worker of its build, or code that does not fit."""


class Fleet(BaseModel, frozen=True, extra="forbid"):
    """Everything at one moment."""

    at: datetime
    queues: tuple[QueueState, ...]
    sessions: tuple[OpenSession, ...]
    """By id, so the oldest comes first."""


async def read_fleet(client: Client, limit: int = 200) -> Fleet:
    """Look at the server once; it takes a few requests for each open session.

    Args:
        client: of the server.
        limit: how many open sessions are looked at.

    Raises:
        RPCError: the server does not answer.
    """
    at = datetime.now(UTC)
    own = await _own_queues(client, at)
    found = await _each([*_QUEUES, *sorted(own)], lambda queue: _queue(client, queue))
    query = "WorkflowType = 'SessionWorkflow' AND ExecutionStatus = 'Running'"
    ids = {each.id async for each in client.list_workflows(query, limit=limit)}
    work = await builds_at_work(client)
    sessions = await _each(sorted(ids), lambda name: _SessionReader(client, name, work).read())
    return Fleet(at=at, queues=tuple(found), sessions=tuple(filter(None, sessions)))


async def _each(items: Sequence[str], look: Callable[[str], Awaitable[_T]]) -> list[_T]:
    """Look at all items, a few at a time."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(item: str) -> _T:
        async with room:
            return await look(item)

    return list(await asyncio.gather(*map(one, items)))


async def _own_queues(client: Client, at: datetime) -> set[str]:
    """Return the queues of single hosts, from the heartbeats of the last minutes."""
    request = ListWorkersRequest(namespace=client.namespace, page_size=1_000)
    try:
        answer = await client.workflow_service.list_workers(request)
    except RPCError as error:
        if error.status is RPCStatusCode.UNIMPLEMENTED:
            return set()  # a server without heartbeats of workers
        raise
    beats = [each.worker_heartbeat for each in answer.workers_info]
    return {
        beat.task_queue
        for beat in beats
        if beat.task_queue.startswith(queues.host_queue(""))
        and beat.status != WorkerStatus.WORKER_STATUS_SHUTDOWN
        and beat.heartbeat_time.ToDatetime(UTC) > at - 5 * RECENT
    }


async def _queue(client: Client, queue: str) -> QueueState:
    is_of_workflows = queue == Role.WORKFLOWS
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
        if is_of_workflows
        else TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    answer = await client.workflow_service.describe_task_queue(request)
    pollers = [
        Poller(identity=each.identity, last_seen=each.last_access_time.ToDatetime(UTC))
        for each in answer.pollers
    ]
    return QueueState(
        queue=queue,
        pollers=tuple(sorted(pollers, key=lambda each: each.identity)),
        backlog=answer.stats.approximate_backlog_count,
    )


class _SessionReader:
    """Reads one open session."""

    def __init__(self, client: Client, workflow: str, at_work: frozenset[str]) -> None:
        self._client = client
        self._workflow = workflow
        self._at_work = at_work

    async def read(self) -> OpenSession | None:
        """Return the session; None if it has just ended."""
        query = f'WorkflowId STARTS_WITH "{self._workflow}/" AND ExecutionStatus = "Running"'
        parts = [each.id async for each in self._client.list_workflows(query)]
        ledger = f"{self._workflow}/ledger"
        names = [self._workflow, *(each for each in parts if each != ledger)]
        try:
            events = await _each(names, self._last_event)
            described = await _each(names, self._described)
            obstacles = [await obstacle(self._client, each, self._at_work) for each in described]
            pending = [work for each in described for work in await self._pending(each)]
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        return OpenSession(
            session=self._workflow.removeprefix("session/"),
            # A workflow that cannot go on would only let the query wait.
            view=None if obstacles[0] else await self._asked(self._workflow, SessionView),
            ledger=await self._asked(ledger, LedgerView),
            last_own_event=events[0],
            last_event=max(events),
            pending=tuple(pending),
            build=build_of_workflow(described[0].workflow_execution_info),
            obstacle=next(filter(None, obstacles), ""),
        )

    async def _asked(self, workflow: str, kind: type[_T]) -> _T | None:
        handle = self._client.get_workflow_handle(workflow)
        try:
            answer = await handle.query("state", result_type=kind, rpc_timeout=_QUERY)
        except (RPCError, WorkflowQueryFailedError):
            return None
        return answer if isinstance(answer, kind) else None

    async def _last_event(self, workflow: str) -> datetime:
        request = GetWorkflowExecutionHistoryReverseRequest(
            namespace=self._client.namespace,
            execution=WorkflowExecution(workflow_id=workflow),
            maximum_page_size=1,
        )
        service = self._client.workflow_service
        answer = await service.get_workflow_execution_history_reverse(request)
        return answer.history.events[0].event_time.ToDatetime(UTC)

    async def _described(self, workflow: str) -> DescribeWorkflowExecutionResponse:
        return (await self._client.get_workflow_handle(workflow).describe()).raw_description

    async def _pending(self, described: DescribeWorkflowExecutionResponse) -> list[PendingWork]:
        workflow = described.workflow_execution_info.execution.workflow_id
        failed: Iterable[PendingActivityInfo] = (
            each for each in described.pending_activities if each.HasField("last_failure")
        )
        return [await self._work(workflow, each) for each in failed]

    async def _work(self, workflow: str, pending: PendingActivityInfo) -> PendingWork:
        failure = await self._client.data_converter.decode_failure(pending.last_failure)
        details = failure.details if isinstance(failure, ApplicationError) else ()
        waits = pending.state == PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
        message = failure.message if isinstance(failure, FailureError) else str(failure)
        return PendingWork(
            workflow=workflow,
            activity=pending.activity_type.name,
            attempt=pending.attempt,
            failure=message[:_MESSAGE],
            model=str(details[0]) if details else "",
            again_at=pending.scheduled_time.ToDatetime(UTC) if waits else None,
        )
