"""One agent: call the model, run the tools that it asked for, checkpoint, until it ends.

Each model call and each batch of tools is an activity, so each is in the history and resumes alone.
What an answer leads to is decided in `policy.agent`; what may be spent, by the ledger.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from decimal import Decimal
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from workflows.cancellation import heed
from workflows.contracts import (
    CALL_MODEL,
    RUN_TOOLS,
    CallModel,
    ModelAnswered,
    PrefixLost,
    RunTools,
)
from workflows.domain.agent import AgentEnd, AgentOutcome, AgentRequest, AgentState
from workflows.domain.budget import AccountClosed, Ask, Grant, KeyRefused
from workflows.domain.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.models import ModelFacts
from workflows.errors import UNKNOWN_OUTCOME, FailureType
from workflows.failures import failure_type, failure_words, may_have_run
from workflows.policy import agent as policy
from workflows.policy import money, openings, submissions
from workflows.policy.model_failures import (
    LONGEST_WAIT,
    FailedCall,
    FailedKind,
    after_failure,
    back_off,
)

_CALLS_AHEAD = 3
_REPAIRS = 1
_FAILED: dict[str, FailedKind] = {
    **dict.fromkeys((*UNKNOWN_OUTCOME, FailureType.OUTCOME_UNKNOWN), "unknown"),
    FailureType.CONTEXT_OVERFLOW: "overflow",
    FailureType.AUTHENTICATION_FAILED: "key",
    FailureType.CREDIT_EXHAUSTED: "key",
}
_T = TypeVar("_T")


class _Ended(Exception):  # noqa: N818  (control flow inside this module, not an error)
    """The agent ends here; carries how."""

    def __init__(
        self, end: AgentEnd, detail: str = "", submission: dict[str, Any] | None = None
    ) -> None:
        super().__init__(detail)
        self.end = end
        self.detail = detail
        self.submission = submission


@workflow.defn(name="AgentWorkflow", failure_exception_types=[Exception])
class AgentWorkflow:
    """Purpose: one model conversation on one worktree, from its opening to its end.

    Signals: `granted` (from the ledger), `steer`, `pause`, `resume`, `stop`. Query: `state`.
    A continuation carries `AgentState`: the conversation's head, the checkpoint and all counts.
    """

    @workflow.init
    def __init__(self, request: AgentRequest) -> None:
        self._request = request
        self._state = request.carried or AgentState(
            checkpoint=request.checkpoint,
            started_at=workflow.now(),
            pending=(UserMessage(text=request.opening),),
            steers=request.steers,
        )
        self._grants: dict[int, Grant] = {}
        self._running: asyncio.Task[Any] | None = None
        self._turns_here = 0

    @workflow.run
    async def run(self, request: AgentRequest) -> AgentOutcome:
        """Play turns until the agent ends; the account is closed whatever the end."""
        try:
            while True:
                await self._play_turn()
                self._turns_here += 1
                await self._continue_if_long()
        except _Ended as ended:
            await self._close_account()
            return self._outcome(ended)
        except BaseException as error:
            if is_cancelled_exception(error):
                await self._close_account()
            raise

    # --- signals and query: they only record -------------------------------------------------

    @workflow.signal
    def granted(self, grant: Grant) -> None:
        """The ledger's answer to one ask."""
        self._grants[grant.number] = grant

    @workflow.signal
    def steer(self, text: str) -> None:
        """A person says something; the agent hears it with its next turn."""
        self._update(steers=(*self._state.steers, text))

    @workflow.signal
    def pause(self) -> None:
        """Stop at the next turn boundary and keep everything."""
        self._update(is_paused=True)

    @workflow.signal
    def resume(self) -> None:
        """Go on from where the pause began."""
        self._update(is_paused=False)

    @workflow.signal
    def stop(self, reason: str) -> None:
        """End now: a running call or command is cancelled, the work so far is kept."""
        self._update(stop_reason=reason)
        if self._running is not None:
            self._running.cancel()

    @workflow.query
    def state(self) -> AgentState:
        """Where the agent stands, without its conversation."""
        return self._state.model_copy(update={"conversation": (), "pending": ()})

    # --- one turn ----------------------------------------------------------------------------

    async def _play_turn(self) -> None:
        await self._turn_boundary()
        answer = await self._answer()
        self._heard(answer)
        move = policy.next_move(
            self._request.role,
            policy.Answer(stop=answer.stop, tool_calls=answer.tool_calls),
            self._state.reminders,
        )
        if move.end is not None:
            raise _Ended(move.end, answer.text[:500])
        if move.kind == "remind":
            pending = (UserMessage(text=move.text),)
            self._update(pending=pending, reminders=self._state.reminders + 1)
            return
        if move.submitted is None:
            await self._ask_ahead()
        results = await self._run_calls(move.run)
        if move.submitted is not None:
            results.append(self._submit(move.submitted))
            results.extend(_unheard(call) for call in move.unheard)
        self._update(pending=(ToolMessage(results=tuple(results)),), reminders=0)
        self._check_progress(answer.tool_calls, results)

    async def _turn_boundary(self) -> None:
        """Hold while paused, end at a limit, and take up what persons said."""
        await self._while_paused()
        limits = self._request.limits
        if end := policy.limit_reached(self._state, limits, workflow.now()):
            raise _Ended(end, f"after {self._state.turn} turns")
        words = [openings.steered(text) for text in self._state.steers]
        if policy.is_wrap_up_due(self._state, limits, workflow.now()):
            self._update(is_warned=True)
            words.append(openings.WRAP_UP)
        if words:
            pending = (*self._state.pending, UserMessage(text="\n\n".join(words)))
            self._update(pending=pending, steers=())

    def _heard(self, answer: ModelAnswered) -> None:
        said = AssistantMessage(text=answer.text, tool_calls=answer.tool_calls)
        self._update(
            turn=self._state.turn + 1,
            prefix=answer.head,
            conversation=(*self._state.conversation, *self._state.pending, said),
            pending=(),
            prompt_tokens=answer.usage.input_tokens + answer.usage.output_tokens,
            is_compacted=False,
            unknown_outcomes=0,
            scripted=self._state.scripted or answer.scripted,
            is_estimated=self._state.is_estimated or answer.usage.is_estimated,
        )

    def _submit(self, call: ToolCall) -> ToolResult:
        """End the agent with an acceptable submission, or answer what is wrong with it."""
        fault = submissions.fault(self._request.role, call.arguments)
        if fault is None:
            raise _Ended(AgentEnd.SUBMITTED, submission=call.arguments)
        if self._state.repairs >= _REPAIRS:
            raise _Ended(AgentEnd.STUCK, f"its {call.name} was refused twice: {fault}"[:1_000])
        self._update(repairs=self._state.repairs + 1)
        return ToolResult(call_id=call.id, name=call.name, text=fault, is_error=True)

    def _check_progress(self, calls: tuple[ToolCall, ...], results: list[ToolResult]) -> None:
        mark = policy.fingerprint(calls, results, str(self._state.tree))
        recent = (*self._state.recent, mark)[-policy.SAME_TURNS :]
        self._update(recent=recent)
        if policy.is_stuck(recent):
            names = ", ".join(call.name for call in calls)
            raise _Ended(AgentEnd.STUCK, f"three turns with the same call and effect: {names}")

    # --- tools -------------------------------------------------------------------------------

    async def _run_calls(self, calls: tuple[ToolCall, ...]) -> list[ToolResult]:
        if not calls:
            return []
        request = RunTools(
            worktree=self._request.worktree,
            role=self._request.role,
            turn=self._state.turn,
            checkpoint=self._state.checkpoint,
            calls=calls,
            claims=self._request.claims,
            policy=self._request.policy,
            gate_files=self._request.gate_files,
            command_timeout=self._request.command_timeout,
            at=workflow.now(),
        )
        names = ", ".join(call.name for call in calls)
        summary = f"turn {self._state.turn}: {names}"
        try:
            done = await self._stoppable(
                RUN_TOOLS.ask(request, summary, queue=self._request.host_queue)
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            raise _Ended(AgentEnd.HOST, failure_words(error)[:1_000]) from error
        self._update(checkpoint=done.checkpoint, tree=done.tree)
        heed()
        return [
            ToolResult(call_id=seen.call_id, name=seen.name, text=seen.text, is_error=seen.is_error)
            for seen in done.observations
        ]

    # --- the model ---------------------------------------------------------------------------

    async def _answer(self) -> ModelAnswered:
        """Call until there is a settled answer; compact first where the window is nearly full."""
        if policy.is_compaction_due(self._state, self._model, self._pending_bytes()):
            await self._compact(is_full=False)
        while True:
            quote = self._quote()
            await self._afford(quote)
            answer = await self._call(self._state.pending, quote)
            if answer is not None:
                return answer

    async def _call(self, pending: tuple[Message, ...], quote: Decimal) -> ModelAnswered | None:
        """Make one call; None: it failed in a way that allows another."""
        began = workflow.now()
        try:
            outcome = await self._send(self._state.prefix, pending)
            if isinstance(outcome, PrefixLost):
                outcome = await self._send(None, (*self._state.conversation, *pending))
        except _Ended as ended:
            if may_have_run(ended.__cause__):
                self._spend(quote)  # stopped with the call in flight: it may be billed
            raise
        except ActivityError as error:
            if is_cancelled_exception(error):
                if may_have_run(error):
                    self._spend(quote)
                raise
            return await self._again(pending) if await self._failed(error, quote) else None
        if isinstance(outcome, PrefixLost):
            raise _Ended(AgentEnd.PROVIDER, "the message store lost a conversation sent whole")
        self._spend(outcome.cost_usd)
        waited = workflow.now() - began - outcome.latency
        self._update(paused=self._state.paused + max(waited, waited * 0))
        heed()
        return outcome

    async def _again(self, pending: tuple[Message, ...]) -> ModelAnswered | None:
        """Make the very call that was held, of the route's first model, which may be another."""
        self._update(model_index=0)
        quote = self._quote()
        await self._afford(quote)
        return await self._call(pending, quote)

    async def _send(self, prefix: Any, messages: tuple[Message, ...]) -> ModelAnswered | PrefixLost:
        request = CallModel(
            session=self._request.session,
            agent=self._request.agent,
            role=self._request.role,
            model=self._model,
            turn=self._state.turn + 1,
            prefix=prefix,
            messages=messages,
            max_output_tokens=policy.max_output_tokens(self._model),
            tools=self._request.policy.tools_of(self._request.role),
            longest_wait=LONGEST_WAIT if self._has_next_model else None,
        )
        model = f"{self._model.provider}/{self._model.model}"
        return await self._stoppable(
            CALL_MODEL.ask(request, f"turn {self._state.turn + 1}: ask {model}")
        )

    async def _failed(self, error: ActivityError, quote: Decimal) -> bool:
        """Do what `policy.model_failures` says; True: a person mended what kept this very call."""
        kind = failure_type(error)
        failed = self._failed_call(_FAILED.get(kind, "refused"))
        words = f"{kind}: {failure_words(error)}"[:1_000]
        if failed.kind == "unknown":
            self._spend(quote)
            self._update(unknown_outcomes=failed.unknown_in_a_row)
        heed()
        step = after_failure(failed)
        if step == "end":
            raise _Ended(AgentEnd.PROVIDER, words) from error
        if step == "next_model":
            self._update(model_index=self._state.model_index + 1)
        if step == "compact":
            await self._compact(is_full=True)
        if step == "again" and failed.kind == "unknown":
            await self._back_off(failed.unknown_in_a_row)
        if step == "hold":
            await self._hold(words)
        return step == "hold"

    def _failed_call(self, kind: FailedKind) -> FailedCall:
        return FailedCall(
            kind=kind,
            unknown_in_a_row=self._state.unknown_outcomes + (kind == "unknown"),
            is_fresh=self._state.prefix is None,
            is_compacted=self._state.is_compacted,
            has_next_model=self._has_next_model,
        )

    @property
    def _has_next_model(self) -> bool:
        return self._state.model_index + 1 < len(self._request.route)

    async def _back_off(self, unknown_in_a_row: int) -> None:
        """Wait before a call of unknown outcome is made again; the time is not the agent's."""
        began = workflow.now()
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._state.stop_reason is not None,
                timeout=back_off(self._request.back_off, unknown_in_a_row),
                timeout_summary="a call of unknown outcome is made again after this",
            )
        self._update(paused=self._state.paused + (workflow.now() - began))
        if self._state.stop_reason is not None:
            raise _Ended(AgentEnd.STOPPED, self._state.stop_reason)

    async def _hold(self, words: str) -> None:
        """Pause here with everything, and have the session pause, until a person resumes."""
        self._update(is_paused=True)
        text = f"no model can be asked: {self._model.provider}: {words}"
        ledger = workflow.get_external_workflow_handle(self._request.ledger)
        try:
            await ledger.signal("key_refused", KeyRefused(agent=self._request.agent, text=text))
        except ApplicationError as gone:
            raise _Ended(AgentEnd.PROVIDER, words) from gone
        await self._while_paused()

    async def _while_paused(self) -> None:
        """Wait for `resume`; the time is not the agent's."""
        began = workflow.now()
        await workflow.wait_condition(
            lambda: not self._state.is_paused or self._state.stop_reason is not None
        )
        self._update(paused=self._state.paused + (workflow.now() - began))
        if self._state.stop_reason is not None:
            raise _Ended(AgentEnd.STOPPED, self._state.stop_reason)

    async def _compact(self, *, is_full: bool) -> None:
        """Replace the conversation by a summary of it, once, and begin a new one.

        Args:
            is_full: the provider refused the prompt already, so it cannot be asked for a summary.
        """
        self._update(is_compacted=True)
        answer = None
        if not is_full:
            ask = (*self._state.pending, UserMessage(text=openings.COMPACTION))
            quote = self._quote()
            await self._afford(quote)
            answer = await self._call(ask, quote)
        words = [message.text for message in self._state.pending if message.role == "user"]
        opening = openings.resumed(
            self._request.opening, self._state.turn, answer.text if answer else ""
        )
        fresh = UserMessage(text="\n\n".join([opening, *words]))
        self._update(prefix=None, conversation=(), pending=(fresh,), prompt_tokens=0)
        await self._continue()

    @property
    def _model(self) -> ModelFacts:
        return self._request.route[self._state.model_index]

    def _pending_bytes(self) -> int:
        return sum(len(message.model_dump_json().encode()) for message in self._state.pending)

    # --- money -------------------------------------------------------------------------------

    def _quote(self) -> Decimal:
        prompt = policy.most_prompt_tokens(self._state, self._pending_bytes())
        quote = money.quote(self._model, prompt, policy.max_output_tokens(self._model))
        if quote is None:
            name = f"{self._model.provider}/{self._model.model}"
            raise _Ended(AgentEnd.BUDGET, f"the price of {name!r} is unknown")
        return quote

    async def _afford(self, quote: Decimal) -> None:
        """Hold until the grant covers the quote; end where ledger or own limit denies it."""
        limit = self._request.limits.usd
        if self._state.spent_usd + quote > limit:
            raise _Ended(AgentEnd.BUDGET, f"the next call could pass the agent's limit of ${limit}")
        is_fresh = False
        while self._state.granted_usd - self._state.spent_usd < quote:
            if not self._has_open_ask():
                await self._ask(quote)
                is_fresh = True
            await workflow.wait_condition(
                lambda: self._state.asks in self._grants or self._state.stop_reason is not None
            )
            if self._state.stop_reason is not None:
                raise _Ended(AgentEnd.STOPPED, self._state.stop_reason)
            # An ask made ahead may have been denied before another agent gave money back.
            if self._take_grant() == 0 and is_fresh:
                raise _Ended(AgentEnd.CAP, "the session's cap leaves no room for the next call")

    async def _ask_ahead(self) -> None:
        """Ask for the next calls' money while the tools run, where the grant runs low."""
        quote = self._quote()
        if self._state.granted_usd - self._state.spent_usd < quote and not self._has_open_ask():
            await self._ask(quote, is_ahead=True)

    async def _ask(self, quote: Decimal, *, is_ahead: bool = False) -> None:
        self._update(asks=self._state.asks + 1)
        ask = Ask(
            agent=self._request.agent,
            workflow_id=workflow.info().workflow_id,
            number=self._state.asks,
            least_usd=quote,
            want_usd=quote * _CALLS_AHEAD,
            settled_usd=self._state.spent_usd,
            is_ahead=is_ahead,
        )
        ledger = workflow.get_external_workflow_handle(self._request.ledger)
        try:
            await ledger.signal("ask", ask)
        except ApplicationError as gone:
            raise _Ended(AgentEnd.BUDGET, "the session's ledger has ended") from gone

    def _has_open_ask(self) -> bool:
        """Say whether an ask was sent whose grant was not yet taken."""
        return self._state.asks > self._state.asks_taken

    def _take_grant(self) -> Decimal:
        usd = self._grants.pop(self._state.asks).usd
        granted = self._state.granted_usd + usd
        self._update(granted_usd=granted, asks_taken=self._state.asks)
        return usd

    def _spend(self, usd: Decimal) -> None:
        self._update(spent_usd=self._state.spent_usd + usd)

    async def _close_account(self) -> None:
        if self._state.asks == 0:
            return
        closed = AccountClosed(agent=self._request.agent, settled_usd=self._state.spent_usd)
        ledger = workflow.get_external_workflow_handle(self._request.ledger)
        try:
            await ledger.signal("close_account", closed)
        except ApplicationError as gone:
            workflow.logger.info("the ledger ended before agent %r: %s", closed.agent, gone)

    # --- the run -----------------------------------------------------------------------------

    async def _stoppable(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run an activity so that the signal `stop` can cancel it."""
        if self._state.stop_reason is not None:
            work.close()
            raise _Ended(AgentEnd.STOPPED, self._state.stop_reason)
        self._running = asyncio.create_task(work)
        try:
            return await self._running
        except BaseException as error:
            if is_cancelled_exception(error) and self._state.stop_reason is not None:
                raise _Ended(AgentEnd.STOPPED, self._state.stop_reason) from error
            raise
        finally:
            self._running = None

    async def _continue_if_long(self) -> None:
        is_long = self._turns_here >= self._request.turns_per_run
        if is_long or workflow.info().is_continue_as_new_suggested():
            await self._continue()

    async def _continue(self) -> None:
        """Continue as new with all state; open asks are answered and handlers drained first."""
        if self._has_open_ask():
            await workflow.wait_condition(lambda: self._state.asks in self._grants)
            self._take_grant()
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(self._request.model_copy(update={"carried": self._state}))

    def _outcome(self, ended: _Ended) -> AgentOutcome:
        return AgentOutcome(
            agent=self._request.agent,
            end=ended.end,
            detail=ended.detail,
            submission=ended.submission,
            checkpoint=self._state.checkpoint,
            turns=self._state.turn,
            spent_usd=self._state.spent_usd,
            model=f"{self._model.provider}/{self._model.model}",
            family=self._model.family,
            scripted=self._state.scripted,
            is_estimated=self._state.is_estimated,
            unheard=self._state.steers,
        )

    def _update(self, **changes: Any) -> None:
        self._state = self._state.model_copy(update=changes)


def _unheard(call: ToolCall) -> ToolResult:
    text = "not run, because it came after the submission in the same answer"
    return ToolResult(call_id=call.id, name=call.name, text=text, is_error=True)
