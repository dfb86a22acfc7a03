"""The validate wave: gates on a fresh checkout, then a reviewer of another family."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError

from workflows.agent_lifecycle import (
    AgentOrder,
    Agents,
    all_done,
    failure_text,
    remove_worktree,
    start_agent,
)
from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.contracts.host_contracts import (
    CHECK_EVIDENCE,
    READ_DIFF,
    RUN_GATES,
    CheckEvidence,
    DiffText,
    ReadDiff,
    gates_on,
)
from workflows.domain.agent.agent_values import AgentEnd, AgentOutcome
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.budget import Bill
from workflows.domain.gate import GateReport
from workflows.domain.ids import AgentId
from workflows.domain.session.wave_values import (
    Candidate,
    Refused,
    RefusedBy,
    Validated,
    ValidateItem,
    ValidateRequest,
    ValidateResult,
)
from workflows.domain.verdict import Submission, Verdict
from workflows.policy.agent import opening_messages
from workflows.policy.agent.agent_limits import limits_for
from workflows.policy.gates.gate_comparison import judge_gates
from workflows.policy.gates.weakened_tests import MAX_TOLD, fewer_tests, stopped_tests
from workflows.policy.review.verdict_rules import judge, pick_reviewer, read_submission

_REVIEWS = 2
"""How often a reviewer is asked: an abstention gets one more try, never a pass."""


class _Cost:
    """What one candidate's reviews cost so far."""

    def __init__(self) -> None:
        self.bill = Bill()
        self.is_at_cap = False

    def add(self, outcome: AgentOutcome) -> None:
        self.bill += outcome.bill
        self.is_at_cap = outcome.end is AgentEnd.CAP


