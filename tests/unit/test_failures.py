"""Which failures of an activity mean that nothing answered, so that waiting can help."""

import pytest
from temporalio import exceptions
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    RetryState,
    TimeoutType,
)

from workflows.errors import FailureType
from workflows.failures import is_unanswered


@pytest.mark.parametrize(
    ("cause", "is_passing"),
    [
        (
            exceptions.TimeoutError("lost", type=TimeoutType.HEARTBEAT, last_heartbeat_details=[]),
            True,
        ),
        (
            exceptions.TimeoutError(
                "slow", type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[]
            ),
            True,
        ),
        (ApplicationError("away", type=FailureType.PROVIDER_UNAVAILABLE), True),
        (ApplicationError("refused", type=FailureType.SETTINGS_INVALID), False),
        (ApplicationError("internal", type="KeyError"), False),
    ],
)
def test_a_worker_or_service_that_is_away_is_told_from_a_refusal(
    cause: Exception, is_passing: bool
):
    error = ActivityError(
        "failed",
        scheduled_event_id=1,
        started_event_id=2,
        identity="w",
        activity_type="t",
        activity_id="1",
        retry_state=RetryState.MAXIMUM_ATTEMPTS_REACHED,
    )
    error.__cause__ = cause
    assert is_unanswered(error) is is_passing
