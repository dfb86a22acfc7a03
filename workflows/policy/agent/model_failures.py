"""What follows a failed model call, after Temporal has retried what a retry can fix.

Rate limits and overload get here only if the route has another model and the wait is longer than
`LONGEST_WAIT`. They are not billed. The route's last model is retried by Temporal after the
provider's own delay, however long that takes.
"""

from datetime import timedelta
from typing import Final, Literal

from pydantic import BaseModel

from workflows.errors import UNKNOWN_OUTCOME, FailureType

UNKNOWN_IN_A_ROW: Final = 3
LONGEST_WAIT: Final = timedelta(minutes=10)
"""The longest wait for a model that is not the route's last."""
_FACTOR: Final = 4
_LONGEST: Final = timedelta(minutes=1)

FailedKind = Literal["unknown", "overflow", "key", "refused"]
"""`unknown`: may have been billed. `overflow`: the prompt does not fit. `key`: the key or its
credit, which only a person can fix. `refused`: anything else that the provider refuses."""
Step = Literal["again", "compact", "next_model", "hold", "end"]
"""`again`: repeat the call. `compact`: start over with a summary. `next_model`: use the route's
next. `hold`: wait for a person, then repeat the call. `end`: the agent ends."""


_KINDS: Final[dict[str, FailedKind]] = {
    **dict.fromkeys((*UNKNOWN_OUTCOME, FailureType.OUTCOME_UNKNOWN), "unknown"),
    FailureType.CONTEXT_OVERFLOW: "overflow",
    FailureType.AUTHENTICATION_FAILED: "key",
    FailureType.CREDIT_EXHAUSTED: "key",
}


def failed_kind(failure: str) -> FailedKind:
    """Classify a failed call by the type of the activity's error."""
    return _KINDS.get(failure, "refused")


class FailedCall(BaseModel, frozen=True, extra="forbid"):
    """The facts about one failed call that decide what follows."""

    kind: FailedKind
    unknown_in_a_row: int = 0
    """Including this call."""
    is_fresh: bool = False
    """The conversation has no answer yet, so nothing can be left out."""
    is_compacted: bool = False
    """The conversation is already being compacted."""
    has_next_model: bool = False


def after_failure(failed: FailedCall) -> Step:
    """Decide what follows; the first matching row counts.

    | the call                          | and                           | what follows         |
    |-----------------------------------|-------------------------------|----------------------|
    | outcome unknown: charged at quote | fewer than three in a row     | again, after a wait  |
    | outcome unknown: charged at quote | the third in a row            | end                  |
    | context overflow                  | of a conversation             | compact              |
    | context overflow                  | of the ask for a summary      | again, without one   |
    | any other, overflow at the start  | the route has another model   | next model           |
    | the key, or its credit            | it has none                   | hold                 |
    | any other, overflow at the start  | it has none                   | end                  |
    """
    if failed.kind == "unknown":
        return "again" if failed.unknown_in_a_row < UNKNOWN_IN_A_ROW else "end"
    if failed.kind == "overflow" and not failed.is_fresh:
        return "again" if failed.is_compacted else "compact"
    if failed.has_next_model:
        return "next_model"
    return "hold" if failed.kind == "key" else "end"


def back_off(first: timedelta, unknown_in_a_row: int) -> timedelta:
    """Return how long to wait before repeating a call of unknown outcome.

    Args:
        first: the wait after the first one, `AgentRequest.back_off`; each further one in a row is
            four times as long, up to a minute.
        unknown_in_a_row: at least 1.
    """
    return min(first * _FACTOR ** (unknown_in_a_row - 1), _LONGEST)
