"""Which pull requests a session wants, from its state.

| the session                        | its one pull request                               |
|------------------------------------|----------------------------------------------------|
| has merged nothing yet             | none                                               |
| works, or ended with work missing  | a draft at the commit of its branch                |
| has merged every task, or a person | ready for review, at the commit of its branch      |
| skipped what is missing            |                                                    |
| was stopped                        | closed, unless it is merged                        |

With one for each changeset they form a stack in the order in which the changesets were merged,
which is an order of their dependencies: each proposes its own changes to the branch of the one
below, or, where that one is merged on the hosting service, to what that one was merged into. They
are ready at once: only what was approved is merged.
"""

from collections import Counter
from typing import Final

from workflows.domain.ids import ChangesetId
from workflows.domain.pull_request import (
    MergedWork,
    PullsReport,
    PullState,
    WantedPull,
    WantedPulls,
)
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskRecord, TaskState
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
    if request.config.pull_request.per == "changeset":
        pulls = _stack(request, state, target, is_stopped=is_stopped)
    else:
        pulls = (_whole(request, state, target, is_stopped=is_stopped),)
    return WantedPulls(pulls=pulls, is_whole=is_whole(state))


def _whole(
    request: SessionRequest, state: SessionState, target: str, *, is_stopped: bool
) -> WantedPull:
    assert state.branch is not None, "it is named once something is delivered"
    assert state.delivered is not None, "asked only then"
    records = tuple(state.records.values())
    summary = state.plan.summary if state.plan else ""
    return WantedPull(
        key=SESSION,
        branch=state.branch,
        commit=state.on_branch(state.delivered),
        target=target,
        title=one_line(request.goal),
        body=session_body(request.session, request.goal, summary, records, SESSION),
        is_draft=not is_whole(state),
        is_closed=is_stopped,
    )


def _stack(
    request: SessionRequest, state: SessionState, target: str, *, is_stopped: bool
) -> tuple[WantedPull, ...]:
    merged = {each.key for each in state.pulls if each.state is PullState.MERGED}
    pulls: list[WantedPull] = []
    below = target
    for key, work in _layers(state):
        records = _records(state, work.changeset)
        branch = f"{state.branch}-{key}"
        body = session_body(request.session, request.goal, "", records, key)
        pull = WantedPull(
            key=key,
            branch=branch,
            commit=state.on_branch(work.head),
            target=below,
            title=one_line(records[0].task.title if len(records) == 1 else key),
            body=body,
            is_draft=False,
            is_closed=is_stopped,
        )
        pulls.append(pull)
        if key not in merged:
            below = branch
    return tuple(pulls)


def _layers(state: SessionState) -> list[tuple[str, MergedWork]]:
    """Return what the person's repository has of the merged changesets, each with its key.

    A changeset that is merged again, with more work, is another layer.
    """
    seen: Counter[ChangesetId] = Counter()
    layers: list[tuple[str, MergedWork]] = []
    delivered = 0
    for number, work in enumerate(state.merged, start=1):
        seen[work.changeset] += 1
        again = f"-{seen[work.changeset]}" if seen[work.changeset] > 1 else ""
        layers.append((f"{work.changeset}{again}", work))
        if work.head == state.delivered:
            delivered = number
    return layers[:delivered]


def _records(state: SessionState, changeset: ChangesetId) -> tuple[TaskRecord, ...]:
    home = next(each for each in state.changesets if each.id == changeset)
    return tuple(state.records[task] for task in home.tasks)


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
    return state.evolve(
        pulls=report.pulls,
        pulls_tried=report.revision,
        pulls_fault=report.fault,
        is_followed=report.is_followed,
    )
