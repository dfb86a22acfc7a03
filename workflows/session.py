"""The session: one goal on one repository, from the first look to the merged branch.

It owns the state, the scheduling and the signals; waves do what they are given. The rules stand in
`policy`: `schedule` (what starts), `outcomes` (what came of it), `signals` (what persons said),
`views` (what is shown).
"""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import (
    ApplicationError,
    ChildWorkflowError,
    FailureError,
)

from workflows.agent_lifecycle import failure_text, tell
from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.decision_inbox import DecisionInbox, Entry
from workflows.develop_wave import DevelopWave
from workflows.domain.budget import CapChanged, LedgerEvent
from workflows.domain.gate import GateReport
from workflows.domain.ids import TaskId
from workflows.domain.plan import Plan
from workflows.domain.session.decision import DecisionOutcome
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_state import SessionPhase, SessionState
from workflows.domain.session.session_values import SessionRequest, SessionResult, SessionView
from workflows.domain.session.wave_values import (
    DevelopRequest,
    MergeRequest,
    PlanRequest,
    PlanResult,
    TaskWord,
    ValidateRequest,
)
from workflows.domain.task import TaskRecord, TaskState
from workflows.merge_wave import MergeWave
from workflows.plan_wave import PlanWave
from workflows.policy.gates.base_notices import base_notices
from workflows.policy.plan.plan_check import plan_faults
from workflows.policy.session import (
    closing,
    decision_record,
    decisions,
    scheduling,
    session_view,
    wave_outcomes,
)
from workflows.preparation import baseline, grounds, ledger_id, prepare, start_ledger
from workflows.validate_wave import ValidateWave

_T = TypeVar("_T")
_LEDGER_PATIENCE = timedelta(minutes=1)


class _Stopped(Exception):  # noqa: N818  (control flow inside this module, not an error)
    """A person, or the rule `on_cap: stop`, stopped the session."""


