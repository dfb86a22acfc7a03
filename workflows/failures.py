"""Reading an activity's failure: one place that turns exceptions into a type that policy knows."""

from temporalio import exceptions
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutType

_TIMEOUTS = {
    TimeoutType.START_TO_CLOSE: "TemporalTimeout:StartToClose",
    TimeoutType.HEARTBEAT: "TemporalTimeout:Heartbeat",
}


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


def may_have_run(error: BaseException | None) -> bool:
    """Tell whether a cancelled activity was with a worker, and not still or again waiting for one.

    One that is cancelled before its first attempt or between two has no start in the history, and
    what Temporal repeats of a model call was not billed. The server for tests, which knows of no
    start (-1), is not believed.

    Args:
        error: what came of waiting for the activity; None: it was never asked for.
    """
    return isinstance(error, ActivityError) and error.started_event_id != 0


def failure_words(error: ActivityError) -> str:
    """Return what a failed activity said, without its type, which is told beside it."""
    cause = error.cause
    return cause.message if isinstance(cause, ApplicationError) else str(cause)
