"""The builds as Temporal knows them: which one is current, which ones work, which ones are needed.

All builds of a namespace form one worker deployment. A session and all its children stay on the
build that started the session; new sessions start on the current build. Sessions that started
before there were builds move to the current build with their next step.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkerDeploymentRequest,
    DescribeWorkerDeploymentResponse,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import WorkerDeploymentConfig

from workflows import queues

NAME: Final = "blueflame"
RECENT: Final = timedelta(seconds=90)
"""A worker without work asks once a minute; the server records when the request began."""
_VERSION: Final = SearchAttributeKey.for_keyword_list("TemporalWorkerDeploymentVersion")
_LISTED: Final = 2_000


def pinned(build: str) -> WorkerDeploymentConfig:
    """Return what makes a worker serve only sessions of one build."""
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
    """Return the builds whose workers asked for work recently; a killed one counts for 90 seconds.

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
    return frozenset(
        each.deployment_options.build_id
        for each in answer.pollers
        if each.last_access_time.ToDatetime(UTC) > recent
    )


async def builds_in_use(client: Client) -> frozenset[str]:
    """Return the builds that open workflows are bound to, except the current one.

    Raises:
        RPCError: the server does not answer.
    """
    current = await current_build(client)
    query = (
        f"TemporalWorkerDeployment = '{NAME}' AND ExecutionStatus = 'Running' "
        f"AND TemporalWorkerDeploymentVersion != '{NAME}:{current}'"
    )
    found = [
        value
        async for each in client.list_workflows(query, limit=_LISTED)
        for value in each.typed_search_attributes.get(_VERSION) or ()
    ]
    return frozenset(each.partition(":")[2] for each in found) - {current}


def build_of_workflow(info: WorkflowExecutionInfo) -> str:
    """Return the build that a workflow is bound to; empty if to none."""
    versioning = info.versioning_info
    override = versioning.versioning_override.pinned.version.build_id
    return override or versioning.deployment_version.build_id


async def _describe(client: Client) -> DescribeWorkerDeploymentResponse:
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=NAME)
    return await client.workflow_service.describe_worker_deployment(request)
