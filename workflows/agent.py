"""One agent: call the model, run the tools that it asked for, checkpoint, until the agent ends.

Each model call and each batch of tools is an activity, so the history records each one and each
resumes alone. `policy.agent` decides what follows from an answer; the ledger, what may be spent.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.agents.account import Account
from workflows.agents.call_counts import CallCounts
from workflows.agents.conversation import Conversation
from workflows.agents.running_agent import Ended, RunningAgent
from workflows.contracts.host_contracts import RUN_TOOLS, Observation, RunTools
from workflows.domain.agent.agent_values import AgentEnd, AgentOutcome, AgentRequest, AgentState
from workflows.domain.agent.messages import ToolCall, ToolMessage, ToolResult, UserMessage
from workflows.domain.budget import Grant
from workflows.domain.error_count import Hold
from workflows.domain.ids import Tree
from workflows.domain.session.question import QuestionAsked
from workflows.errors import INTERNAL_ERRORS
from workflows.failures import failure_words
from workflows.policy.agent import error_windows, opening_messages, questions, submission_check
from workflows.policy.agent import turn_decisions as policy
from workflows.policy.money.amounts_in_words import counted


@workflow.defn(name="AgentWorkflow", failure_exception_types=INTERNAL_ERRORS)
class AgentWorkflow:
    """Purpose: one model conversation on one worktree, from its opening to its end.

    Signals: `granted`, `hold` (from the ledger), `steer`, `answer`, `pause`, `resume`, `stop`.
    Query: `state`.
    A continuation carries `AgentState`: the conversation's head, the checkpoint and all counts.
    """

    @workflow.init
    def __init__(self, request: AgentRequest) -> None:
        self._request = request
        self._agent = RunningAgent(request)
        self._account = Account(self._agent)
        self._counts = CallCounts(self._agent)
        self._conversation = Conversation(self._agent, self._account, self._counts)
        self._turns_here = 0

    @workflow.run
    async def run(self, request: AgentRequest) -> AgentOutcome:
        """Play turns until the agent ends, then close its account, however it ended."""
        try:
            while True:
                await self._play_turn()
                self._turns_here += 1
                await self._continue_if_long()
        except Ended as ended:
            await self._account.close()
            return self._outcome(ended)
        except BaseException as error:
            if is_cancelled_exception(error):
                await self._account.close()
            raise

    # --- signals and query: they only record -------------------------------------------------

    @workflow.signal
    def granted(self, grant: Grant) -> None:
        """The ledger's answer to one ask."""
        self._account.record(grant)

    @workflow.signal
    def steer(self, text: str) -> None:
        """Record a person's message; the agent gets it with its next turn."""
        self._agent.update(steers=(*self._agent.state.steers, text))

    @workflow.signal
    def answer(self, text: str) -> None:
        """Record the person's answer to the agent's question."""
        self._agent.update(answer=text)

    @workflow.signal
    def pause(self) -> None:
        """Stop at the next turn boundary and keep everything."""
        self._agent.update(is_paused=True)

    @workflow.signal
    def hold(self, hold: Hold) -> None:
        """Wait with what needs a provider or tool of which too many calls fail."""
        if error_windows.is_ended(hold, self._agent.state.resumed_at):
            return  # it was under way when a person resumed
        holds = error_windows.with_hold(self._agent.state.holds, hold)
        self._agent.update(holds=holds)

    @workflow.signal
    def resume(self) -> None:
        """Continue after a pause, and after a hold; the session tells the ledger of it."""
        if workflow.patched("resume-ends-holds"):
            self._agent.update(is_paused=False, holds=(), resumed_at=workflow.now())
            return
        holds = error_windows.current(self._agent.state.holds, workflow.now())
        resumed = tuple(each.subject for each in holds)
        self._agent.update(is_paused=False, holds=(), resumed=resumed)

    @workflow.signal
    def stop(self, reason: str) -> None:
        """End now: cancel a running call or command, and keep the work so far."""
        self._agent.stop(reason)

    @workflow.query
    def state(self) -> AgentState:
        """Where the agent stands, without its conversation."""
        return self._agent.state.evolve(conversation=(), pending=())

    # --- one turn ----------------------------------------------------------------------------

    async def _play_turn(self) -> None:
        await self._turn_boundary()
        answer = await self._conversation.answer()
        move = policy.next_move(
            self._request.role,
            policy.Answer(stop=answer.stop, tool_calls=answer.tool_calls),
            self._agent.state.reminders,
        )
        if move.end is not None:
            raise Ended(move.end, (answer.refusal or answer.text)[:500])
        if move.kind == "remind":
            pending = (UserMessage(text=move.text),)
            self._agent.update(pending=pending, reminders=self._agent.state.reminders + 1)
            return
        if move.submitted is None:
            await self._account.ask_ahead()
        tree = self._agent.state.tree
        results = await self._results(move)
        place = {call.id: number for number, call in enumerate(answer.tool_calls)}
        results.sort(key=lambda each: place[each.call_id])
        self._agent.update(pending=(ToolMessage(results=tuple(results)),), reminders=0)
        self._check_progress(answer.tool_calls, results, tree)

    async def _turn_boundary(self) -> None:
        """Hold while paused, end at a limit, and take up what the person said."""
        await self._agent.while_paused()
        state, limits, now = self._agent.state, self._request.limits, workflow.now()
        if end := policy.limit_reached(state, limits, now):
            stalled = "without progress, " if end is AgentEnd.STUCK else ""
            raise Ended(end, f"{stalled}after {state.turn} turns")
        words = [opening_messages.steered(text) for text in state.steers]
        words += self._warnings()
        if words:
            pending = (*state.pending, UserMessage(text="\n\n".join(words)))
            told = (*state.told, *state.steers)
            self._agent.update(pending=pending, steers=(), told=told)

    async def _results(self, move: policy.Move) -> list[ToolResult]:
        """Run the calls, put a question to the person, and return one result per call.

        Raises:
            Ended: the submission is accepted, or was refused too often.
        """
        role = self._request.role
        asking = [call for call in move.run if questions.is_question(role, call)]
        seen = await self._run_calls(tuple(call for call in move.run if call not in asking))
        results = [
            ToolResult(call_id=each.call_id, name=each.name, text=each.text, is_error=each.is_error)
            for each in seen
        ]
        results += [await self._ask_person(call) for call in asking]
        if move.submitted is not None:
            failed = [each.name for each in seen if each.is_error or each.is_failed]
            asked = bool(asking)
            not_yet = move.not_yet or policy.not_counted(move.submitted, failed, has_asked=asked)
            results.append(self._submit(move.submitted, move.fault, not_yet))
        return results + [policy.said_twice(call) for call in move.again]

    async def _ask_person(self, call: ToolCall) -> ToolResult:
        """Wait for the person's answer; until then nothing runs and nothing is spent.

        Raises:
            Ended: the agent was stopped.
        """
        fault = questions.question_fault(call, self._agent.state.questions)
        if fault:
            return ToolResult(call_id=call.id, name=call.name, text=fault, is_error=True)
        asked = QuestionAsked(
            agent=self._request.agent,
            about=questions.about(self._request.role, self._request.agent),
            text=str(call.arguments["question"]),
        )
        text = await self._agent.answer_of_the_person(asked)
        answer = questions.answered(text, workflow.uuid4().hex[:12])
        return ToolResult(call_id=call.id, name=call.name, text=answer)

    def _warnings(self) -> list[str]:
        """Warn the agent once as it nears a limit or the end of its time without progress."""
        state, limits, now = self._agent.state, self._request.limits, workflow.now()
        if policy.is_wrap_up_due(state, limits, now):
            self._agent.update(is_warned=True)
            return [opening_messages.WRAP_UP]
        is_last = self._account.is_last_call()
        if policy.is_wrap_up_due(state, limits, now, is_last_call=is_last):
            self._agent.update(is_warned=True)
            return [opening_messages.LAST_CALL]
        if policy.is_stall_told_due(state, limits, now):
            self._agent.update(is_stall_told=True)
            return [opening_messages.STALLED]
        return []

    async def _run_calls(self, calls: tuple[ToolCall, ...]) -> tuple[Observation, ...]:
        if not calls:
            return ()
        names = ", ".join(call.name for call in calls)
        summary = f"turn {self._agent.state.turn}: {names}"
        self._counts.begin()
        work = RUN_TOOLS.ask(self._tools(calls), summary, queue=self._request.host_queue)
        try:
            done = await self._agent.stoppable(work)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            raise Ended(AgentEnd.HOST, failure_words(error)[:1_000]) from error
        self._counts.ran(done.observations)
        self._agent.update(checkpoint=done.checkpoint, tree=done.tree, folder=done.folder)
        return done.observations

    def _tools(self, calls: tuple[ToolCall, ...]) -> RunTools:
        return RunTools(
            worktree=self._request.worktree,
            role=self._request.role,
            turn=self._agent.state.turn,
            checkpoint=self._agent.state.checkpoint,
            calls=calls,
            claims=self._request.claims,
            policy=self._request.policy,
            gate_files=self._request.gate_files,
            command_timeout=self._request.command_timeout,
            folder=self._agent.state.folder,
            at=workflow.now(),
        )

    def _submit(self, call: ToolCall, contradiction: str, not_yet: str) -> ToolResult:
        """End the agent if its submission is acceptable; otherwise return what is wrong with it."""
        if not_yet and not contradiction:
            return ToolResult(call_id=call.id, name=call.name, text=not_yet, is_error=True)
        fault = contradiction or submission_check.fault(self._request.role, call.arguments)
        if fault is None:
            raise Ended(AgentEnd.SUBMITTED, submission=call.arguments)
        repairs = self._agent.state.repairs
        if repairs >= submission_check.REPAIRS[self._request.role]:
            text = f"its {call.name} was refused {counted(repairs + 1, 'time')}: {fault}"
            raise Ended(AgentEnd.STUCK, text[:1_000])
        self._agent.update(repairs=repairs + 1)
        return ToolResult(call_id=call.id, name=call.name, text=fault, is_error=True)

    def _check_progress(
        self, calls: tuple[ToolCall, ...], results: list[ToolResult], before: Tree | None
    ) -> None:
        state = self._agent.state
        mark = policy.fingerprint(calls, results, str(state.tree), state.folder)
        is_repeated = mark in state.recent
        recent = (*state.recent, mark)[-policy.SAME_TURNS :]
        self._agent.update(recent=recent)
        if policy.is_progress(self._request.role, before, state.tree, is_repeated=is_repeated):
            worked = policy.elapsed(state, workflow.now())
            self._agent.update(progressed=worked, is_stall_told=False)
        if policy.is_stuck(recent):
            names = ", ".join(call.name for call in calls)
            raise Ended(AgentEnd.STUCK, f"three turns with the same call and effect: {names}")
        if policy.is_repetition(recent):
            advice = UserMessage(text=opening_messages.REPEATED)
            self._agent.update(pending=(*self._agent.state.pending, advice))

    # --- the end of a run and of the agent ---------------------------------------------------

    async def _continue_if_long(self) -> None:
        is_long = self._turns_here >= self._request.turns_per_run
        if is_long or workflow.info().is_continue_as_new_suggested():
            await self._account.settle_ask()
            await self._agent.continue_as_new()

    def _outcome(self, ended: Ended) -> AgentOutcome:
        state = self._agent.state
        return AgentOutcome(
            agent=self._request.agent,
            end=ended.end,
            detail=ended.detail,
            submission=ended.submission,
            checkpoint=state.checkpoint,
            turns=state.turn,
            bill=state.bill,
            model=self._agent.model_name,
            family=self._agent.model.family,
            unheard=(*state.told, *state.steers),
            has_used_tools=ended.end is not AgentEnd.SUBMITTED or state.tree is not None,
        )
