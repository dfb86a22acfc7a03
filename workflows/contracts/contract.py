"""A contract: one activity as workflows see it, with its queue, its time limits and its retries."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.errors import NEVER_RETRIED

HEARTBEAT = timedelta(seconds=30)
"""An activity that sends no heartbeat for this long counts as lost."""

Request = TypeVar("Request", bound=BaseModel)
Outcome = TypeVar("Outcome")


_LAST_CHANCE = timedelta(minutes=2)


@dataclass(frozen=True)
class Contract(Generic[Request, Outcome]):
    """One activity as a workflow sees it."""

    name: str
    request: type[Request]
    outcome: Any
    """The outcome's type; a union where the activity has several expected outcomes."""
    queue: str
    start_to_close: timedelta
    retry: RetryPolicy
    heartbeat: timedelta | None = None
    within: timedelta | None = None
    """For all attempts together, with the wait for a worker; None: without limit."""

    async def ask(
        self,
        request: Request,
        summary: str,
        queue: str | None = None,
        start_to_close: timedelta | None = None,
        *,
        is_last: bool = False,
    ) -> Outcome:
        """Run the activity from workflow code and return its outcome.

        Args:
            request: the activity's one input.
            summary: what the Web UI shows, in plain words.
            queue: a host's own queue if the work needs that host's disk; None: the contract's.
            start_to_close: a time limit other than the contract's.
            is_last: run it even if the workflow was cancelled earlier; it then has two minutes in
                all, because nothing could cancel it again.

        Raises:
            ActivityError: the activity failed after the retries that the contract allows.
            CancelledError: the workflow was cancelled earlier.
        """
        if not is_last:
            end_if_cancelled()
        activity: workflow.ActivityHandle[Outcome] = workflow.start_activity(
            self.name,
            request,
            result_type=self.outcome,
            task_queue=queue or self.queue,
            start_to_close_timeout=start_to_close or self.start_to_close,
            schedule_to_close_timeout=_LAST_CHANCE if is_cancelled() else self.within,
            heartbeat_timeout=self.heartbeat,
            retry_policy=self.retry,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=summary[:200],
        )
        return await _outcome(activity)


async def _outcome(activity: workflow.ActivityHandle[Outcome]) -> Outcome:
    """Wait for an activity; a result that arrives together with the cancellation counts.

    Cancelling the handle of an activity that has completed throws its result away: a call would
    not be charged, a merge not recorded. So the cancellation is passed on only after everything
    that arrived with it was taken up, which is when Temporal checks conditions.
    """
    while not activity.done():
        try:
            await workflow.wait([activity])
        except asyncio.CancelledError:
            await workflow.wait_condition(lambda: True)
            activity.cancel()
    return activity.result()


PATIENT = 20
"""Attempts over about a quarter of an hour; a person is told of what still fails then."""


def retry(attempts: int, never: tuple[str, ...] = NEVER_RETRIED) -> RetryPolicy:
    """Return a policy of `attempts` attempts (0: no limit), a second to a minute apart.

    Args:
        attempts: in all, including the first.
        never: failure types that are not retried.
    """
    return RetryPolicy(
        initial_interval=timedelta(seconds=1),
        backoff_coefficient=2.0,
        maximum_interval=timedelta(minutes=1),
        maximum_attempts=attempts,
        non_retryable_error_types=[str(kind) for kind in never],
    )
