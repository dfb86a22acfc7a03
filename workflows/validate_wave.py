"""The validate wave: gates on a fresh checkout, then reviewers, from another family if possible."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError

from workflows.agent_lifecycle import (
    AgentOrder,
    Agents,
    Results,
    all_done,
    failure_text,
    give_up_account,
    remove_worktree,
    start_agent,
)
from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.contracts.gate_contracts import gates_on, run_gates
from workflows.contracts.host_contracts import (
    CHECK_EVIDENCE,
    READ_DIFF,
    CheckEvidence,
    DiffText,
    ReadDiff,
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
from workflows.domain.verdict import EvidencePlace, Submission, Verdict
from workflows.errors import INTERNAL_ERRORS
from workflows.policy.agent import opening_messages
from workflows.policy.agent.agent_limits import limits_for
from workflows.policy.agent.opening_messages import Submitted
from workflows.policy.gates.gate_comparison import judge_gates
from workflows.policy.gates.weakened_tests import MAX_TOLD, fewer_tests, stopped_tests
from workflows.policy.review.gate_lines import gate_lines
from workflows.policy.review.review_course import Ask, Heard, next_step, reviewers_of
from workflows.policy.review.verdict_rules import (
    abstention,
    judge,
    made_by_git,
    read_submission,
)


class _Cost:
    """What one candidate's reviews cost so far."""

    def __init__(self) -> None:
        self.bill = Bill()
        self.is_at_cap = False

    def add(self, outcome: AgentOutcome) -> None:
        self.bill += outcome.bill
        self.is_at_cap = outcome.end is AgentEnd.CAP


