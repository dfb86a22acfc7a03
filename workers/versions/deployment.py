"""The builds as Temporal knows them: which one is current, which ones work, which ones are needed.

All builds of a namespace form one worker deployment. A session and all its children stay on the
build that started the session; new sessions start on the current build. Sessions that started
before there were builds move to the current build with their next step.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from google.protobuf.field_mask_pb2 import FieldMask
from temporalio.api.common.v1 import WorkflowExecution as WorkflowExecutionMessage
from temporalio.api.deployment.v1 import WorkerDeploymentVersion as WorkerDeploymentVersionMessage
from temporalio.api.enums.v1 import TaskQueueType, WorkerStatus
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import (
    VersioningOverride,
    WorkflowExecutionInfo,
    WorkflowExecutionOptions,
)
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkerDeploymentRequest,
    DescribeWorkerDeploymentResponse,
    ListWorkersRequest,
    SetWorkerDeploymentCurrentVersionRequest,
    UpdateWorkflowExecutionOptionsRequest,
)
from temporalio.client import Client, WorkflowExecution
from temporalio.common import SearchAttributeKey, VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode

from workflows import queues

if TYPE_CHECKING:  # commands need nothing of it, and it takes as long as Temporal's client
    from temporalio.worker import WorkerDeploymentConfig

NAME: Final = "blueflame"
RECENT: Final = timedelta(seconds=90)
"""A worker without work asks once a minute; the server records when the request began."""
_VERSION: Final = SearchAttributeKey.for_keyword("TemporalWorkerDeploymentVersion")
_LISTED: Final = 1_000
_UNTIL_KNOWN: Final = (0.2, 0.5, 1.0, 2.0)
"""A server knows the build of a worker only a moment after that worker's first request."""
_ENDED: Final = frozenset(
    {WorkerStatus.WORKER_STATUS_SHUTTING_DOWN, WorkerStatus.WORKER_STATUS_SHUTDOWN}
)


def pinned(build: str) -> "WorkerDeploymentConfig":
    """Return what makes a worker serve only sessions of one build."""
    from temporalio.worker import WorkerDeploymentConfig

    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(NAME, build),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


async def is_supported(client: Client) -> bool:
    """Tell whether the server binds sessions to builds; old servers do not.

    Raises:
        RPCError: the server does not answer.
    """
    try:
        await _describe(client)
    except RPCError as error:
        if error.status in {RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED}:
            return False
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
    return True


async def make_current(client: Client, build: str) -> None:
    """Let new sessions start on a build, whether its workers ask for work already or not.

    Raises:
        RPCError: the server refuses, or does not answer.
    """
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace,
        deployment_name=NAME,
        build_id=build,
        identity=client.identity,
        allow_no_pollers=True,
        ignore_missing_task_queues=True,
    )
    await client.workflow_service.set_worker_deployment_current_version(request, retry=True)


async def may_take_over(client: Client, build: str) -> bool:
    """Tell whether new sessions should start on a build whose worker a person just started.

    A build that the server has not seen is an upgrade. One that it has seen takes over only if no
    worker of the current build is at work, as after a rollback: an older worker that merely
    restarts, while the current build serves, must not.

    Raises:
        RPCError: the server does not answer.
    """
    try:
        info = (await _describe(client)).worker_deployment_info
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return True
        raise
    current = info.routing_config.current_deployment_version.build_id
    known = {each.deployment_version.build_id for each in info.version_summaries}
    if build not in known or current in {build, ""}:
        return True
    return current not in await builds_at_work(client)


async def current_build(client: Client) -> str:
    """Return the build that new sessions start on; empty if the server knows none.

    Raises:
        RPCError: the server does not answer.
    """
    try:
        info = await _describe(client)
    except RPCError as error:
        if error.status in {RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.NOT_FOUND}:
            return ""
        raise
    return info.worker_deployment_info.routing_config.current_deployment_version.build_id


async def builds_at_work(client: Client) -> frozenset[str]:
    """Return the builds whose workers asked for work recently.

    One that ended in order counts no more; one that was killed counts for 90 seconds.

    Raises:
        RPCError: the server does not answer.
    """
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queues.WORKFLOWS),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    answer = await client.workflow_service.describe_task_queue(request)
    recent = datetime.now(UTC) - RECENT
    ended = await _ended_workers(client)
    return frozenset(
        each.deployment_options.build_id
        for each in answer.pollers
        if each.last_access_time.ToDatetime(UTC) > recent and each.identity not in ended
    )


async def _ended_workers(client: Client) -> frozenset[str]:
    """Return the identities of the workers that said at their end that they end."""
    request = ListWorkersRequest(namespace=client.namespace, page_size=_LISTED)
    try:
        answer = await client.workflow_service.list_workers(request)
    except RPCError as error:
        if error.status is RPCStatusCode.UNIMPLEMENTED:
            return frozenset()  # a server without heartbeats of workers
        raise
    beats = [each.worker_heartbeat for each in answer.workers_info]
    return frozenset(beat.worker_identity for beat in beats if beat.status in _ENDED)


async def builds_in_use(client: Client) -> frozenset[str]:
    """Return the builds that open workflows are bound to, except the current one.

    Raises:
        RPCError: the server does not answer.
    """
    current = await current_build(client)
    query = f"TemporalWorkerDeployment = '{NAME}' AND ExecutionStatus = 'Running'"
    listed = client.list_workflows(query)
    found = {build_of_listed(each) async for each in listed}
    return frozenset(found - {current, ""})


def build_of_listed(execution: WorkflowExecution) -> str:
    """Return the build that a workflow in a list is bound to; empty if to none."""
    return execution.typed_search_attributes.get(_VERSION, "").partition(":")[2]


def build_of_workflow(info: WorkflowExecutionInfo) -> str:
    """Return the build that a workflow is bound to; empty if to none."""
    versioning = info.versioning_info
    override = versioning.versioning_override.pinned.version.build_id
    return override or versioning.deployment_version.build_id


async def move(client: Client, workflow: str, build: str) -> None:
    """Bind an open workflow to another build; its code must fit the workflow's history.

    Raises:
        RPCError: the workflow has ended or does not exist, no worker of the build has ever asked
            for work, or the server does not answer.
    """
    version = VersioningOverride.PinnedOverride(
        behavior=VersioningOverride.PINNED_OVERRIDE_BEHAVIOR_PINNED,
        version=WorkerDeploymentVersionMessage(deployment_name=NAME, build_id=build),
    )
    request = UpdateWorkflowExecutionOptionsRequest(
        namespace=client.namespace,
        workflow_execution=WorkflowExecutionMessage(workflow_id=workflow),
        workflow_execution_options=WorkflowExecutionOptions(
            versioning_override=VersioningOverride(pinned=version)
        ),
        update_mask=FieldMask(paths=["versioning_override"]),
    )
    for seconds in _UNTIL_KNOWN:
        try:
            await client.workflow_service.update_workflow_execution_options(request)
        except RPCError as error:
            if "is not present in task queue" not in str(error):
                raise
            await asyncio.sleep(seconds)
        else:
            return
    await client.workflow_service.update_workflow_execution_options(request)


async def _describe(client: Client) -> DescribeWorkerDeploymentResponse:
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=NAME)
    # The server limits how often a deployment may be asked for, by all clients together.
    return await client.workflow_service.describe_worker_deployment(request, retry=True)
