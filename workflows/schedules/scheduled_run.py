"""One firing of a schedule: asks which session to start, and starts it unless one is open.

It lasts as long as the session, so that a schedule whose policy is to skip starts no other.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

from workflows.contracts.land_contracts import MAKE_SESSION
from workflows.domain.session.scheduled_goal import (
    ScheduledGoal,
    ScheduledOutcome,
    SessionMade,
    SessionNotMade,
)
from workflows.domain.session.session_values import SessionRequest
from workflows.schedules.repository_turn import RepositoryTurn, turn_id


@workflow.defn(name="ScheduledRun")
class ScheduledRun:
    """Purpose: to start the session that `run` would start now.

    No signals, updates or queries: its memo says what became of it. It has few events and never
    continues as new. The session continues if this workflow is terminated.
    """

    @workflow.run
    async def run(self, goal: ScheduledGoal) -> ScheduledOutcome:
        """Start a session and wait for its end; or say why none was started."""
        match await _made(goal):
            case SessionMade(request=request):
                return await self._start(request)
            case SessionNotMade(kind="busy", reason=reason):
                return _told(ScheduledOutcome(kind="skipped", reason=reason))
            case SessionNotMade(reason=reason):
                _told(ScheduledOutcome(kind="refused", reason=reason))
                raise ApplicationError(reason, type="SessionRefused", non_retryable=True)

    async def _start(self, request: SessionRequest) -> ScheduledOutcome:
        try:
            turn = await workflow.start_child_workflow(
                RepositoryTurn.run,
                request,
                id=turn_id(request.repository),
                static_summary=request.repository[:200],
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            )
        except WorkflowAlreadyStartedError:
            reason = f"another schedule's session is open on {request.repository!r}"
            return _told(ScheduledOutcome(kind="skipped", reason=reason[:2_000]))
        outcome = _told(ScheduledOutcome(kind="started", session=request.session))
        await turn
        return outcome


async def _made(goal: ScheduledGoal) -> SessionMade | SessionNotMade:
    try:
        return await MAKE_SESSION.ask(goal, f"schedule {goal.name}: which session to start")
    except ActivityError as error:
        reason = f"the session could not be made: {error.cause or error}"
        return SessionNotMade(kind="refused", reason=reason[:2_000])


def _told(outcome: ScheduledOutcome) -> ScheduledOutcome:
    workflow.upsert_memo({"outcome": outcome})
    return outcome
