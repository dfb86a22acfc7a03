"""Which pull requests a session wants, from its state.

| the session                        | its pull request                                   |
|------------------------------------|----------------------------------------------------|
| has merged nothing yet             | none                                               |
| works, or ended with work missing  | a draft at the commit of its branch                |
| has merged every task, or a person | ready for review, at the commit of its branch      |
| skipped what is missing            |                                                    |
| was stopped                        | closed, unless it is merged                        |
"""

from typing import Final

from workflows.domain.pull_request import PullsReport, WantedPull, WantedPulls
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.session_values import SessionRequest
from workflows.domain.task import TaskState
from workflows.policy.delivery.pull_text import one_line, session_body

SESSION: Final = "session"
"""The key of the one pull request of a whole session."""
_DONE: Final = frozenset({TaskState.MERGED, TaskState.SKIPPED})


def wanted_pulls(
    request: SessionRequest, state: SessionState, *, is_stopped: bool = False
) -> WantedPulls:
    """Return the pull requests that the session wants now.

    Args:
        request: what started the session.
        state: its state.
        is_stopped: a person or the rule `on_cap: stop` stopped it.

    Returns:
        None of them before the first work is in the person's repository, or without a branch to
        merge into.
    """
    target = target_of(request, state)
    if state.delivered is None or state.branch is None or target is None:
        return WantedPulls()
    records = tuple(state.records.values())
    summary = state.plan.summary if state.plan else ""
    pull = WantedPull(
        key=SESSION,
        branch=state.branch,
        commit=state.delivered,
        target=target,
        title=one_line(request.goal),
        body=session_body(request.session, request.goal, summary, records, SESSION),
        is_draft=not is_whole(state),
        is_closed=is_stopped,
    )
    return WantedPulls(pulls=(pull,))


def target_of(request: SessionRequest, state: SessionState) -> str | None:
    """Return the branch to merge into; None: the session began at no branch, and none is named."""
    begun = state.prepared.base.branch if state.prepared else None
    return request.config.pull_request.target or begun


def is_whole(state: SessionState) -> bool:
    """Whether every task is merged, or was skipped by a person, and the branch holds all of it."""
    is_done = all(each.state in _DONE for each in state.records.values())
    return bool(state.records) and is_done and state.head == state.delivered


def take_report(state: SessionState, report: PullsReport) -> SessionState:
    """Return the state with what the hosting service showed."""
    return state.evolve(pulls=report.pulls, pulls_tried=report.revision, pulls_fault=report.fault)
