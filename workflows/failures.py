"""Reading an activity's failure: one place that turns exceptions into a type that policy knows."""

from temporalio import exceptions
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutType

from workflows.errors import FailureType

_TIMEOUTS = {
    TimeoutType.START_TO_CLOSE: "TemporalTimeout:StartToClose",
    TimeoutType.HEARTBEAT: "TemporalTimeout:Heartbeat",
}
_UNANSWERED = frozenset({FailureType.PROVIDER_UNAVAILABLE, FailureType.RATE_LIMITED})


def failure_type(error: ActivityError) -> str:
    """Return the `FailureType` of a failed activity, or the server's name for its time-out.

    Args:
        error: as it came from the activity; its cause holds the type.
    """
    cause = error.cause
    if isinstance(cause, ApplicationError):
        return cause.type or "Unknown"
    if isinstance(cause, exceptions.TimeoutError):
        return _TIMEOUTS.get(cause.type, "TemporalTimeout") if cause.type else "TemporalTimeout"
    return "Unknown"


def is_unanswered(error: ActivityError) -> bool:
    """Tell whether an activity failed because no worker or no service answered.

    The same request may succeed later, unlike one that was refused or met an internal error.
    """
    kind = failure_type(error)
    return kind in _UNANSWERED or kind.startswith("TemporalTimeout")


def may_have_run(error: BaseException | None) -> bool:
    """Tell whether a cancelled activity ran on a worker instead of waiting for a try.

    An activity cancelled before its first attempt or between two has no start in the history, and
    a model call that Temporal retries was not billed. The test server always reports -1 as the
    start, which counts as started.

    Args:
        error: the result of waiting for the activity; None: it was never requested.
    """
    return isinstance(error, ActivityError) and error.started_event_id != 0


def failure_words(error: ActivityError) -> str:
    """Return what a failed activity said, without its type, which callers show separately."""
    cause = error.cause
    return cause.message if isinstance(cause, ApplicationError) else str(cause)
