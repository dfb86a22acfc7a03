"""An agent's conversation with models: one settled answer at a time, each paid for in advance.

`policy.agent.model_failures` decides what follows a failed call. The conversation itself is in
the agent's state; the loop (`agent`) acts on the answers.
"""

from contextlib import suppress
from decimal import Decimal

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from workflows.agents.account import Account
from workflows.agents.call_counts import CallCounts
from workflows.agents.running_agent import Ended, RunningAgent
from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.contracts.model_contracts import CALL_MODEL, CallModel, ModelAnswered, PrefixLost
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.agent.messages import AssistantMessage, Message, UserMessage
from workflows.domain.budget import Bill, FaultKind, ProviderFault
from workflows.domain.ids import Digest
from workflows.failures import failure_type, failure_words, may_have_run
from workflows.policy.agent import opening_messages
from workflows.policy.agent import turn_decisions as policy
from workflows.policy.agent.model_failures import (
    LONGEST_WAIT,
    FailedCall,
    FailedKind,
    Step,
    after_failure,
    back_off,
    failed_kind,
    fault_text,
    largest_part,
)
from workflows.policy.money.call_cost import charged
from workflows.policy.text.log_events import log_event


class Conversation:
    """What one agent and the models of its route said."""

    def __init__(self, agent: RunningAgent, account: Account, counts: CallCounts) -> None:
        self._agent = agent
        self._account = account
        self._counts = counts

    async def answer(self) -> ModelAnswered:
        """Call until there is a settled answer; first compact if the window is nearly full.

        Raises:
            Ended: no call can succeed or be paid for, or the agent is stopped.
        """
        agent = self._agent
        limit = agent.output_tokens
        self._refuse_small_window(limit)
        if policy.is_compaction_due(agent.state, agent.model, agent.pending_bytes(), limit):
            await self._compact(is_full=False)
        answer = None
        while answer is None:
            answer = await self._call(agent.state.pending)
        self._heard(answer)
        return answer

    def _refuse_small_window(self, limit: int) -> None:
        """Use the route's first model whose window holds a new conversation and an answer.

        Raises:
            Ended: there is none; nothing was paid.
        """
        agent = self._agent
        while agent.state.prefix is None and policy.is_window_too_small(
            agent.model, agent.pending_bytes(), limit
        ):
            if not self._has_next_model:
                raise Ended(AgentEnd.PROVIDER, self._window_words("does not hold the prompt"))
            agent.go_to(agent.state.model_index + 1)

    def _window_words(self, what: str) -> str:
        agent = self._agent
        return (
            f"the window of {agent.model_name!r} ({agent.model.window_tokens} tokens) {what} and an"
            f" answer of {agent.output_tokens} tokens; use a model with a larger window, or correct"
            " `window_tokens` in `catalogue`"
        )

    def _heard(self, answer: ModelAnswered) -> None:
        about = Bill(scripted=answer.scripted, is_estimated=answer.usage.is_estimated)
        said = AssistantMessage(text=answer.text, tool_calls=answer.tool_calls)
        state = self._agent.state
        first = answer.usage.input_tokens if state.prefix is None else state.first_prompt_tokens
        self._agent.update(
            first_prompt_tokens=first,
            turn=state.turn + 1,
            prefix=answer.head,
            conversation=(*state.conversation, *state.pending, said),
            pending=(),
            told=(),
            heard=(*state.heard, *state.told),
            prompt_tokens=answer.usage.input_tokens + answer.usage.output_tokens,
            is_compacted=False,
            unknown_outcomes=0,
            is_output_raised=state.is_output_raised or answer.stop == "truncated",
            bill=state.bill + about,
        )

    # --- one call ----------------------------------------------------------------------------

    async def _call(self, pending: tuple[Message, ...]) -> ModelAnswered | None:
        """Pay for one call and make it; return None if it failed and another call should follow."""
        while True:
            await self._counts.report()
            await self._counts.wait_out()
            quote = await self._account.afford()
            try:
                return await self._paid_call(pending, quote)
            except ActivityError as error:
                if is_cancelled_exception(error) or is_cancelled():
                    if _may_be_billed(error):
                        self._account.spend(quote)
                    end_if_cancelled()
                    raise
                if await self._act_on(error, quote) != "hold":
                    return None

    async def _paid_call(self, pending: tuple[Message, ...], quote: Decimal) -> ModelAnswered:
        began = workflow.now()
        self._counts.begin()
        try:
            outcome = await self._send(self._agent.state.prefix, pending)
            if isinstance(outcome, PrefixLost):
                outcome = await self._send(None, (*self._agent.state.conversation, *pending))
        except Ended as ended:
            if _may_be_billed(ended.__cause__):
                self._account.spend(quote)  # stopped with the call in flight
            raise
        if isinstance(outcome, PrefixLost):
            raise Ended(AgentEnd.PROVIDER, "the message store lost a conversation sent whole")
        self._counts.answered(outcome)
        await self._pay(outcome, quote)
        waited = workflow.now() - began - outcome.latency
        self._agent.update(paused=self._agent.state.paused + max(waited, waited * 0))
        return outcome

    async def _pay(self, answer: ModelAnswered, quote: Decimal) -> None:
        """Charge the actual cost or, if what the provider counted cannot be right, the quote."""
        is_estimated = answer.usage.is_estimated
        self._account.spend(charged(answer.cost_usd, quote, is_estimated=is_estimated))
        if is_estimated:
            await self._tell_of("usage", "")

    async def _send(
        self, prefix: Digest | None, messages: tuple[Message, ...]
    ) -> ModelAnswered | PrefixLost:
        agent = self._agent
        turn = agent.state.turn + 1
        request = CallModel(
            session=agent.request.session,
            agent=agent.request.agent,
            role=agent.request.role,
            model=agent.model,
            turn=turn,
            prefix=prefix,
            messages=messages,
            max_output_tokens=agent.output_tokens,
            effort=agent.request.limits.effort,
            tools=agent.request.policy.tools_of(agent.request.role),
            longest_wait=LONGEST_WAIT if self._has_next_model else None,
        )
        summary = f"turn {turn}: ask {agent.model_name}"
        return await agent.stoppable(CALL_MODEL.ask(request, summary))

    @property
    def _has_next_model(self) -> bool:
        return self._agent.state.model_index + 1 < len(self._agent.request.route)

    # --- a call that failed ------------------------------------------------------------------

    async def _act_on(self, error: ActivityError, quote: Decimal) -> Step:
        """Do what `policy.agent.model_failures` decides about a failed call, and return that step.

        After `hold`, the same call goes to the route's first model, which may be a different one.

        Raises:
            Ended: the failure is final, or the agent was stopped during a wait.
        """
        agent = self._agent
        self._counts.failed(failure_type(error))
        failed = self._failed(error)
        kind = failed.kind
        if kind == "unknown":
            self._account.spend(quote)
            agent.update(unknown_outcomes=failed.unknown_in_a_row)
        step = after_failure(failed)
        words = f"{failure_type(error)}: {failure_words(error)}"[:1_000]
        match step:
            case "again":
                await self._back_off(failed)
            case "less_output":
                agent.update(most_output=agent.output_tokens // 2)
            case "compact":
                await self._compact(is_full=True)
            case "next_model":
                await self._tell_if_shared(kind, words)
                agent.go_to(agent.state.model_index + 1)
            case "hold":
                await self._hold(kind, words)
                agent.go_to(0)
            case "end":
                raise self._refused(kind, words) from error
        return step

    def _failed(self, error: ActivityError) -> FailedCall:
        state = self._agent.state
        return FailedCall(
            kind=failed_kind(failure_type(error)),
            unknown_in_a_row=state.unknown_outcomes + 1,
            output_tokens=self._agent.output_tokens,
            is_fresh=state.prefix is None,
            is_compacted=state.is_compacted,
            has_next_model=self._has_next_model,
        )

    def _refused(self, kind: FailedKind, words: str) -> Ended:
        """Say what was refused and, where its size may be the fault, what was longest."""
        if kind == "blocked":
            return Ended(AgentEnd.REFUSAL, words)
        if kind == "unknown":
            return Ended(AgentEnd.PROVIDER, words)
        state = self._agent.state
        longest = largest_part((*state.conversation, *state.pending))
        return Ended(AgentEnd.PROVIDER, f"{words[:800]}; in turn {state.turn + 1}, {longest}")

    async def _tell_if_shared(self, kind: FailedKind, words: str) -> None:
        match kind:
            case "key" | "model":
                await self._tell_of(kind, words)
            case _:
                pass  # only this request is at fault

    async def _tell_of(self, kind: FaultKind, words: str, *, holds: bool = False) -> bool:
        """Tell the ledger of a fault that concerns others; return False if it has ended."""
        agent = self._agent
        fault = ProviderFault(
            agent=agent.request.agent,
            kind=kind,
            model=agent.model_name,
            text=fault_text(kind, agent.model, words, holds=holds)[:1_000],
            at=workflow.now(),
            holds=holds,
        )
        ledger = workflow.get_external_workflow_handle(agent.request.ledger)
        try:
            await ledger.signal("provider_fault", fault)
        except ApplicationError as gone:
            what = f"a fault of {fault.model!r}"
            log_event(workflow.logger, "ledger_gone", what=what, reason=gone)
            return False
        return True

    async def _back_off(self, failed: FailedCall) -> None:
        """Wait before repeating a call of unknown outcome; the wait is not the agent's time."""
        if failed.kind != "unknown":
            return
        agent = self._agent
        began = workflow.now()
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: agent.state.stop_reason is not None,
                timeout=back_off(agent.request.back_off, failed.unknown_in_a_row),
                timeout_summary="a call of unknown outcome is made again after this",
            )
        agent.update(paused=agent.state.paused + (workflow.now() - began))
        agent.end_if_stopped()

    async def _hold(self, kind: FailedKind, words: str) -> None:
        """Pause this agent until a person resumes; the session pauses when no other is at work."""
        self._agent.update(is_paused=True)
        if not await self._tell_of("model" if kind == "model" else "key", words, holds=True):
            raise Ended(AgentEnd.PROVIDER, words)
        await self._agent.while_paused()

    # --- a window that is full ---------------------------------------------------------------

    async def _compact(self, *, is_full: bool) -> None:
        """Replace the conversation by a summary, once, and continue with a new one.

        Args:
            is_full: the provider already refused the prompt, so it cannot summarise it either.

        Raises:
            Ended: that would free too little, and would soon have to be done again.
        """
        agent = self._agent
        if policy.frees_too_little(agent.state, agent.model, agent.output_tokens):
            words = "is too small: a summary frees less than half of it, beside the task"
            raise Ended(AgentEnd.PROVIDER, self._window_words(words))
        agent.update(is_compacted=True)
        answer = None
        if not is_full:
            ask = (*agent.state.pending, UserMessage(text=opening_messages.COMPACTION))
            answer = await self._call(ask)
        words = [message.text for message in agent.state.pending if message.role == "user"]
        opening = opening_messages.resumed(
            agent.request.opening,
            agent.state.turn,
            answer.text if answer else "",
            agent.state.folder,
        )
        heard = map(opening_messages.steered, agent.state.heard)
        fresh = UserMessage(text="\n\n".join([opening, *heard, *words]))
        agent.update(
            prefix=None, conversation=(), pending=(fresh,), prompt_tokens=0, most_output=None
        )
        await self._account.settle_ask()
        await agent.continue_as_new()


def _may_be_billed(stopped: BaseException | None) -> bool:
    """Tell whether a stopped call can cost something: it was sent, and not refused."""
    if not isinstance(stopped, ActivityError) or is_cancelled_exception(stopped):
        return may_have_run(stopped)
    return failed_kind(failure_type(stopped)) == "unknown"
