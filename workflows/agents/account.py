"""An agent's money: what its next call may cost, and the ledger's grants that cover it.

The agent spends only from grants, and asks for a few calls ahead. The ledger decides what to
grant; `policy.money` has prices and quotes. The figures are in the agent's state.
"""

from decimal import Decimal
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.agents.running_agent import Ended, RunningAgent
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.budget import AccountClosed, Ask, Bill, Grant
from workflows.policy.agent import turn_decisions as policy
from workflows.policy.money import grants
from workflows.policy.text.log_events import log_event

_CALLS_AHEAD: Final = 3


class Account:
    """One agent's account with its session's ledger; at most one ask is open at any time."""

    def __init__(self, agent: RunningAgent) -> None:
        self._agent = agent
        self._grants: dict[int, Grant] = {}

    def record(self, grant: Grant) -> None:
        """Keep the ledger's answer to one ask until the agent takes it."""
        self._grants[grant.number] = grant

    def quote(self) -> Decimal:
        """Return the most that the next call can cost, in USD.

        Raises:
            Ended: the model has no known price.
        """
        return self._quote(0)

    def is_last_call(self) -> bool:
        """Tell whether money is certain for the next call only.

        Raises:
            Ended: the model has no known price.
        """
        agent = self._agent
        more = policy.RESULT_BYTES + agent.output_tokens
        return policy.is_last_call(
            agent.state, agent.request.limits, self._quote(0), self._quote(more)
        )

    def _quote(self, more_tokens: int) -> Decimal:
        """Quote a call whose prompt has `more_tokens` more tokens than the next one's."""
        model = self._agent.model
        prompt = policy.most_prompt_tokens(self._agent.state, self._agent.pending_bytes())
        quote = grants.quote(model, prompt + more_tokens, self._agent.output_tokens)
        if quote is None:
            raise Ended(AgentEnd.BUDGET, f"the price of {self._agent.model_name!r} is unknown")
        return quote

    async def afford(self) -> Decimal:
        """Hold until the grant covers the next call, and return its quote.

        Raises:
            Ended: the ledger or the agent's own limit denies the call, or the agent is stopped.
        """
        is_fresh = False
        while not self._is_covered(quote := self._affordable()) or self._is_unheard():
            if not self._has_open_ask():
                await self._ask(quote)
                is_fresh = True
            await workflow.wait_condition(
                lambda: self._is_answered() or self._agent.state.stop_reason is not None
            )
            self._agent.end_if_stopped()
            # An ask made ahead may have been denied before another agent gave money back.
            if self._take_grant() < quote and is_fresh and not self._is_covered(quote):
                raise Ended(AgentEnd.CAP, "the session's cap conflicts with the next call")
        return quote

    def _is_unheard(self) -> bool:
        """Tell whether the agent has not asked yet which models of its route others found unusable.

        Only money makes others ask; a free model costs nothing and may still be unusable.
        """
        return self._agent.state.asks_taken == 0 and len(self._agent.request.route) > 1

    def _affordable(self) -> Decimal:
        """Quote the next call to the route's first usable model, within the agent's own limit."""
        self._agent.skip_unusable()
        quote = self.quote()
        limit = self._agent.request.limits.usd
        if self._agent.state.bill.usd + quote > limit:
            raise Ended(AgentEnd.BUDGET, f"the next call could pass the agent's limit of ${limit}")
        return quote

    async def ask_ahead(self) -> None:
        """If the grant runs low, ask for the next calls' money while the tools run."""
        quote = self.quote()
        if not self._is_covered(quote) and not self._has_open_ask():
            await self._ask(quote, is_ahead=True)

    def spend(self, usd: Decimal) -> None:
        """Record what a call cost, or may have cost."""
        self._agent.update(bill=self._agent.state.bill + Bill(usd=usd))

    async def settle_ask(self) -> None:
        """Wait for the answer to an open ask, because a continuation would not receive it."""
        if self._has_open_ask():
            await workflow.wait_condition(self._is_answered)
            self._take_grant()

    async def close(self) -> None:
        """Give back what was not spent; an agent that never asked has no account."""
        if self._agent.state.asks == 0:
            return
        closed = AccountClosed(
            agent=self._agent.request.agent, settled_usd=self._agent.state.bill.usd
        )
        ledger = workflow.get_external_workflow_handle(self._agent.request.ledger)
        try:
            await ledger.signal("close_account", closed)
        except ApplicationError as gone:
            log_event(workflow.logger, "ledger_gone", what=f"agent {closed.agent!r}", reason=gone)

    async def _ask(self, quote: Decimal, *, is_ahead: bool = False) -> None:
        self._agent.update(asks=self._agent.state.asks + 1)
        ask = Ask(
            agent=self._agent.request.agent,
            workflow_id=workflow.info().workflow_id,
            number=self._agent.state.asks,
            least_usd=quote,
            want_usd=quote * _CALLS_AHEAD,
            settled_usd=self._agent.state.bill.usd,
            is_ahead=is_ahead,
        )
        ledger = workflow.get_external_workflow_handle(self._agent.request.ledger)
        try:
            await ledger.signal("ask", ask)
        except ApplicationError as gone:
            raise Ended(AgentEnd.BUDGET, "the session's ledger has ended") from gone

    def _is_covered(self, quote: Decimal) -> bool:
        return self._agent.state.granted_usd - self._agent.state.bill.usd >= quote

    def _has_open_ask(self) -> bool:
        """Tell whether an ask is open: sent, and its grant not yet taken."""
        return self._agent.state.asks > self._agent.state.asks_taken

    def _is_answered(self) -> bool:
        return self._agent.state.asks in self._grants

    def _take_grant(self) -> Decimal:
        grant = self._grants.pop(self._agent.state.asks)
        self._agent.update(
            granted_usd=self._agent.state.granted_usd + grant.usd,
            cap_left_usd=grant.left_usd,
            skipped=grant.skipped,
            asks_taken=self._agent.state.asks,
        )
        return grant.usd
