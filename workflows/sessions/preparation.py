"""What a session does before it plans: read the repository, claim a host, pin the models.

The gates run on the base before the planner costs anything: without gates no work can be trusted.
"""

from typing import NamedTuple

from temporalio.exceptions import ActivityError, ApplicationError

from workflows.contracts.gate_contracts import gates_on, run_gates
from workflows.contracts.host_contracts import (
    AWAIT_BASE,
    CLAIM_HOST,
    IMPORT_BASE,
    AwaitBase,
    AwaitedBase,
    ClaimHost,
    ImportBase,
    ImportedBase,
)
from workflows.contracts.land_contracts import (
    EXPORT_BASE,
    SEND_BASE,
    ExportBase,
    SendBase,
    SentBase,
)
from workflows.contracts.model_contracts import RESOLVE_MODELS, ResolveModels
from workflows.domain.agent.agent_values import AgentLimits
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.gate import GateReport
from workflows.domain.plan import Plan
from workflows.domain.repository import Base
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import Prepared, ResolvedRoutes, SessionState
from workflows.errors import FailureType
from workflows.failures import failure_type
from workflows.policy.agent.agent_limits import limits_for
from workflows.policy.agent.turn_decisions import FIXED_BYTES, max_output_tokens
from workflows.policy.gates.green_rule import NOTHING_MERGES
from workflows.policy.money.disk_need import estimate_bytes
from workflows.policy.money.grants import quote
from workflows.policy.plan.plan_check import plan_faults
from workflows.policy.review.review_course import family_warning
from workflows.policy.session.wave_requests import grounds, prepared


class Preparation(NamedTuple):
    """What the preparation found, and what to tell the person about it."""

    prepared: Prepared
    warnings: tuple[tuple[NoticeKind, str], ...]


async def prepare(request: SessionRequest) -> Preparation:
    """Find out about base, host, gates and models.

    Raises:
        ActivityError: the repository, the disk or the sandbox cannot be used; the message says why.
        ApplicationError: the routes cannot be used.
    """
    export = ExportBase(
        session=request.session,
        repository=request.repository,
        base=request.base,
        worktree=request.config.worktree,
    )
    base = await EXPORT_BASE.ask(export, "look at the repository and find the base")
    routes = await RESOLVE_MODELS.ask(
        ResolveModels(routes=request.config.routes, catalogue=request.config.catalogue),
        "pin the models and their prices",
    )
    _check_routes(routes, request.config)
    claim = await CLAIM_HOST.ask(_wish(request), "claim a host")
    imported = await _imported(request, base, claim.queue)
    texts = (*base.warnings, *claim.warnings, *imported.warnings)
    warnings = [(NoticeKind.REPOSITORY, text) for text in texts]
    if not imported.gates:
        text = f"no gates are configured and none were found, so {NOTHING_MERGES}"
        warnings.append((NoticeKind.GATE, text))
    if warning := family_warning(routes.developer, routes.reviewer):
        warnings.append((NoticeKind.REVIEWER, warning))
    if request.config.worktree.network and claim.sandbox == "none":
        text = "without a sandbox `worktree.network` holds no one back: set-up reaches every host"
        warnings.append((NoticeKind.REPOSITORY, text))
    prepared = Prepared(
        base=base,
        host_queue=claim.queue,
        sandbox=claim.sandbox,
        routes=routes,
        gates=imported.gates,
        brief=imported.brief,
    )
    return Preparation(prepared, tuple(warnings))


async def _imported(request: SessionRequest, base: Base, queue: str) -> ImportedBase:
    """Bring to the host what it lacks for the base; if that does not fit, the whole history."""
    awaited = await AWAIT_BASE.ask(
        AwaitBase(key=base.key, commit=base.commit), "look for the base on the host", queue=queue
    )
    try:
        is_enough = awaited.is_there and awaited.ends is None
        sent = SentBase() if is_enough else await _sent(request, base, awaited)
        return await _import_of(request, base, sent, queue)
    except ActivityError as error:
        if failure_type(error) != FailureType.BASE_LACKING:
            raise
    sent = await _sent(request, base, AwaitedBase(is_there=False))
    return await _import_of(request, base, sent, queue)


async def _sent(request: SessionRequest, base: Base, awaited: AwaitedBase) -> SentBase:
    send = SendBase(
        session=request.session,
        repository=base.repository,
        key=base.key,
        commit=base.commit,
        known=awaited.known,
        place=awaited.place,
        ends=awaited.ends,
        history=request.config.worktree.history,
    )
    return await SEND_BASE.ask(send, "send the base to the host")


async def _import_of(
    request: SessionRequest, base: Base, sent: SentBase, queue: str
) -> ImportedBase:
    wanted = ImportBase(
        session=request.session,
        key=base.key,
        bundle=sent.bundle,
        names=base.names,
        excludes=base.excludes,
        rules=base.rules,
        shallow=base.shallow,
        ends=sent.ends,
        commit=base.commit,
        gates=request.config.gates,
        disk_bytes=estimate_bytes(base.files, base.tree_bytes, request.config.concurrency),
        unfilled=base.unfilled,
    )
    return await IMPORT_BASE.ask(wanted, "take in the base on the host", queue=queue)


def _wish(request: SessionRequest) -> ClaimHost:
    return ClaimHost(
        session=request.session,
        sandbox=request.config.sandbox,
        environment=request.config.environment,
    )


def _check_routes(routes: ResolvedRoutes, config: SessionConfig) -> None:
    for model in (*routes.planner, *routes.developer, *routes.reviewer):
        if model.prices is None:
            text = (
                f"the price of {model.provider}/{model.model} is unknown, so no cap could hold; "
                "give it under `catalogue:` in your own configuration (0 for a model that costs "
                "nothing), or choose another model for this role"
            )
            raise ApplicationError(text, type="RoutesRefused", non_retryable=True)
    for role, route in (
        (Role.PLANNER, routes.planner),
        (Role.DEVELOPER, routes.developer),
        (Role.REVIEWER, routes.reviewer),
    ):
        for model in route:
            _check_limit(role, model, limits_for(role, None, config.agents, config.turns))


def _check_limit(role: Role, model: ModelFacts, limits: AgentLimits) -> None:
    """Refuse a model if its first call alone could exceed the limit of an agent of its role."""
    least = quote(model, FIXED_BYTES, max_output_tokens(model, limits.output_tokens))
    if least is not None and least > limits.usd:
        text = (
            f"one call of {model.provider}/{model.model} may cost ${least:.2f}, more than the "
            f"${limits.usd} that a {role} may spend; choose a cheaper model for this role, or set "
            f"`agents.{role}.usd`"
        )
        raise ApplicationError(text, type="RoutesRefused", non_retryable=True)


def check_plan(plan: Plan) -> None:
    """Check a plan that a person brought.

    Raises:
        ApplicationError: the plan cannot be carried out; the message names every fault.
    """
    if faults := plan_faults(plan):
        listed = "; ".join(fault.text for fault in faults)
        raise ApplicationError(
            f"the plan is refused: {listed}", type="PlanRefused", non_retryable=True
        )


async def baseline(request: SessionRequest, state: SessionState) -> GateReport:
    """Run the gates on the base: tasks are not blamed for what fails there."""
    common = grounds(request, state)
    run = gates_on(common, prepared(state).base.commit, baseline=None)
    return await run_gates(run, "baseline: gates on the base", common.host_queue)
