"""The plan wave: one planner looks at the repository and submits a plan."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError

from workflows.agent_lifecycle import (
    AgentHandle,
    AgentOrder,
    Agents,
    failure_text,
    remove_worktree,
    start_agent,
    tell,
)
from workflows.cancellation import is_cancelled
from workflows.domain.agent.agent_values import AgentEnd, AgentOutcome
from workflows.domain.agent.model_values import Role
from workflows.domain.budget import Bill
from workflows.domain.ids import AgentId
from workflows.domain.plan import Plan
from workflows.domain.session.wave_values import PlanRequest, PlanResult, TaskWord
from workflows.errors import INTERNAL_ERRORS
from workflows.policy.agent import opening_messages
from workflows.policy.agent.agent_limits import limits_for
from workflows.policy.plan.plan_check import read_plan


@workflow.defn(name="PlanWave", failure_exception_types=INTERNAL_ERRORS)
class PlanWave:
    """Purpose: a goal in, a valid plan out. Carries nothing over.

    Signals: `answer`, `pause`, `resume`.
    """

    def __init__(self) -> None:
        self._agents = Agents()
        self._planner: AgentHandle | None = None
        self._answer = ""

    @workflow.run
    async def run(self, request: PlanRequest) -> PlanResult:
        """Run one planner and judge what it submits."""
        try:
            return await self._plan(request)
        finally:
            await workflow.wait_condition(workflow.all_handlers_finished)

    async def _plan(self, request: PlanRequest) -> PlanResult:
        order = self._order(request)
        try:
            handle = await start_agent(request.grounds, order, "planner")
            self._planner = handle
            if self._answer:
                await tell(handle, "answer", self._answer)
            outcome = await self._agents.attend(order.agent, handle)
        except (ActivityError, ChildWorkflowError) as error:
            if is_cancelled():
                raise
            return PlanResult(plan=None, reason=failure_text(error), bill=Bill())
        await remove_worktree(request.grounds, order, outcome)
        return _result(outcome)

    @workflow.signal
    async def answer(self, word: TaskWord) -> None:
        """Pass the person's answer on to the planner."""
        if self._planner is None or not await tell(self._planner, "answer", word.text):
            self._answer = word.text  # it asked before its start was taken up here

    @workflow.signal
    async def pause(self) -> None:
        """Hold the planner at its turn boundary."""
        await self._agents.pause()

    @workflow.signal
    async def resume(self) -> None:
        """Let the planner continue."""
        await self._agents.resume()

    def _order(self, request: PlanRequest) -> AgentOrder:
        nonce = workflow.uuid4().hex[:12]
        return AgentOrder(
            agent=AgentId(f"plan.{request.number}"),
            role=Role.PLANNER,
            route=request.route,
            opening=opening_messages.planner(
                opening_messages.Goal(request.goal, request.issue),
                request.brief,
                request.notes,
                request.number,
                nonce,
            ),
            start=request.base,
            limits=limits_for(Role.PLANNER, None, request.grounds.agents, request.grounds.turns),
        )


def _result(outcome: AgentOutcome) -> PlanResult:
    plan = read_plan(outcome.submission) if outcome.submission is not None else None
    reason = f"the planner ended without a plan ({outcome.end}): {outcome.detail}"
    return PlanResult(
        plan=plan if isinstance(plan, Plan) and outcome.end is AgentEnd.SUBMITTED else None,
        reason="" if isinstance(plan, Plan) else reason,
        bill=outcome.bill,
    )