@workflow.defn(name="ValidateWave", failure_exception_types=INTERNAL_ERRORS)
class ValidateWave:
    """Purpose: judge submitted work. Signals: `pause`, `resume`, `report`. Carries nothing over."""

    @workflow.init
    def __init__(self, request: ValidateRequest) -> None:
        self._request = request
        self._slots = asyncio.Semaphore(request.concurrency)
        self._agents = Agents()
        self._results = Results[ValidateItem](request.grounds.session)

    @workflow.run
    async def run(self, request: ValidateRequest) -> ValidateResult:
        """Judge all candidates, a few at a time."""
        await all_done(self._candidate(each) for each in request.candidates)
        return ValidateResult(items=self._results.kept())

    @workflow.signal
    async def pause(self) -> None:
        """Hold every reviewer at its turn boundary, and start no other reviewer."""
        await self._agents.pause()

    @workflow.signal
    async def resume(self) -> None:
        """Let every reviewer continue."""
        await self._agents.resume()

    @workflow.signal
    async def report(self) -> None:
        """Tell the session of each item as it finishes, because a reviewer holds."""
        await self._results.report()

    async def _candidate(self, candidate: Candidate) -> None:
        cost = _Cost()
        async with self._slots:
            try:
                item = await self._judge(candidate, cost)
            except (ActivityError, ChildWorkflowError) as error:
                if is_cancelled():
                    raise
                item = _refused(candidate, "abstention", failure_text(error), cost)
        await self._results.add(item)

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
        work = Submitted(
            diff=diff.text,
            summary=candidate.summary,
            gates=gate_lines(report, decision.remarks),
            weakened=(*diff.weakened, *fewer),
        )
        verdict = await self._review(candidate, work, cost)
        if cost.is_at_cap and verdict.decision == "abstain":
            return _refused(candidate, "cap", f"no verdict: {verdict.reason}", cost)
        if verdict.decision == "reject":
            return _refused(candidate, "reviewer", _findings(verdict), cost)
        return Validated(
            task=candidate.task.id,
            attempt=candidate.attempt,
            tree=report.tree,
            diff=diff.whole,
            judgement=decision.judgement,
            weakened=work.weakened,
            gate_remarks=decision.remarks,
            verdict=verdict,
            bill=cost.bill,
        )

    async def _gates(self, candidate: Candidate) -> GateReport:
        grounds = self._request.grounds
        baseline = self._baseline(candidate)
        request = gates_on(grounds, candidate.commit, baseline, since=candidate.base)
        summary = f"gates on {candidate.task.id}, attempt {candidate.attempt}"
        return await run_gates(request, summary, grounds.host_queue)

    def _baseline(self, candidate: Candidate) -> GateReport:
        """Return the gates' results on the base of the work."""
        on_head = self._request.head_baseline
        if on_head is not None and candidate.base == self._request.head:
            return on_head
        return self._request.baseline

    async def _review(self, candidate: Candidate, work: Submitted, cost: _Cost) -> Verdict:
        """Ask one model after another, in the order of `review_course`."""
        if candidate.is_made_by_git:
            return made_by_git()
        reviewers = reviewers_of(self._request.route, candidate.family)
        first = (candidate.validation - 1) * (len(reviewers) + 1)
        heard: list[Heard] = []
        while isinstance(step := next_step(len(reviewers), heard), Ask):
            left = reviewers[step.model :]
            order = self._order(candidate, left, work, first + len(heard) + 1)
            review = await self._one_review(candidate, order, cost)
            heard.append(review.later(step.model))
            if cost.is_at_cap:
                return review.verdict
        return step

    async def _diff(self, candidate: Candidate) -> DiffText:
        grounds = self._request.grounds
        request = ReadDiff(key=grounds.key, base=candidate.base, commit=candidate.commit)
        summary = f"diff of {candidate.task.id}"
        return await READ_DIFF.ask(request, summary, queue=grounds.host_queue)

    async def _one_review(self, candidate: Candidate, order: AgentOrder, cost: _Cost) -> Heard:
        """Return one review, with its model's index in the order's route."""
        try:
            outcome = await self._heard(order, f"review of {candidate.task.id}")
        except (ActivityError, ChildWorkflowError) as error:
            if is_cancelled():
                raise
            await give_up_account(self._request.grounds, order.agent)
            return Heard(model=0, verdict=abstention(order.route[0], failure_text(error)))
        cost.add(outcome)
        await remove_worktree(self._request.grounds, order, outcome)
        names = [f"{each.provider}/{each.model}" for each in order.route]
        place = names.index(outcome.model)
        verdict = await self._verdict(candidate, outcome, order.route[place])
        is_refusal = outcome.end is AgentEnd.REFUSAL
        return Heard(model=place, verdict=verdict, is_refusal=is_refusal)

    async def _verdict(
        self, candidate: Candidate, outcome: AgentOutcome, reviewer: ModelFacts
    ) -> Verdict:
        if outcome.end is not AgentEnd.SUBMITTED:
            reason = f"the reviewer ended without a verdict ({outcome.end}): {outcome.detail}"
            return abstention(reviewer, reason)
        submission = read_submission(outcome.submission)
        if isinstance(submission, str):
            return abstention(reviewer, submission)
        places = await self._places(candidate, submission)
        return judge(submission, candidate.task.acceptance_criteria, places, reviewer)

    async def _heard(self, order: AgentOrder, summary: str) -> AgentOutcome:
        end_if_cancelled()
        await workflow.wait_condition(lambda: not self._agents.is_paused)
        handle = await start_agent(self._request.grounds, order, summary)
        return await self._agents.attend(order.agent, handle)

    async def _places(
        self, candidate: Candidate, submission: Submission
    ) -> tuple[EvidencePlace, ...]:
        if not submission.evidence:
            return ()
        grounds = self._request.grounds
        check = CheckEvidence(
            key=grounds.key,
            base=candidate.base,
            commit=candidate.commit,
            evidence=submission.evidence,
        )
        summary = f"check the evidence on {candidate.task.id}"
        return (await CHECK_EVIDENCE.ask(check, summary, queue=grounds.host_queue)).places

    def _order(
        self, candidate: Candidate, route: tuple[ModelFacts, ...], work: Submitted, number: int
    ) -> AgentOrder:
        task, grounds = candidate.task, self._request.grounds
        nonce = workflow.uuid4().hex[:12]
        opening = opening_messages.reviewer(task, candidate.attempt, work, nonce)
        return AgentOrder(
            agent=AgentId(f"review.{task.id}.{candidate.attempt}.{number}"),
            role=Role.REVIEWER,
            route=route,
            opening=opening_messages.with_repository(opening, self._request.brief, nonce),
            start=candidate.commit,
            limits=limits_for(Role.REVIEWER, task.kind, grounds.agents, grounds.turns),
        )


def _stopped_notes(stopped: tuple[str, ...]) -> str:
    """List the tests that the work keeps from running although it leaves their files unchanged."""
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
