"""When a session whose work is proposed on a hosting service may end.

| the pull request                              | the session that has nothing else to do      |
|-----------------------------------------------|----------------------------------------------|
| is not yet as wanted                          | waits until it is, or cannot be              |
| cannot be made or updated                     | ends incomplete, and says why                |
| is as wanted, and is to be followed           | waits if it is complete                      |
| is as wanted                                  | ends as it would without one                 |
| cannot be: there is no branch to merge into   | ends incomplete, and says what to set        |
"""

from typing import Final

from workflows.domain.pull_request import PullState
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.policy.delivery.wanted_pulls import target_of
from workflows.policy.session import scheduling
from workflows.policy.session.scheduling import Ending

_OPEN: Final = frozenset({PullState.OPEN, PullState.DRAFT})
_NO_TARGET: Final = (
    "all is merged, but there is no pull request: the session did not start from a branch; set "
    "'pull_request.target' to the branch to merge into, and start again from there"
)


def ending_with_delivery(request: SessionRequest, state: SessionState) -> Ending:
    """Return how a session ends that has nothing to start, or that it waits."""
    ending = scheduling.ending(state, request.config)
    if request.config.deliver != "pull_request" or ending.kind == "waits" or not state.delivered:
        return ending
    if target_of(request, state) is None:
        return Ending(kind="incomplete", reason=_NO_TARGET)
    if state.pulls_tried != state.pulls_wanted:
        return Ending(kind="waits", reason="brings the pull request up to date")
    if state.pulls_fault:
        text = f"the pull request is not as wanted: {state.pulls_fault}; {ending.reason}"
        return Ending(kind="incomplete", reason=text)
    return _as_wanted(ending, request, state)


def _as_wanted(ending: Ending, request: SessionRequest, state: SessionState) -> Ending:
    if ending.kind != "complete":
        return ending
    if _follows(request, state):
        numbers = ", ".join(f"#{each.number}" for each in state.pulls if each.state in _OPEN)
        return Ending(kind="waits", reason=f"follows the pull requests {numbers}")
    shown = ", ".join(each.url for each in state.pulls)
    return Ending(kind="complete", reason=f"{ending.reason}; {shown}")


def _follows(request: SessionRequest, state: SessionState) -> bool:
    return request.config.pull_request.follow is not None and not state.is_followed
