"""A contract: one activity as workflows see it, with its queue, its time limits and its retries."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.errors import NEVER_RETRIED

HEARTBEAT = timedelta(seconds=30)
"""An activity that is silent for so long counts as lost."""

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
            request: its one input.
            summary: what a person reads in the Web UI, in plain words.
            queue: a host's own queue where the work needs that host's disk; None: the contract's.
            start_to_close: a bound other than the contract's.
            is_last: run it even where the workflow was cancelled before; then it is given two
                minutes in all, for nothing could cancel it again.

        Raises:
            ActivityError: after the retries that the contract allows.
            CancelledError: the workflow was cancelled before.
        """
        if not is_last:
            end_if_cancelled()
        return await workflow.execute_activity(
            self.name,
            request,
            result_type=self.outcome,
            task_queue=queue or self.queue,
            start_to_close_timeout=start_to_close or self.start_to_close,
            schedule_to_close_timeout=_LAST_CHANCE if is_cancelled() else None,
            heartbeat_timeout=self.heartbeat,
            retry_policy=self.retry,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=summary[:200],
        )


PATIENT = 20
"""Attempts over about a quarter of an hour; what still fails then is told to a person."""


def retry(attempts: int, never: tuple[str, ...] = NEVER_RETRIED) -> RetryPolicy:
    """Return a policy of so many attempts (0: no bound), a second to a minute apart.

    Args:
        attempts: in all, the first included.
        never: types of failures after which there is no other attempt.
    """
    return RetryPolicy(
        initial_interval=timedelta(seconds=1),
        backoff_coefficient=2.0,
        maximum_interval=timedelta(minutes=1),
        maximum_attempts=attempts,
        non_retryable_error_types=[str(kind) for kind in never],
    )
