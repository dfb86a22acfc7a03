"""What a session does before it plans: look at the repository, claim a host, pin the models.

The baseline (the gates on the base) runs beside the planning, because both take minutes.
"""

from typing import Any, NamedTuple

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.contracts import (
    CLAIM_HOST,
    EXPORT_BASE,
    IMPORT_BASE,
    RESOLVE_MODELS,
    RUN_GATES,
    ClaimHost,
    ExportBase,
    ImportBase,
    ResolveModels,
    RunGates,
)
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.budget import LedgerRequest
from workflows.domain.gate import GateReport
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_state import ResolvedRoutes, SessionState
from workflows.domain.session.session_values import SessionRequest
from workflows.domain.session.wave_values import Grounds
from workflows.ledger import SessionLedger
from workflows.policy.agent.agent_limits import limits_for
from workflows.policy.agent.turn_decisions import FIXED_BYTES, max_output_tokens
from workflows.policy.money.disk_need import estimate_bytes
from workflows.policy.money.grants import quote
from workflows.policy.review.verdict_rules import route_fault


def ledger_id(request: SessionRequest) -> str:
    """Return the id of the session's ledger."""
    return f"session/{request.session}/ledger"


async def start_ledger(request: SessionRequest) -> None:
    """Start the session's ledger; it outlives a continuation of the session."""
    ledger = LedgerRequest(session_workflow=workflow.info().workflow_id, caps=request.config.budget)
    await workflow.start_child_workflow(
        SessionLedger.run,
        ledger,
        id=ledger_id(request),
        static_summary="grants and spend",
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
    )


class Prepared(NamedTuple):
    """What the preparation found, for the session to take up."""

    facts: dict[str, Any]
    """Fields of `SessionState`."""
    warnings: tuple[tuple[NoticeKind, str], ...]


async def prepare(request: SessionRequest) -> Prepared:
    """Return what is to be known of base, host, gates and models.

    Raises:
        ActivityError: the repository, the disk or the sandbox cannot be used; the message says why.
        ApplicationError: the routes cannot work.
    """
    export = ExportBase(
        session=request.session,
        repository=request.repository,
        base=request.base,
        worktree=request.config.worktree,
    )
    base = await EXPORT_BASE.ask(export, "look at the repository and bundle the base")
    routes = await RESOLVE_MODELS.ask(
        ResolveModels(routes=request.config.routes, catalogue=request.config.catalogue),
        "pin the models and their prices",
    )
    _check_routes(routes)
    claim = await CLAIM_HOST.ask(_wish(request), "claim a host")
    wanted = ImportBase(
        session=request.session,
        key=base.key,
        bundle=base.bundle,
        shallow=base.shallow,
        commit=base.commit,
        gates=request.config.gates,
        disk_bytes=estimate_bytes(base.files, base.tree_bytes, request.config.concurrency),
        unfilled=base.unfilled,
    )
    imported = await IMPORT_BASE.ask(wanted, "bring the base to the host", queue=claim.queue)
    texts = (*base.warnings, *claim.warnings, *imported.warnings)
    warnings = [(NoticeKind.REPOSITORY, text) for text in texts]
    if not imported.gates:
        text = "no gates are configured and none were found: only the reviewer judges the work"
        warnings.append((NoticeKind.GATE, text))
    if request.config.worktree.network and claim.sandbox == "none":
        text = "without a sandbox `worktree.network` holds no one back: set-up reaches every host"
        warnings.append((NoticeKind.REPOSITORY, text))
    facts = {
        "base": base,
        "head": base.commit,
        "host_queue": claim.queue,
        "sandbox": claim.sandbox,
        "routes": routes,
        "gates": imported.gates,
        "brief": imported.brief,
    }
    return Prepared(facts, tuple(warnings))


def _wish(request: SessionRequest) -> ClaimHost:
    return ClaimHost(
        session=request.session,
        sandbox=request.config.sandbox,
        environment=request.config.environment,
    )


def _check_routes(routes: ResolvedRoutes) -> None:
    if fault := route_fault(routes.developer, routes.reviewer):
        raise ApplicationError(fault, type="RoutesRefused", non_retryable=True)
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
            _check_limit(role, model)


def _check_limit(role: Role, model: ModelFacts) -> None:
    """Refuse a model whose very first call could pass the limit of an agent of its role."""
    least = quote(model, FIXED_BYTES, max_output_tokens(model))
    limit = limits_for(role, None, 1).usd
    if least is not None and least > limit:
        text = (
            f"one call of {model.provider}/{model.model} may cost ${least:.2f}, more than the "
            f"${limit} that a {role} may spend; choose a cheaper model for this role"
        )
        raise ApplicationError(text, type="RoutesRefused", non_retryable=True)


def grounds(request: SessionRequest, state: SessionState) -> Grounds:
    """Return what every wave of this session needs to know."""
    if state.base is None:
        raise ValueError("the session is not prepared yet")
    return Grounds(
        session=request.session,
        key=state.base.key,
        host_queue=state.host_queue,
        ledger=ledger_id(request),
        worktree=request.config.worktree,
        environment=request.config.environment,
        copied=state.base.copied,
        gates=state.gates,
        command_timeout=request.config.command_timeout,
        turns=request.config.turns,
        policy=request.config.policy,
        limits=request.config.limits,
    )


async def baseline(request: SessionRequest, state: SessionState) -> GateReport:
    """Run the gates on the base; what fails here is nobody's fault."""
    if state.base is None:
        raise ValueError("the session is not prepared yet")
    run = RunGates(
        session=request.session,
        key=state.base.key,
        commit=state.base.commit,
        gates=state.gates,
        baseline=None,
        setup=request.config.worktree.setup,
        network=request.config.worktree.network,
        copied=state.base.copied,
        environment=request.config.environment,
    )
    return await RUN_GATES.ask(run, "baseline: gates on the base", queue=state.host_queue)
