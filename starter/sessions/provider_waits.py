"""Calls of a session that wait for a provider: which model, until when, and the provider's reason.

The wait is the server's own: it outlives every worker, and is visible without one. A killed server
may end it early; the provider then refuses the call again, which costs nothing.
"""

import asyncio
from datetime import UTC
from typing import TYPE_CHECKING

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from starter.sessions.shown_session import ProviderWait
from workflows.domain.ids import SessionId

if TYPE_CHECKING:
    from temporalio.api.workflow.v1 import PendingActivityInfo


async def provider_waits(client: Client, session: SessionId) -> tuple[ProviderWait, ...]:
    """Return the calls of a session that wait now; the wait that ends first comes first."""
    query = (
        f'WorkflowType = "AgentWorkflow" AND WorkflowId STARTS_WITH "session/{session}/" '
        'AND ExecutionStatus = "Running"'
    )
    agents = [run.id async for run in client.list_workflows(query)]
    found = await asyncio.gather(*(_of_agent(client, agent) for agent in agents))
    return tuple(sorted((wait for waits in found for wait in waits), key=lambda wait: wait.until))


async def _of_agent(client: Client, workflow: str) -> list[ProviderWait]:
    from workflows.contracts.model_contracts import CALL_MODEL  # takes long; mostly no agent runs

    description = await client.get_workflow_handle(workflow).describe()
    return [
        await _read(client, workflow, pending)
        for pending in description.raw_description.pending_activities
        if pending.activity_type.name == CALL_MODEL.name
        and pending.state == PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
        and pending.HasField("last_failure")
    ]


async def _read(client: Client, workflow: str, pending: "PendingActivityInfo") -> ProviderWait:
    failure = await client.data_converter.decode_failure(pending.last_failure)
    details = failure.details if isinstance(failure, ApplicationError) else ()
    return ProviderWait(
        agent=workflow.rpartition("/")[2],
        model=str(details[0]) if details else "",
        until=pending.scheduled_time.ToDatetime(UTC),
        reason=failure.message if isinstance(failure, ApplicationError) else str(failure),
    )
