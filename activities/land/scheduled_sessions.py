"""Making the session that a schedule starts, from what applies when the schedule fires."""

from collections.abc import Awaitable, Callable

from temporalio import activity

from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionMaking


class ScheduleActivities:
    """Activity `schedules.make`, in role `land`: the person's configuration is read there."""

    def __init__(self, make: Callable[[ScheduledGoal], Awaitable[SessionMaking]]) -> None:
        """Use `make`, which makes a session as `run` does, and starts nothing."""
        self._make = make

    @activity.defn(name="schedules.make")
    async def make(self, goal: ScheduledGoal) -> SessionMaking:
        """Return the request of a session for this goal, or why there is none."""
        return await self._make(goal)
