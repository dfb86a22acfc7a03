"""With `deliver: fast_forward`: the person's branch follows the session's when all is merged.

| the session                          | the branch that it started from                       |
|--------------------------------------|-------------------------------------------------------|
| ends as complete                     | moves to the session's branch, if that is safe        |
| ends as complete, and it is not safe | stays; a notice says why, and what to type            |
| ends otherwise                       | stays: the work that is missing may belong to it      |

What a person does while it waits is kept: the state is read again afterwards.
"""

from collections.abc import Callable

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows.agent_lifecycle import failure_text
from workflows.contracts.land_contracts import FORWARD_BRANCH, ForwardBranch, ForwardRefused
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionOutcome
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.policy.session import wave_outcomes

_NO_BRANCH = (
    "the session did not start from a branch, so there is none to fast-forward; "
    "`git merge --ff-only {branch}` brings the work to the branch that you check out"
)


async def fast_forwarded(
    request: SessionRequest, current: Callable[[], SessionState], ended: tuple[SessionOutcome, str]
) -> tuple[SessionState, SessionOutcome, str]:
    """Move the person's branch if the session is to.

    Args:
        request: what started the session.
        current: returns its state.
        ended: its outcome and the reason.

    Returns:
        The state, which has a notice if the branch stays; the outcome, which is never changed; and
        the reason, which names the branch that was moved.
    """
    (outcome, reason), state = ended, current()
    is_due = request.config.deliver == "fast_forward" and outcome == "complete"
    if not is_due or state.prepared is None or state.delivered is None:
        return state, outcome, reason
    base = state.prepared.base
    if base.branch is None:
        refusal = _NO_BRANCH.format(branch=state.branch)
    else:
        move = ForwardBranch(
            session=request.session,
            repository=request.repository,
            branch=base.branch,
            old=base.commit,
            new=state.on_branch(state.delivered),
        )
        refusal = await _refusal(move)
    if not refusal:
        return current(), outcome, f"{reason}; branch {base.branch!r} was fast-forwarded"
    kind, about = NoticeKind.DELIVERY, "fast-forward"
    state = wave_outcomes.notice(current(), kind, about, refusal, workflow.now())
    return state, outcome, reason


async def _refusal(move: ForwardBranch) -> str:
    """Move the branch; return why it was not, or nothing."""
    try:
        outcome = await FORWARD_BRANCH.ask(move, f"fast-forward branch {move.branch}")
    except ActivityError as error:
        return (
            f"branch {move.branch!r} was not fast-forwarded: {failure_text(error)}; "
            f"`blueflame fast-forward {move.session}` tries it again"
        )
    return outcome.reason[:1_000] if isinstance(outcome, ForwardRefused) else ""