@workflow.defn(name="SessionWorkflow")
class SessionWorkflow:
    """Purpose: the truth about one session.

    Signals and Updates: those of `policy.session.decisions.NAMES`, each with one JSON object
    (`decision_inbox`), and the ledger's signal `ledger_event`. Queries: `state`, `plan`, `task`.
    A continuation carries `SessionState`; it happens only when no wave runs.
    """

    @workflow.init
    def __init__(self, request: SessionRequest) -> None:
        self._request = request
        self._config = request.config
        self._state = request.carried or SessionState(
            started_at=workflow.now(), cap_usd=request.config.budget.stop_usd
        )
        self._inbox = DecisionInbox(self._judge, self._answered)
        self._ledger_events: list[LedgerEvent] = []
        self._waves: dict[str, asyncio.Task[None]] = {}
        self._starts: dict[str, scheduling.StageStart] = {}
        self._handles: dict[str, asyncio.Task[workflow.ChildWorkflowHandle[Any, Any]]] = {}
        self._baseline: asyncio.Task[GateReport] | None = None
        self._has_changed = False
        self._wants_new_plan = False
        self._stopped_agents: set[tuple[str, TaskId]] = set()
        self._fault: Exception | None = None

    @workflow.run
    async def run(self, request: SessionRequest) -> SessionResult:
        """Prepare, plan, work, end. Every end leaves the work in refs and says what it came to."""
        try:
            if request.carried is None:
                await self._prepare()
                await self._plan()
            ending = await self._work()
            result = self._result(ending.kind, ending.reason)
        except _Stopped:
            result = await self._stopped()
        except asyncio.CancelledError:
            # Cancelled from the Web UI or by `temporal workflow cancel`: a stop with that status.
            self._update(reason="cancelled through Temporal")
            await self._stopped()
            await self._close()
            raise
        except FailureError as error:
            await self._fail(failure_text(error), error)
        except Exception as error:  # noqa: BLE001  (an internal error ends in a named state, not in a loop)
            await self._fail(f"a fault in Blue Flame itself: {error!r}", error)
        await self._close()
        return result.model_copy(update={"spent_usd": self._state.spent_usd})

    async def _fail(self, text: str, error: Exception) -> NoReturn:
        """End everything that runs, keep what was done, and fail with the reason."""
        self._update(phase=SessionPhase.STOPPING, reason=text[:1_000])
        await self._stopped()
        await self._close()
        raise ApplicationError(text[:2_000], type="SessionFailed", non_retryable=True) from error

    @workflow.signal
    def ledger_event(self, event: LedgerEvent) -> None:
        """What the ledger has to say."""
        self._ledger_events.append(event)

    @workflow.query
    def state(self) -> SessionView:
        """The whole picture without long texts."""
        return session_view.view(self._request, self._state)

    @workflow.query
    def plan(self) -> Plan | None:
        """The plan in full; None while there is none."""
        return self._state.plan

    @workflow.query
    def task(self, id: str) -> TaskRecord | str:  # noqa: A002  (the query's public word)
        """One task in full."""
        record = next((each for key, each in self._state.records.items() if key == id), None)
        return record or f"there is no task {id!r} in this session"

    # --- prepare and plan --------------------------------------------------------------------

    async def _prepare(self) -> None:
        self._show()
        await start_ledger(self._request)
        prepared = await self._attend(prepare(self._request))
        self._update(**prepared.facts)
        for kind, text in prepared.warnings:
            self._state = wave_outcomes.notice(self._state, kind, text[:60], text, workflow.now())
        self._baseline = asyncio.create_task(baseline(self._request, self._state))

    async def _plan(self) -> None:
        """Plan until a plan is approved; a plan that a person brought is not asked for."""
        if self._request.plan is not None:
            _check(self._request.plan)
            self._state = scheduling.adopt(self._state, self._request.plan, self._config)
        while not self._state.is_plan_approved:
            if self._state.plan is None or self._wants_new_plan:
                await self._make_plan()
            if self._state.plan is not None and self._config.approvals.plan == "auto":
                self._state = decisions.approve_plan_by_rule(self._state, workflow.now())
                break
            await self._await_plan_decision()
        self._enter(SessionPhase.RUNNING)

    async def _make_plan(self) -> None:
        self._wants_new_plan = False
        number = self._state.plans_made + 1
        self._update(plans_made=number)
        self._enter(SessionPhase.PLANNING)
        while self._state.phase is SessionPhase.PAUSED:
            await self._hear()
        result = await self._attend(self._plan_wave(number))
        spent = self._state.ended_usd + result.cost_usd
        self._update(
            ended_usd=spent,
            scripted=self._state.scripted or result.scripted,
            is_estimated=self._state.is_estimated or result.is_estimated,
        )
        if result.plan is not None:
            self._state = scheduling.adopt(self._state, result.plan, self._config)
        elif self._config.approvals.plan == "auto":
            raise ApplicationError(result.reason, type="NoPlan")
        else:
            self._update(plan=None, records={}, changesets=(), plan_fault=result.reason)

    async def _plan_wave(self, number: int) -> PlanResult:
        routes, base = self._state.routes, self._state.base
        if routes is None or base is None:
            raise ValueError("the session is not prepared yet")
        request = PlanRequest(
            grounds=grounds(self._request, self._state),
            route=routes.planner,
            base=base.commit,
            goal=self._request.goal,
            brief=self._state.brief,
            notes=self._state.plan_notes,
            number=number,
        )
        key = f"plan/{number}"
        try:
            return await self._child(PlanWave, key, request, "plan the goal")
        finally:
            self._handles.pop(key, None)

    async def _await_plan_decision(self) -> None:
        has_plan = self._state.plan is not None
        reason = "waits for approval of the plan" if has_plan else self._state.plan_fault
        self._enter(SessionPhase.AWAITING_PLAN, reason)
        while not (self._state.is_plan_approved or self._wants_new_plan):
            await self._hear()

    # --- the work ----------------------------------------------------------------------------

    def _take_baseline(self, report: GateReport) -> None:
        self._update(baseline=report)
        for text in (*report.notices, *base_notices(report)):
            kind, at = NoticeKind.REPOSITORY, workflow.now()
            self._state = wave_outcomes.notice(self._state, kind, text, text, at)

    async def _work(self) -> scheduling.Ending:
        """Start what can start and take up what comes, until nothing is left to do."""
        if self._baseline is not None:
            self._take_baseline(await self._attend(_result_of(self._baseline)))
        while True:
            if self._state.halt:
                reason = self._state.halt
                await self._apply(decisions.halt(self._state, self._config, reason))
            if self._state.phase is SessionPhase.STOPPING:
                raise _Stopped
            # What was said while others were told goes first: neither a continuation nor an end
            # may lose it.
            if self._state.phase is SessionPhase.RUNNING and not self._has_heard():
                ending = self._step()
                if ending is not None:
                    return ending
            self._show()
            await self._hear()

    def _step(self) -> scheduling.Ending | None:
        """Settle the state and start waves; answer the ending where there is nothing left."""
        self._state = scheduling.settle(self._state, self._config, workflow.now())
        if not self._is_long():
            for each in scheduling.next_starts(self._state, self._config, self._running()):
                self._start(each)
        elif not self._waves:
            if not workflow.all_handlers_finished():
                return None  # an Update is being answered; the loop comes back
            end_if_cancelled()
            carried = self._request.model_copy(update={"carried": self._state})
            workflow.continue_as_new(carried)
        if self._waves:
            self._update(reason="")
            return None
        ending = scheduling.ending(self._state, self._config)
        if ending.kind != "waits":
            return ending
        self._update(reason=ending.reason)
        return None

    def _is_long(self) -> bool:
        waves = self._state.cycle - (self._request.carried.cycle if self._request.carried else 0)
        has_many = waves >= self._request.waves_per_run
        return has_many or workflow.info().is_continue_as_new_suggested()

    def _has_heard(self) -> bool:
        return bool(self._inbox or self._ledger_events)

    def _running(self) -> scheduling.Running:
        counts = {"develop": 0, "validate": 0, "merge": 0}
        for start in self._starts.values():
            counts[start.stage] += len(start.tasks) or 1
        return scheduling.Running(
            develop=counts["develop"], validation=counts["validate"], merge=counts["merge"]
        )

    def _start(self, start: scheduling.StageStart) -> None:
        request = self._stage_request(start)
        self._state = scheduling.start(self._state, start)
        key = f"{self._state.cycle}/{start.stage}"
        self._starts[key] = start
        self._waves[key] = asyncio.create_task(self._run_wave(key, start, request))

    def _stage_request(
        self, start: scheduling.StageStart
    ) -> DevelopRequest | ValidateRequest | MergeRequest:
        state, config = self._state, self._config
        if state.routes is None or state.baseline is None:
            raise ValueError("the session is not prepared yet")
        common = grounds(self._request, state)
        if start.stage == "develop":
            return DevelopRequest(
                grounds=common,
                route=state.routes.developer,
                assignments=tuple(scheduling.assignment(state, each) for each in start.tasks),
                concurrency=config.concurrency.develop,
                brief=state.brief,
            )
        if start.stage == "validate":
            return ValidateRequest(
                grounds=common,
                route=state.routes.reviewer,
                candidates=tuple(scheduling.candidate(state, each) for each in start.tasks),
                baseline=state.baseline,
                base=state.base.commit if state.base else None,
                head=state.head,
                head_baseline=state.head_baseline,
                concurrency=config.concurrency.validation,
            )
        return scheduling.merge_request(state, common, start.changesets)

    async def _run_wave(self, key: str, start: scheduling.StageStart, request: BaseModel) -> None:
        """Run one wave to its end and take up what it came to."""
        wave = {"develop": DevelopWave, "validate": ValidateWave, "merge": MergeWave}[start.stage]
        subjects = ", ".join((*start.tasks, *start.changesets))
        try:
            result = await self._child(wave, key, request, f"{start.stage}: {subjects}")
            self._state = wave_outcomes.take(self._state, result, workflow.now())
        except ChildWorkflowError as error:
            if is_cancelled() or self._state.phase is SessionPhase.STOPPING:
                raise
            self._state = wave_outcomes.wave_lost(
                self._state, start.tasks, start.changesets, failure_text(error), workflow.now()
            )
        except Exception as error:  # noqa: BLE001  (kept: `_hear` raises it where it is seen)
            self._fault = error
        finally:
            for table in (self._waves, self._starts, self._handles):
                table.pop(key, None)
            self._has_changed = True

    async def _child(self, wave: Any, key: str, request: BaseModel, summary: str) -> Any:
        start = workflow.start_child_workflow(
            wave.run,
            request,
            id=f"session/{self._request.session}/{key}",
            static_summary=summary[:200],
            parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
        )
        # A task, so that what is said to a wave that is still being started waits for it.
        self._handles[key] = asyncio.create_task(start)
        return await (await self._handles[key])

    async def _tell(self, key: str, signal: str, *words: Any) -> None:
        starting = self._handles.get(key)
        if starting is None:
            return  # it ended while another was told
        await workflow.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await tell(starting.result(), signal, *words)

    # --- persons and the ledger --------------------------------------------------------------

    async def _attend(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do some work while signals are taken up; a stop cancels it."""
        task = asyncio.create_task(work)
        try:
            while not task.done():
                await self._hear(task)
        except (_Stopped, asyncio.CancelledError):
            task.cancel()
            await workflow.wait([task])
            raise
        return task.result()

    async def _hear(self, work: asyncio.Task[Any] | None = None) -> None:
        """Wait for something to happen, then take up every signal in the order of arrival.

        Raises:
            _Stopped: one of them stopped the session.
            CancelledError: the session was cancelled while others were told something.
        """
        end_if_cancelled()
        await workflow.wait_condition(
            lambda: (
                self._has_heard()
                or self._has_changed
                or self._inbox.has_answered
                or (work is not None and work.done())
            )
        )
        self._has_changed = self._inbox.has_answered = False
        if self._fault is not None:
            raise self._fault
        while (entry := self._inbox.take()) is not None:
            await self._take_decision(entry)
        while self._ledger_events:
            await self._take_ledger_event(self._ledger_events.pop(0))
        if self._state.phase is SessionPhase.STOPPING:
            raise _Stopped
        await self._stop_void()
        self._show()

    async def _stop_void(self) -> None:
        """Stop agents whose work no one waits for: task skipped, or its base moved away."""
        for key, start in sorted(self._starts.items()):
            if start.stage != "develop" or key not in self._handles:
                continue
            for task in start.tasks:
                state = self._state.records[task].state
                if state is not TaskState.DEVELOPING and (key, task) not in self._stopped_agents:
                    self._stopped_agents.add((key, task))
                    word = TaskWord(task=task, text=f"the task is {state} meanwhile")
                    await self._tell(key, "stop_task", word)

    def _judge(self, sent: decisions.Sent) -> decisions.Applied:
        return decisions.apply(self._state, self._config, sent, workflow.now())

    def _answered(self, update_id: str) -> DecisionOutcome | None:
        return self._state.answered.get(update_id)

    async def _take_decision(self, entry: Entry) -> None:
        """Answer before the effects: they are this session's own, and may take a while."""
        applied = self._judge(entry.sent)
        if applied.refused:
            entry.refuse(applied.refused)
        elif entry.update_id:
            outcome = decisions.outcome(applied.state, entry.sent)
            state = decision_record.remember(applied.state, entry.update_id, outcome)
            applied = applied.model_copy(update={"state": state})
            entry.accept(outcome)
        await self._apply(applied)

    async def _apply(self, applied: decisions.Applied) -> None:
        self._state = applied.state
        for effect in applied.effects:
            await self._effect(effect)

    async def _effect(self, effect: decisions.Effect) -> None:
        match effect.kind:
            case "steer":
                await self._tell_task(effect)
            case "pause" | "resume":
                await self._tell_waves(effect.kind, ("plan", "develop", "validate"))
            case "proceed":
                await self._tell_waves("proceed", ("develop",))
            case "set_cap":
                ledger = workflow.get_external_workflow_handle(ledger_id(self._request))
                await ledger.signal(
                    "set_cap", CapChanged(usd=effect.usd or self._state.cap_usd * 0)
                )
            case "plan_anew":
                self._wants_new_plan = True
            case "stop":
                pass  # the phase says it; `_hear` acts on it once every signal is taken up

    async def _tell_task(self, effect: decisions.Effect) -> None:
        if effect.task is None:
            return
        word = TaskWord(task=effect.task, text=effect.text)
        for key, start in sorted(self._starts.items()):
            if start.stage == "develop" and effect.task in start.tasks:
                await self._tell(key, "steer", word)

    async def _tell_waves(self, signal: str, stages: tuple[str, ...]) -> None:
        for key in sorted(self._handles):
            if any(stage in key.split("/") for stage in stages):
                await self._tell(key, signal)

    async def _take_ledger_event(self, event: LedgerEvent) -> None:
        self._update(ledger_usd=event.settled_usd)
        is_out_of_date = event.kind == "cap_reached" and event.cap_usd < self._state.cap_usd
        if event.kind == "closed" or is_out_of_date:
            return
        kind = {
            "warning": NoticeKind.CAP_WARNING,
            "cap_reached": NoticeKind.CAP_REACHED,
            "burn_rate": NoticeKind.BURN_RATE,
            "key_refused": NoticeKind.PROVIDER,
        }[event.kind]
        self._state = wave_outcomes.notice(self._state, kind, "", event.text, workflow.now())
        if event.kind == "warning":
            return
        self._update(is_cap_reached=self._state.is_cap_reached or event.kind == "cap_reached")
        await self._apply(decisions.halt(self._state, self._config, event.text))

    # --- the end -----------------------------------------------------------------------------

    async def _stopped(self) -> SessionResult:
        """Cancel what runs, and wait until it has ended."""
        waves = list(self._waves.values())
        for wave in waves:
            wave.cancel()
        await asyncio.gather(*waves, return_exceptions=True)
        return self._result("stopped", self._state.reason)

    async def _close(self) -> None:
        """End the ledger, take its last word on what was spent, and leave the picture behind."""
        ledger = workflow.get_external_workflow_handle(ledger_id(self._request))
        try:
            await ledger.signal("finish")
            await workflow.wait_condition(
                lambda: any(each.kind == "closed" for each in self._ledger_events),
                timeout=_LEDGER_PATIENCE,
            )
        except ApplicationError as gone:
            workflow.logger.info("the ledger is gone already: %s", gone)
        except TimeoutError:
            workflow.logger.warning("the ledger did not answer; the spend shown is the session's")
        for event in self._ledger_events:
            self._update(ledger_usd=event.settled_usd)
        self._ledger_events.clear()
        await self._drain()
        self._enter(SessionPhase.ENDED, self._state.reason)

    async def _drain(self) -> None:
        """Refuse what arrived too late, until no Update waits for its answer."""
        while True:
            while (entry := self._inbox.take()) is not None:
                self._state = decisions.too_late(self._state, entry.sent.name, workflow.now())
                entry.refuse("the session was ending already: this changed nothing")
            if workflow.all_handlers_finished():
                return
            await workflow.wait_condition(
                lambda: bool(self._inbox) or workflow.all_handlers_finished()
            )

    def _result(self, outcome: str, reason: str) -> SessionResult:
        """Mark what is not done, and say what the session came to."""
        self._state = closing.close(self._state, reason)
        facts = {
            "outcome": outcome,
            "reason": reason,
            "branch": self._state.branch,
            "head": self._state.head,
            "spent_usd": self._state.spent_usd,
            "tasks": session_view.task_lines(self._state),
            "scripted": self._state.scripted,
            "is_estimated": self._state.is_estimated,
            "plan_approved_by": self._state.plan_approved_by,
            "decisions": self._state.decisions,
            "decisions_dropped": self._state.decisions_dropped,
        }
        # Before the ledger's last word: whoever looks must not take the reason for a question.
        self._update(phase=SessionPhase.ENDED, resumes_to=None, reason=reason)
        return SessionResult.model_validate(facts)

    def _enter(self, phase: SessionPhase, reason: str = "") -> None:
        """Go to another phase; the memo keeps its picture, which needs no worker to be read."""
        self._state = decisions.enter(self._state, phase, reason)
        self._show()
        workflow.upsert_memo({"view": session_view.short(self.state())})

    def _show(self) -> None:
        workflow.set_current_details(session_view.details(self._state))

    def _update(self, **changes: Any) -> None:
        self._state = self._state.model_copy(update=changes)


def _check(plan: Plan) -> None:
    """Refuse a plan that a person brought and that could not be carried out."""
    if faults := plan_faults(plan):
        listed = "; ".join(fault.text for fault in faults)
        raise ApplicationError(
            f"the plan is refused: {listed}", type="PlanRefused", non_retryable=True
        )


async def _result_of(task: asyncio.Task[_T]) -> _T:
    return await task
