"""A repository's turn: holds the repository for one session, until that has ended.

Its workflow id is the repository's, and Temporal runs one workflow of an id at a time: schedules
that fire in the same second, and the repository's queue of goals, cannot both start a session.
"""

import hashlib

from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError

from workflows.domain.session.session_start import SessionRequest
from workflows.session import SessionWorkflow


def turn_id(repository: str) -> str:
    """Return the workflow id of a repository's turn.

    Args:
        repository: its root, as in the request of a session.
    """
    return f"repository/{_hashed(repository)}"


def queue_id(repository: str) -> str:
    """Return the workflow id of a repository's queue of goals."""
    return f"queue/{_hashed(repository)}"


def _hashed(repository: str) -> str:
    return hashlib.sha256(repository.encode()).hexdigest()[:32]


@workflow.defn(name="RepositoryTurn")
class RepositoryTurn:
    """Purpose: at most one session of schedules and the queue on a repository at a time.

    No signals, updates or queries. It has few events and never continues as new. The session
    continues if this workflow is terminated.
    """

    @workflow.run
    async def run(self, request: SessionRequest) -> str:
        """Start the session, and return how it ended."""
        session = await workflow.start_child_workflow(
            SessionWorkflow.run,
            request,
            id=request.workflow_id,
            task_timeout=request.task_timeout,
            memo=request.memo,
            static_summary=request.summary,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        )
        try:
            return (await session).outcome
        except ChildWorkflowError as error:
            return f"failed: {error.cause or error}"[:2_000]
