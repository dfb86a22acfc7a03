"""A queue that waits before it starts a session, so that a test can act in between."""

from temporalio import workflow

from workflows.domain.session.queued_goal import QueueRequest
from workflows.domain.session.session_start import SessionRequest
from workflows.schedules.goal_queue import GoalQueue, TurnHandle


@workflow.defn(name="GoalQueue")
class HeldQueue(GoalQueue):
    """Purpose: the start of a session takes until the signal `go`; query `is_held`."""

    @workflow.init
    def __init__(self, request: QueueRequest) -> None:
        super().__init__(request)
        self._may_go = self._is_held = False

    @workflow.run
    async def run(self, request: QueueRequest) -> None:
        """Work off goals as the real one does."""
        await super().run(request)

    @workflow.signal
    def go(self) -> None:
        """Let the next session start."""
        self._may_go = True

    @workflow.query
    def is_held(self) -> bool:
        """Whether a session is being started."""
        return self._is_held

    async def _started(self, request: SessionRequest) -> TurnHandle:
        self._is_held = True
        await workflow.wait_condition(lambda: self._may_go)
        self._may_go = self._is_held = False
        return await super()._started(request)
