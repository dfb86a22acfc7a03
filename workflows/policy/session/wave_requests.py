"""The request of each wave, from the session's request and state.

Build all requests before the state changes (`scheduling.start`), which counts the attempt and takes
the changesets.
"""

from workflows.domain.changeset import Changeset
from workflows.domain.gate import GateReport
from workflows.domain.ids import ChangesetId, Commit, TaskId
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import Prepared, SessionState
from workflows.domain.session.wave_values import (
    Assignment,
    Candidate,
    DevelopRequest,
    Grounds,
    MergeRequest,
    PlanRequest,
    QueuedChangeset,
    ValidateRequest,
)
from workflows.domain.task import TaskRecord, TaskState
from workflows.policy.gates.gate_comparison import is_green
from workflows.policy.session.scheduling import StageStart

StageRequest = DevelopRequest | ValidateRequest | MergeRequest


def prepared(state: SessionState) -> Prepared:
    """Return what the preparation found.

    Raises:
        ValueError: the preparation is not finished.
    """
    if state.prepared is None:
        raise ValueError("the session is not prepared yet")
    return state.prepared


def grounds(request: SessionRequest, state: SessionState) -> Grounds:
    """Return what every wave of this session must know."""
    known = prepared(state)
    return Grounds(
        session=request.session,
        key=known.base.key,
        host_queue=known.host_queue,
        ledger=request.ledger_id,
        worktree=request.config.worktree,
        environment=request.config.environment,
        copied=known.base.copied,
        gates=known.gates,
        command_timeout=request.config.command_timeout,
        turns=request.config.turns,
        agents=request.config.agents,
        policy=request.config.policy,
        limits=request.config.limits,
        auto_pause_percent=request.config.auto_pause_percent,
        commits=request.config.commits,
        goal=request.goal,
    )


def plan_request(request: SessionRequest, state: SessionState) -> PlanRequest:
    """Return the request of the next PlanWave."""
    known = prepared(state)
    return PlanRequest(
        grounds=grounds(request, state),
        route=known.routes.planner,
        base=known.base.commit,
        goal=request.goal,
        issue=request.issue,
        brief=known.brief,
        notes=state.plan_notes,
        number=state.plans_made,
    )


def stage_request(request: SessionRequest, state: SessionState, start: StageStart) -> StageRequest:
    """Return the request of the wave that `start` names."""
    match start.stage:
        case "develop":
            return _develop_request(request, state, start)
        case "validate":
            return _validate_request(request, state, start)
        case "merge":
            return _merge_request(request, state, start)


def _develop_request(
    request: SessionRequest, state: SessionState, start: StageStart
) -> DevelopRequest:
    known = prepared(state)
    return DevelopRequest(
        grounds=grounds(request, state),
        route=known.routes.developer,
        assignments=tuple(assignment(state, each) for each in start.tasks),
        concurrency=request.config.concurrency.develop,
        brief=known.brief,
    )


def _validate_request(
    request: SessionRequest, state: SessionState, start: StageStart
) -> ValidateRequest:
    return ValidateRequest(
        grounds=grounds(request, state),
        route=prepared(state).routes.reviewer,
        candidates=tuple(candidate(state, each) for each in start.tasks),
        brief=prepared(state).brief,
        baseline=_baseline(state),
        base=prepared(state).base.commit,
        head=state.head,
        head_baseline=state.head_baseline,
        concurrency=request.config.concurrency.validation,
    )


def _merge_request(request: SessionRequest, state: SessionState, start: StageStart) -> MergeRequest:
    known, baseline = prepared(state), _baseline(state)
    return MergeRequest(
        grounds=grounds(request, state),
        repository=known.base.repository,
        base=known.base.commit,
        head=_head(state),
        delivered=state.delivered,
        landed=state.on_branch(state.delivered) if state.delivered else None,
        undelivered=_undelivered(state),
        queue=_queued(state, start.changesets),
        baseline=state.head_baseline or baseline,
        # If the base is red, "green" only means that nothing new failed against that base; by now
        # fewer gates may fail on the head.
        green=state.green if is_green(baseline) else (),
    )


def _undelivered(state: SessionState) -> tuple[Commit, ...]:
    heads = [each.head for each in state.merged]
    if state.delivered is None or state.delivered not in heads:
        return tuple(heads)
    return tuple(heads[heads.index(state.delivered) + 1 :])


def _baseline(state: SessionState) -> GateReport:
    if state.baseline is None:
        raise ValueError("the gates were not run on the base yet")
    return state.baseline


def _head(state: SessionState) -> Commit:
    if state.head is None:
        raise ValueError("the session has no head before it is prepared")
    return state.head


def assignment(state: SessionState, task: TaskId) -> Assignment:
    """Return what the next attempt at a task starts from."""
    record = state.records[task]
    return Assignment(
        task=record.task,
        attempt=record.attempt + 1,
        head=_head(state),
        dependencies=_unmerged(state, record),
        base=record.base if record.restart_from else None,
        restart_from=record.restart_from,
        first_base=record.first_base,
        notes=record.notes,
        steers=record.steers,
        is_made_by_git=record.is_made_by_git and record.attempt == 0 and not record.steers,
    )


def _unmerged(state: SessionState, record: TaskRecord) -> tuple[Commit, ...]:
    needed = [state.records[each] for each in record.task.depends_on]
    states = {TaskState.VALIDATED, TaskState.MERGING}
    return tuple(each.commit for each in needed if each.state in states and each.commit)


def candidate(state: SessionState, task: TaskId) -> Candidate:
    """Return one task's submitted work, for a ValidateWave."""
    record = state.records[task]
    if record.base is None or record.commit is None or record.author_family is None:
        raise ValueError(f"task {task!r} has no submitted work to validate")
    return Candidate(
        task=record.task,
        attempt=record.attempt,
        validation=record.validations + 1,
        base=record.base,
        commit=record.commit,
        family=record.author_family,
        summary=record.summary,
        is_made_by_git=record.is_made_by_git
        and (record.attempt, record.validations) == (1, 0)
        and not record.steers,
    )


def _queued(state: SessionState, ids: tuple[ChangesetId, ...]) -> tuple[QueuedChangeset, ...]:
    """Return approved changesets for the merge queue, in dependency order."""
    return tuple(
        QueuedChangeset(
            id=each.id,
            digest=each.digest,
            tasks=tuple(item.task for item in each.items),
            commits=tuple(item.commit for item in each.items),
            title=_title(each),
            needs_judged=each.needs_judged,
        )
        for each in state.changesets
        if each.id in ids and each.digest is not None
    )


def _title(changeset: Changeset) -> str:
    titles = [item.title for item in changeset.items]
    return titles[0] if len(titles) == 1 else f"{changeset.id}: {len(titles)} tasks"
