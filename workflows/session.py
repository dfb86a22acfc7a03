"""The session: one goal on one repository, from the first look to the merged branch.

It owns the state and starts the waves (`running_waves`), which do the work. The rules are in
`policy.session`: `scheduling` (what starts), `wave_requests` (what a wave gets), `wave_outcomes`
(what its result means), `decisions` (what persons said), `session_view` (what is shown).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar, Unpack

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ChildWorkflowError, FailureError

from workflows.agent_lifecycle import ChildHandle, failure_text
from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.delivery.branch_forward import fast_forwarded
from workflows.delivery.pull_request_course import PullRequestCourse
from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.budget import CapChanged
from workflows.domain.error_count import HoldsEnded
from workflows.domain.plan import Plan
from workflows.domain.session.query_answers import (
    SessionOutcome,
    SessionResult,
    SessionView,
    TaskCosts,
)
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionChanges, SessionState
from workflows.domain.task import TaskRecord
from workflows.notifications.session_news import SessionNews
from workflows.policy.decision import decisions, plan_edits
from workflows.policy.delivery.delivery_ending import ending_with_delivery
from workflows.policy.gates.base_notices import base_refusal
from workflows.policy.session import (
    decision_record,
    effects,
    phase_changes,
    readiness,
    reported_events,
    scheduling,
    session_view,
    wave_outcomes,
    wave_requests,
)
from workflows.sessions import run_length
from workflows.sessions.closing_report import start_report
from workflows.sessions.decision_inbox import DecisionInbox, Entry
from workflows.sessions.preparation import baseline, check_plan, prepare
from workflows.sessions.report_inbox import ReportInbox
from workflows.sessions.running_waves import (
    RunningWaves,
    end_holds,
    finish_ledger,
    ledger_lost,
    set_cap,
    start_ledger,
)

_T = TypeVar("_T")


class _Stopped(Exception):  # noqa: N818  (control flow inside this module, not an error)
    """A person, or the rule `on_cap: stop`, stopped the session."""


@workflow.defn(name="SessionWorkflow")
class SessionWorkflow:
    """Purpose: the truth about one session.

    Signals and Updates: those of `policy.decision.decisions.NAMES`, each with one JSON object
    (`decision_inbox`); those of `report_inbox`. Queries: `state`, `plan`, `task`, `agents`. A
    continuation carries `SessionState` and needs a gap between the waves (`run_length`).
    """

    @workflow.init
    def __init__(self, request: SessionRequest) -> None:
        self._request = request
        self._config = request.config
        self._state = request.carried or SessionState(
            started_at=workflow.now(), cap_usd=request.config.budget.stop_usd
        )
        self._reports = ReportInbox()
        self._inbox = DecisionInbox(request.session, self._judge, lambda: self._state)
        self._waves = RunningWaves(request.session)
        self._news = SessionNews(request)
        self._pulls = PullRequestCourse(request)
        self._has_changed = self._wants_new_plan = False
        self._fault: Exception | None = None
        self._ledger: asyncio.Task[None] | None = None

    @workflow.run
    async def run(self, request: SessionRequest) -> SessionResult:
        """Prepare, plan, work, end. Every end keeps the work in refs and reports the result."""
        try:
            await self._news.start()
            if request.carried is None:
                await self._prepare()
                await self._plan()
            ended = await self._work()
            self._state, outcome, reason = await fast_forwarded(request, lambda: self._state, ended)
            self._end(reason)
        except _Stopped:
            outcome = "stopped"
            await self._stop()
            await self._pulls.close(lambda: self._state, self._keep)
        except asyncio.CancelledError:
            self._update(reason="cancelled through Temporal")
            await self._stop()
            await self._close("stopped")
            raise
        except FailureError as error:
            await self._fail(failure_text(error), error)
        except Exception as error:  # noqa: BLE001  (an internal error ends in a named state, not in a loop)
            await self._fail(f"internal error in Blue Flame: {error!r}", error)
        await self._close(outcome)
        return session_view.result(self._state, outcome)

    async def _fail(self, text: str, error: Exception) -> NoReturn:
        """End everything that runs, keep what was done, and fail with the reason."""
        self._update(phase=SessionPhase.STOPPING, reason=text[:1_000])
        await self._stop()
        await self._close("failed")
        raise ApplicationError(text[:2_000], type="SessionFailed", non_retryable=True) from error

    @workflow.query
    def state(self) -> SessionView:
        """The whole picture without long texts."""
        return session_view.view(self._request, self._state)

    @workflow.query
    def plan(self) -> Plan | None:
        """The plan in full; None while there is none."""
        return plan_edits.running_plan(self._state)

    @workflow.query
    def task(self, id: str) -> TaskRecord | str:  # noqa: A002  (the query's public word)
        """One task in full."""
        record = next((each for key, each in self._state.records.items() if key == id), None)
        return record or f"there is no task {id!r} in this session"

    @workflow.query
    def costs(self) -> TaskCosts:
        """What the ended agents of each task cost."""
        return session_view.costs(self._state)

    @workflow.query
    def agents(self) -> AgentSettings:
        """What one agent may use, by role and kind of task."""
        return self._config.agents

    # --- prepare and plan --------------------------------------------------------------------

    async def _prepare(self) -> None:
        self._show()
        self._ledger = asyncio.create_task(self._watch_ledger(await start_ledger(self._request)))
        await self._pulls.start()
        found = await self._attend(prepare(self._request))
        self._update(prepared=found.prepared, head=found.prepared.base.commit)
        for kind, text in found.warnings:
            self._state = wave_outcomes.notice(self._state, kind, text[:60], text, workflow.now())
        report = await self._attend(baseline(self._request, self._state))
        self._state = wave_outcomes.baseline(self._state, report, workflow.now())
        if refusal := base_refusal(report, self._config.approvals):
            raise ApplicationError(refusal, type="NothingJudges", non_retryable=True)

    async def _plan(self) -> None:
        """Plan until a plan is approved; skip the planner if a person brought a plan."""
        if self._request.plan is not None:
            check_plan(self._request.plan)
            self._state = scheduling.adopt(self._state, self._request.plan, self._config)
            if by := self._request.plan_by:
                self._state = decision_record.own_plan(self._state, by, workflow.now())
        while not self._state.is_plan_approved:
            if self._state.plan is None or self._wants_new_plan:
                await self._make_plan()
            if self._state.plan is not None and self._config.approvals.plan == "auto":
                self._state = decision_record.plan_by_rule(self._state, workflow.now())
                break
            await self._await_plan_decision()
        self._enter(SessionPhase.RUNNING)

    async def _make_plan(self) -> None:
        self._wants_new_plan = False
        self._update(plans_made=self._state.plans_made + 1)
        self._enter(SessionPhase.PLANNING)
        while self._state.phase is SessionPhase.PAUSED:
            await self._hear()
        request = wave_requests.plan_request(self._request, self._state)
        result = await self._attend(self._waves.plan(request))
        self._update(ended=self._state.ended + result.bill)
        if result.plan is not None:
            self._state = scheduling.adopt(self._state, result.plan, self._config)
        elif self._config.approvals.plan == "auto":
            raise ApplicationError(result.reason, type="NoPlan")
        else:
            self._update(plan=None, records={}, changesets=(), plan_fault=result.reason)

    async def _await_plan_decision(self) -> None:
        reason = "waits for approval of the plan" if self._state.plan else self._state.plan_fault
        self._enter(SessionPhase.AWAITING_PLAN, reason)
        while not (self._state.is_plan_approved or self._wants_new_plan):
            await self._hear()

    # --- the work ----------------------------------------------------------------------------

    async def _work(self) -> tuple[SessionOutcome, str]:
        """Start what can start and take up results, until nothing is left to do."""
        while True:
            if reason := self._state.halt:
                await self._apply(phase_changes.halt(self._state, self._config, reason))
            if self._state.phase is SessionPhase.STOPPING:
                raise _Stopped
            self._state = self._pulls.step(self._state)
            self._update(**await self._pulls.tell())
            # What was said during the last signals comes first: no continuation or end may lose it.
            may_step = self._state.phase is SessionPhase.RUNNING and not self._has_heard()
            if may_step and (ended := self._step()) is not None:
                return ended
            if not self._state.halt:
                self._show()
                await self._hear()

    def _step(self) -> tuple[SessionOutcome, str] | None:
        """Settle the state and start waves; return the end and its reason if nothing is left."""
        self._state = scheduling.settle(self._state, self._config, workflow.now())
        if not self._waves and run_length.is_long(self._request, self._state.cycle):
            if not workflow.all_handlers_finished():
                return None  # an Update is being answered; the loop comes back
            end_if_cancelled()
            workflow.continue_as_new(self._request.continued(self._state))
        if not run_length.is_full(self._request, self._state.cycle):
            for each in scheduling.next_starts(self._state, self._config, self._waves.counts()):
                self._start(each)
        if self._waves:
            self._update(reason="", halt=readiness.standstill(self._state, self._config))
            return None
        ending = ending_with_delivery(self._request, self._state)
        if (kind := ending.kind) != "waits" and workflow.all_handlers_finished():
            return kind, ending.reason
        self._update(reason=ending.reason)
        return None

    def _has_heard(self) -> bool:
        return bool(self._inbox or self._reports or self._pulls.has_news)

    def _start(self, start: scheduling.StageStart) -> None:
        request = wave_requests.stage_request(self._request, self._state, start)
        self._state = scheduling.start(self._state, start)
        key = f"{self._state.cycle}/{start.stage}"
        self._waves.begin(key, start, request, self._take_up)

    async def _take_up(
        self, start: scheduling.StageStart, result: Awaitable[wave_outcomes.StageResult]
    ) -> None:
        """Wait for a wave's end and take up its result."""
        try:
            outcome = await result
            self._state = wave_outcomes.take(self._state, outcome, workflow.now())
        except ChildWorkflowError as error:
            if is_cancelled() or self._state.phase is SessionPhase.STOPPING:
                raise
            self._state = wave_outcomes.wave_lost(
                self._state, start.tasks, start.changesets, failure_text(error), workflow.now()
            )
        except Exception as error:  # noqa: BLE001  (kept: `_hear` raises it where it is seen)
            self._fault = error
        finally:
            self._has_changed = True

    # --- persons and the ledger --------------------------------------------------------------

    async def _watch_ledger(self, ledger: ChildHandle) -> None:
        if (fault := await ledger_lost(ledger)) is not None:
            self._fault, self._has_changed = fault, True

    async def _attend(self, work: Awaitable[_T]) -> _T:
        """Do some work while taking up signals; a stop cancels it."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await self._hear(task.done)
        except (_Stopped, asyncio.CancelledError):
            task.cancel()
            await workflow.wait([task])
            raise
        return task.result()

    async def _hear(self, is_done: Callable[[], bool] = lambda: False) -> None:
        """Wait for something to happen, then take up every signal in the order of arrival.

        Raises:
            _Stopped: one of them stopped the session.
            CancelledError: the session was cancelled while it signalled other workflows.
        """
        end_if_cancelled()
        await workflow.wait_condition(
            lambda: self._has_heard() or self._has_changed or self._inbox.has_answered or is_done()
        )
        self._has_changed = self._inbox.has_answered = False
        if self._fault is not None:
            raise self._fault
        while (entry := self._inbox.take()) is not None:
            await self._take_decision(entry)
        while self._reports:
            event, now = self._reports.take(), workflow.now()
            await self._apply(reported_events.take(self._state, self._config, event, now))
        if self._state.phase is SessionPhase.STOPPING:
            raise _Stopped
        await self._waves.stop_void(self._state)
        self._show()

    def _judge(self, sent: decisions.Sent) -> effects.Applied:
        return decisions.apply(self._state, self._config, sent, workflow.now())

    async def _take_decision(self, entry: Entry) -> None:
        """Answer before the effects, which happen inside this session and may take a while."""
        applied = self._judge(entry.sent)
        if applied.refused and entry.update_id:
            entry.refuse(applied.refused)  # its sender is told, so nothing is recorded
            return
        if entry.update_id:
            applied, outcome = decision_record.remember(applied, entry.update_id, entry.sent)
            entry.accept(outcome)
        await self._apply(applied)

    async def _apply(self, applied: effects.Applied) -> None:
        self._state = applied.state
        for effect in applied.effects:
            await self._effect(effect)

    async def _effect(self, effect: effects.Effect) -> None:
        match effect:
            case effects.Steer() | effects.Answer():
                await self._waves.say(effect)
            case effects.TellWaves():
                await self._waves.tell(effect)
            case effects.EndHolds():
                if workflow.patched("resume-reaches-ledger"):
                    await end_holds(self._request.ledger_id, HoldsEnded(at=workflow.now()))
            case effects.SetCap():
                await set_cap(self._request.ledger_id, CapChanged(usd=effect.usd))
            case effects.PlanAgain():
                self._wants_new_plan = True

    # --- the end -----------------------------------------------------------------------------

    async def _stop(self) -> None:
        """Cancel what runs, and wait until it has ended."""
        await self._waves.cancel()
        self._end(self._state.reason)

    async def _close(self, outcome: SessionOutcome) -> None:
        """End the ledger, take its final figure of what was spent, and save the last view."""
        await self._pulls.finish()
        await finish_ledger(self._request.ledger_id, self._reports.has_closed)
        self._state = self._reports.take_rest(self._state)
        await self._drain()
        self._enter(SessionPhase.ENDED, self._state.reason)
        await self._news.end(outcome, self._state.reason)
        await start_report(self._request.session)

    async def _drain(self) -> None:
        """Refuse late arrivals until no Update waits for its answer."""
        async for entry in self._inbox.take_rest():
            self._state = phase_changes.too_late(self._state, entry.sent.name, workflow.now())
            entry.refuse("the session was ending already: this changed nothing")

    def _end(self, reason: str) -> None:
        """Mark what is not done."""
        self._state = phase_changes.close(self._state, reason)
        # Before the ledger's last word, so that a viewer does not take the reason for a question.
        self._update(phase=SessionPhase.ENDED, resumes_to=None, reason=reason)

    def _enter(self, phase: SessionPhase, reason: str = "") -> None:
        """Go to another phase; the memo keeps its view, which can be read without a worker."""
        self._state = phase_changes.enter(self._state, phase, reason)
        self._show()
        workflow.upsert_memo({"view": session_view.short(self.state())})

    def _show(self) -> None:
        workflow.set_current_details(session_view.details(self._state))
        self._news.look(self._state)

    def _keep(self, state: SessionState) -> None:
        self._state = state

    def _update(self, **changes: Unpack[SessionChanges]) -> None:
        self._state = self._state.evolve(**changes)
