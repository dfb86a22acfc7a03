"""One firing of a schedule: asks which session to start, and starts it unless one is open.

A firing that no worker answers within `CATCH_UP` starts nothing.

It ends once the session has begun, so that the next firing finds that open, and says so.
"""

from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

from workflows.contracts.land_contracts import MAKE_SESSION
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.scheduled_goal import (
    CATCH_UP,
    IssuesQueued,
    ScheduledGoal,
    ScheduledOutcome,
    SessionMade,
    SessionMaking,
    SessionNotMade,
)
from workflows.domain.session.session_start import SessionRequest
from workflows.notifications.firing_news import tell_of_firing
from workflows.schedules.repository_turn import RepositoryTurn, turn_id

_LATE: Final = "no worker answered within an hour, so this time is left out"


@workflow.defn(name="ScheduledRun")
class ScheduledRun:
    """Purpose: to start the session that `run` would start now, or queue the issues of a label.

    No signals, updates or queries: its memo says what became of it. It has few events and never
    continues as new. The session continues if this workflow is terminated.
    """

    @workflow.run
    async def run(self, goal: ScheduledGoal) -> ScheduledOutcome:
        """Start a session; or say why none was started."""
        match await _made(goal):
            case SessionMade(request=request):
                if _is_late() and workflow.patched("late-firing-is-left-out"):
                    return await _skipped(_skipping(request, _LATE))
                return await self._start(request)
            case IssuesQueued(added=added, known=known):
                reason = f"{added} new, {known} known before"
                return _told(ScheduledOutcome(kind="queued", reason=reason))
            case SessionNotMade(kind="busy") as found:
                return await _skipped(found)
            case SessionNotMade(reason=reason) as found:
                _told(ScheduledOutcome(kind="refused", reason=reason))
                if found.is_told:
                    await tell_of_firing(None, reason)
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
            return await _skipped(_skipping(request, reason))
        outcome = _told(ScheduledOutcome(kind="started", session=request.session))
        if not workflow.patched("firing-ends-at-start"):
            await turn
        return outcome


async def _made(goal: ScheduledGoal) -> SessionMaking:
    try:
        return await MAKE_SESSION.ask(goal, f"schedule {goal.name}: which session to start")
    except ActivityError as error:
        reason = f"the session could not be made: {error.cause or error}"
        is_told = workflow.patched("failed-firing-is-told")
        return SessionNotMade(kind="refused", reason=reason[:2_000], is_told=is_told)


def _is_late() -> bool:
    """Tell whether the workers, or what they need, came too long after the firing."""
    return workflow.now() - workflow.info().start_time > CATCH_UP


def _skipping(request: SessionRequest, reason: str) -> SessionNotMade:
    is_told = NotificationKind.SCHEDULE in request.config.notify
    return SessionNotMade(kind="busy", reason=reason[:2_000], is_told=is_told)


async def _skipped(found: SessionNotMade) -> ScheduledOutcome:
    session, reason = found.session, found.reason
    outcome = _told(ScheduledOutcome(kind="skipped", session=session, reason=reason))
    if found.is_told:
        await tell_of_firing(session, reason)
    return outcome


def _told(outcome: ScheduledOutcome) -> ScheduledOutcome:
    workflow.upsert_memo({"outcome": outcome})
    return outcome
