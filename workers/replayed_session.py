"""Whether this program's workflow code fits a session's histories, found by running it on them.

Nothing is started, sent or changed: commands are only compared with what was recorded.
"""

from typing import Final

from pydantic import BaseModel
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from workers.roles import Role
from workers.wiring import workflows_for

_MESSAGE: Final = 500


class ReplayedWorkflow(BaseModel, frozen=True, extra="forbid"):
    """One run of one of a session's workflows."""

    workflow: str
    """Its id: `session/<id>` or below."""
    run: str
    is_open: bool
    events: int
    """In its history."""
    failure: str
    """What does not fit, with the event; empty: the code fits."""


async def replay_session(client: Client, session: str) -> list[ReplayedWorkflow]:
    """Replay all of a session's workflows, also those that have ended, by id.

    Args:
        client: its data converter must reach the store and the keys of the histories.
        session: the session's id.

    Raises:
        RPCError: the server does not answer.
    """
    query = f'WorkflowId = "session/{session}" OR WorkflowId STARTS_WITH "session/{session}/"'
    found = [each async for each in client.list_workflows(query)]
    replayer = Replayer(
        workflows=workflows_for(Role.WORKFLOWS),
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=client.data_converter,
        namespace=client.namespace,
    )
    found.sort(key=lambda each: (each.id, each.start_time))
    return [await _replayed(client, replayer, each) for each in found]


async def _replayed(
    client: Client, replayer: Replayer, execution: WorkflowExecution
) -> ReplayedWorkflow:
    handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
    history = await handle.fetch_history()
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return ReplayedWorkflow(
        workflow=execution.id,
        run=execution.run_id,
        is_open=execution.status is WorkflowExecutionStatus.RUNNING,
        events=len(history.events),
        failure=str(result.replay_failure or "")[:_MESSAGE],
    )