@workflow.defn(name="ValidateWave", failure_exception_types=[Exception])
class ValidateWave:
    """Purpose: judge submitted work. Signals: `pause`, `resume`. Carries nothing over."""

    @workflow.init
    def __init__(self, request: ValidateRequest) -> None:
        self._request = request
        self._slots = asyncio.Semaphore(request.concurrency)
        self._agents = Agents()

    @workflow.run
    async def run(self, request: ValidateRequest) -> ValidateResult:
        """Judge all candidates, a few at a time."""
        items = await all_done(self._candidate(each) for each in request.candidates)
        return ValidateResult(items=items)

    @workflow.signal
    async def pause(self) -> None:
        """Hold every reviewer at its turn boundary, and start no other."""
        await self._agents.pause()

    @workflow.signal
    async def resume(self) -> None:
        """Let them go on."""
        await self._agents.resume()

    async def _candidate(self, candidate: Candidate) -> ValidateItem:
        cost = _Cost()
        async with self._slots:
            try:
                return await self._judge(candidate, cost)
            except (ActivityError, ChildWorkflowError) as error:
                if is_cancelled():
                    raise
                return _refused(candidate, "abstention", failure_text(error), cost)

    async def _judge(self, candidate: Candidate, cost: _Cost) -> ValidateItem:
        report = await self._gates(candidate)
        decision = judge_gates(self._baseline(candidate), report)
        if not decision.passes:
            return _refused(candidate, "gate", decision.notes, cost)
        diff = await self._diff(candidate)
        is_own = candidate.base == self._request.base
        if is_own and (stopped := stopped_tests(decision.missing, diff.paths)):
            return _refused(candidate, "gate", _stopped_notes(stopped), cost)
        fewer = fewer_tests(self._request.baseline, report) if is_own else ()
        weakened = (*diff.weakened, *fewer)
        diff = DiffText(text=diff.text, whole=diff.whole, paths=diff.paths, weakened=weakened)
        verdict = await self._review(candidate, diff, cost)
        if verdict.decision == "abstain":
            by = "cap" if cost.is_at_cap else "abstention"
            return _refused(candidate, by, f"no verdict: {verdict.reason}", cost)
        if verdict.decision == "reject":
            return _refused(candidate, "reviewer", _findings(verdict), cost)
        return Validated(
            task=candidate.task.id,
            attempt=candidate.attempt,
            tree=report.tree,
            diff=diff.whole,
            judgement=decision.judgement,
            weakened=weakened,
            gate_remarks=decision.remarks,
            verdict=verdict,
            bill=cost.bill,
        )

    async def _gates(self, candidate: Candidate) -> GateReport:
        grounds = self._request.grounds
        request = gates_on(grounds, candidate.commit, self._baseline(candidate))
        summary = f"gates on {candidate.task.id}, attempt {candidate.attempt}"
        return await RUN_GATES.ask(request, summary, queue=grounds.host_queue)

    def _baseline(self, candidate: Candidate) -> GateReport:
        """Return what failed already on what the work stands on."""
        on_head = self._request.head_baseline
        if on_head is not None and candidate.base == self._request.head:
            return on_head
        return self._request.baseline

    async def _review(self, candidate: Candidate, diff: DiffText, cost: _Cost) -> Verdict:
        reviewer = pick_reviewer(self._request.route, candidate.family)
        if reviewer is None:
            reason = f"no reviewer of another family than {candidate.family!r} is configured"
            return Verdict(decision="abstain", reviewer="", family="", reason=reason)
        verdict = await self._one_review(candidate, reviewer, diff, 1, cost)
        for number in range(2, _REVIEWS + 1):
            if verdict.decision != "abstain" or cost.is_at_cap:
                break
            verdict = await self._one_review(candidate, reviewer, diff, number, cost)
        return verdict

    async def _diff(self, candidate: Candidate) -> DiffText:
        grounds = self._request.grounds
        request = ReadDiff(key=grounds.key, base=candidate.base, commit=candidate.commit)
        summary = f"diff of {candidate.task.id}"
        return await READ_DIFF.ask(request, summary, queue=grounds.host_queue)

    async def _one_review(
        self, candidate: Candidate, reviewer: ModelFacts, diff: DiffText, number: int, cost: _Cost
    ) -> Verdict:
        order = self._order(candidate, reviewer, diff, number)
        outcome = await self._heard(order, f"review of {candidate.task.id}")
        cost.add(outcome)
        await remove_worktree(self._request.grounds, order)
        if outcome.end is not AgentEnd.SUBMITTED:
            reason = f"the reviewer ended without a verdict ({outcome.end}): {outcome.detail}"
            return Verdict(
                decision="abstain", reviewer=outcome.model, family=reviewer.family, reason=reason
            )
        submission = read_submission(outcome.submission)
        if isinstance(submission, str):
            return Verdict(
                decision="abstain",
                reviewer=outcome.model,
                family=reviewer.family,
                reason=submission,
            )
        holds = await self._holds(candidate, submission)
        return judge(submission, candidate.task.acceptance_criteria, holds, reviewer)

    async def _heard(self, order: AgentOrder, summary: str) -> AgentOutcome:
        end_if_cancelled()
        await workflow.wait_condition(lambda: not self._agents.is_paused)
        handle = await start_agent(self._request.grounds, order, summary)
        return await self._agents.attend(order.agent, handle)

    async def _holds(self, candidate: Candidate, submission: Submission) -> tuple[bool, ...]:
        if not submission.evidence:
            return ()
        grounds = self._request.grounds
        check = CheckEvidence(
            key=grounds.key, commit=candidate.commit, evidence=submission.evidence
        )
        summary = f"check the evidence on {candidate.task.id}"
        return (await CHECK_EVIDENCE.ask(check, summary, queue=grounds.host_queue)).holds

    def _order(
        self, candidate: Candidate, reviewer: ModelFacts, diff: DiffText, number: int
    ) -> AgentOrder:
        task = candidate.task
        nonce = workflow.uuid4().hex[:12]
        return AgentOrder(
            agent=AgentId(f"review.{task.id}.{candidate.attempt}.{number}"),
            role=Role.REVIEWER,
            route=(reviewer,),
            opening=opening_messages.reviewer(
                task, candidate.attempt, diff.text, nonce, diff.weakened
            ),
            start=candidate.commit,
            limits=limits_for(Role.REVIEWER, task.kind, self._request.grounds.turns),
        )


def _stopped_notes(stopped: tuple[str, ...]) -> str:
    """Say which tests the work stops, though it leaves their files as they are."""
    names = "\n".join(stopped[:MAX_TOLD])
    return f"These tests ran on the base and do not run now; let them run again:\n{names}"


def _findings(verdict: Verdict) -> str:
    lines = [
        f"- {each.path or ''}{f':{each.line}' if each.line else ''} {each.text}".strip()
        for each in verdict.findings
    ]
    return "\n".join([verdict.summary, *lines])


def _refused(candidate: Candidate, by: RefusedBy, notes: str, cost: _Cost) -> Refused:
    return Refused(
        task=candidate.task.id, attempt=candidate.attempt, by=by, notes=notes, bill=cost.bill
    )
