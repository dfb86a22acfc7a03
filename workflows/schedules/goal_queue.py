"""A repository's queue: one session after the other for its goals; goals that fail are set aside.

A session that another schedule or a person started has the repository first: the queue waits, as it
does while no worker or no service answers. Its state is the whole queue; there is no file beside
it. `policy.intake.queue_rules` has the rules.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, WorkflowAlreadyStartedError

from workflows.contracts.land_contracts import MAKE_SESSION
from workflows.domain.session.queued_goal import (
    Enqueue,
    EntryId,
    NamedEntry,
    QueueAnswer,
    QueuedGoal,
    QueueRequest,
    QueueState,
)
from workflows.domain.session.scheduled_goal import IssuesQueued, SessionMade, SessionNotMade
from workflows.domain.session.session_start import SessionRequest
from workflows.failures import is_unanswered
from workflows.policy.intake import queue_rules
from workflows.schedules.repository_turn import RepositoryTurn, turn_id

TurnHandle = workflow.ChildWorkflowHandle[RepositoryTurn, str]


@workflow.defn(name="GoalQueue")
class GoalQueue:
    """Purpose: one session after the other for the goals of one repository.

    Updates: `enqueue`, `remove`, `requeue`. Query: `state`. It never ends; a continuation carries
    `QueueState`, happens only while no session of its runs, and goes to the current build, so that
    no older build's workers are kept for it. Its sessions continue if it is terminated.
    """

    @workflow.init
    def __init__(self, request: QueueRequest) -> None:
        self._request = request
        self._state = request.carried
        self._has_news = False
        self._begun = 0
        self._starting: EntryId | None = None

    @workflow.run
    async def run(self, request: QueueRequest) -> None:
        """Work off what waits, for ever."""
        while True:
            if self._begun >= request.goals_per_run or _is_long():
                await self._renew()
            if self._state.waiting:
                await self._work_off(self._state.waiting[0])
            elif not await self._news(request.renewed_after):
                await self._renew()

    @workflow.update
    def enqueue(self, wanted: Enqueue) -> QueueAnswer:
        """Put goals at the end."""
        return self._changed(queue_rules.enqueued(self._state, wanted.entries))

    @workflow.update
    async def remove(self, wanted: NamedEntry) -> QueueAnswer:
        """Take a goal out that waits or was set aside.

        While its session is being started, the answer waits: what was removed never starts.
        """
        if self._starting == wanted.id and workflow.patched("removal-waits-for-start"):
            await workflow.wait_condition(lambda: self._starting != wanted.id)
        return self._changed(queue_rules.removed(self._state, wanted.id))

    @workflow.update
    def requeue(self, wanted: NamedEntry) -> QueueAnswer:
        """Put a goal that was set aside at the end."""
        return self._changed(queue_rules.requeued(self._state, wanted.id))

    @workflow.query
    def state(self) -> QueueState:
        """What waits, what is worked off, what failed."""
        return self._state

    def _changed(self, changed: queue_rules.Changed) -> QueueAnswer:
        self._state, answer = changed
        self._has_news = True
        return answer

    async def _news(self, patience: timedelta) -> bool:
        """Wait for an Update; return whether one came in time."""
        try:
            await workflow.wait_condition(lambda: self._has_news, timeout=patience)
        except TimeoutError:
            return False
        finally:
            self._has_news = False
        return True

    async def _renew(self) -> None:
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(
            self._request.continued(self._state),
            initial_versioning_behavior=workflow.ContinueAsNewVersioningBehavior.AUTO_UPGRADE,
        )

    async def _work_off(self, entry: QueuedGoal) -> None:
        """Start the session of a goal and wait for its end, or wait until it may start."""
        made = await _made(entry)
        if entry not in self._state.waiting:
            return  # it was removed during the wait
        match made:
            case SessionMade(request=request):
                await self._play(entry, request)
            case SessionNotMade(kind="busy", reason=reason):
                await self._wait(reason)
            case SessionNotMade(reason=reason):
                now = workflow.now()
                self._state = queue_rules.set_aside(self._state, entry, reason, now)
            case IssuesQueued():
                now = workflow.now()
                text = "a label is not a goal: `schedule add --issues` queues its issues"
                self._state = queue_rules.set_aside(self._state, entry, text, now)

    async def _play(self, entry: QueuedGoal, request: SessionRequest) -> None:
        if (turn := await self._turn(entry, request)) is None:
            await self._wait(f"a schedule's session is open on {request.repository!r}")
            return
        outcome = lost = ""
        try:
            outcome = await turn  # Updates change the state during the wait
        except ChildWorkflowError as error:
            lost = str(error.cause or error)
        self._state = queue_rules.ended(self._state, outcome, workflow.now(), lost)

    async def _turn(self, entry: QueuedGoal, request: SessionRequest) -> TurnHandle | None:
        """Let a goal's session begin; None: a schedule's session has the repository."""
        self._starting = entry.id
        try:
            turn = await self._started(request)
            self._begun += 1
            self._state = queue_rules.begun(self._state, entry, request.session)
        except WorkflowAlreadyStartedError:
            return None
        else:
            return turn
        finally:
            self._starting = None

    async def _started(self, request: SessionRequest) -> TurnHandle:
        return await workflow.start_child_workflow(
            RepositoryTurn.run,
            request,
            id=turn_id(request.repository),
            static_summary=request.repository[:200],
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        )

    async def _wait(self, reason: str) -> None:
        self._state = queue_rules.held(self._state, reason)
        await self._news(self._request.busy_wait)


async def _made(entry: QueuedGoal) -> SessionMade | SessionNotMade | IssuesQueued:
    try:
        return await MAKE_SESSION.ask(entry.goal, f"queue: which session to start for {entry.id}")
    except ActivityError as error:
        reason = f"the session could not be made: {error.cause or error}"
        waits = is_unanswered(error) and workflow.patched("unanswered-goal-waits")
        return SessionNotMade(kind="busy" if waits else "refused", reason=reason[:2_000])


def _is_long() -> bool:
    return workflow.info().is_continue_as_new_suggested()
