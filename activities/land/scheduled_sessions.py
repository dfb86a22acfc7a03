"""Making the session that a schedule starts, from what applies when the schedule fires."""

from collections.abc import Awaitable, Callable

from temporalio import activity
from temporalio.exceptions import ApplicationError

from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionMaking
from workflows.errors import FailureType


class NoAnswerError(RuntimeError):
    """The server or the hosting service does not answer now."""


class ScheduleActivities:
    """Activity `schedules.make`, in role `land`: the person's configuration is read there."""

    def __init__(self, make: Callable[[ScheduledGoal], Awaitable[SessionMaking]]) -> None:
        """Use `make`, which makes a session as `run` does, and starts nothing."""
        self._make = make

    @activity.defn(name="schedules.make")
    async def make(self, goal: ScheduledGoal) -> SessionMaking:
        """Return the request of a session for this goal, or why there is none.

        Raises:
            ApplicationError: ProviderUnavailable: the same request may succeed later.
        """
        try:
            return await self._make(goal)
        except NoAnswerError as error:
            kind = FailureType.PROVIDER_UNAVAILABLE
            raise ApplicationError(str(error), type=kind) from error
