"""The session's money: a workflow without children that grants only what the cap still has.

Agents ask by signal for a few calls ahead; the signal `granted` is the answer. It tells the
session what only a person can fix: a reached cap, a high burn rate, a refused key or its credit.
With each grant it tells an agent which models others found unusable. Without children it may
continue as new at any time. It decides nothing about models or tasks.
"""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.domain.budget import (
    AccountClosed,
    Accounts,
    Ask,
    CapChanged,
    Grant,
    LedgerEvent,
    LedgerEventKind,
    LedgerMessage,
    LedgerRequest,
    LedgerView,
    ProviderFault,
)
from workflows.domain.error_count import Counted, Hold, HoldsEnded
from workflows.policy.agent import error_windows, model_failures
from workflows.policy.money import amounts_in_words, grants
from workflows.policy.text.log_events import log_event

_BURN_NOTICE_EVERY = timedelta(minutes=1)


@workflow.defn(name="SessionLedger")
class SessionLedger:
    """Purpose: caps that hold under any concurrency.

    Signals: `ask`, `close_account`, `provider_fault`, `counted`, `end_holds`, `set_cap`, `finish`.
    Query: `state`. A continuation carries the accounts, the known faults, the counts of errors, the
    unserved messages, and whether the warning was given.
    """

    @workflow.init
    def __init__(self, request: LedgerRequest) -> None:
        self._request = request
        self._accounts = request.accounts or Accounts(cap_usd=request.caps.stop_usd)
        self._is_warned = request.is_warned
        self._faults = request.faults
        self._windows = request.windows
        self._holds_ended_at = request.holds_ended_at
        self._inbox: list[LedgerMessage] = list(request.inbox)
        self._is_finished = request.is_finished
        self._served = 0
        self._burn_told_at: datetime | None = None

    @workflow.run
    async def run(self, request: LedgerRequest) -> LedgerView:
        """Serve until the session signals `finish`, then return the final accounts."""
        while True:
            await workflow.wait_condition(lambda: bool(self._inbox) or self._is_finished)
            while self._inbox and not self._is_long():
                await self._serve(self._inbox.pop(0))
                self._served += 1
            if self._is_long():
                workflow.continue_as_new(self._carried())
            if self._is_finished:
                await self._tell("closed", "the session has ended")
                return self.state()

    @workflow.signal
    def ask(self, ask: Ask) -> None:
        """An agent asks for money."""
        self._inbox.append(ask)

    @workflow.signal
    def close_account(self, closed: AccountClosed) -> None:
        """An agent has ended."""
        self._inbox.append(closed)

    @workflow.signal
    def provider_fault(self, fault: ProviderFault) -> None:
        """An agent met a fault of a model or a key, which may concern others."""
        self._inbox.append(fault)

    @workflow.signal
    def counted(self, report: Counted) -> None:
        """An agent reports its calls and their errors."""
        self._inbox.append(report)

    @workflow.signal
    def end_holds(self, ended: HoldsEnded) -> None:
        """A person resumed the session."""
        self._inbox.append(ended)

    @workflow.signal
    def set_cap(self, changed: CapChanged) -> None:
        """A person changed the cap."""
        self._inbox.append(changed)

    @workflow.signal
    def finish(self) -> None:
        """The session has ended."""
        self._is_finished = True

    @workflow.query
    def state(self) -> LedgerView:
        """The sums of the accounts."""
        return LedgerView(
            cap_usd=self._accounts.cap_usd,
            committed_usd=grants.committed(self._accounts),
            settled_usd=grants.settled(self._accounts),
            burn_usd_per_minute=grants.burn_rate(self._accounts.samples, workflow.now()),
            burn_limit_usd_per_minute=self._request.caps.burn_usd_per_minute,
            samples=self._accounts.samples,
        )

    def _is_long(self) -> bool:
        has_served_many = self._served >= self._request.messages_per_run
        return has_served_many or workflow.info().is_continue_as_new_suggested()

    async def _serve(self, message: LedgerMessage) -> None:
        now = workflow.now()
        match message:
            case Ask():
                self._accounts, grant = grants.answer_ask(self._accounts, message, now)
                await self._answer(message, grant)
            case AccountClosed():
                self._accounts = grants.close_account(
                    self._accounts, message.agent, message.settled_usd, now
                )
            case CapChanged():
                self._accounts = grants.set_cap(self._accounts, message.usd)
            case ProviderFault():
                await self._take_fault(message)
            case Counted():
                await self._take_count(message, now)
            case HoldsEnded():
                self._windows = error_windows.without_holds(self._windows)
                self._holds_ended_at = message.at
        await self._watch(now)

    async def _take_fault(self, fault: ProviderFault) -> None:
        is_known = model_failures.is_known(self._faults, fault)
        self._faults = model_failures.remembered(self._faults, fault)
        if not is_known:
            await self._tell("provider_fault", fault.text, fault)

    async def _take_count(self, report: Counted, now: datetime) -> None:
        """Let agents wait that use what fails too often, and the person know."""
        percent = self._request.auto_pause_percent
        report = error_windows.since_resumed(report, self._holds_ended_at)
        self._windows, fresh = error_windows.take(self._windows, report, percent, now)
        for hold in error_windows.held(self._windows, report, now):
            await _signal(report.workflow_id, "hold", hold)
        for window in fresh:
            hold = Hold(subject=window.subject, until=window.held_until or now)
            session = self._request.session_workflow.removeprefix("session/")
            await self._tell("auto_pause", error_windows.hold_text(window, session), hold=hold)
            for user in error_windows.users_of(window, report.agent):
                await _signal(user, "hold", hold)

    async def _answer(self, ask: Ask, grant: Grant) -> None:
        skipped = model_failures.skipped(self._faults, workflow.now())
        await _signal(ask.workflow_id, "granted", grant.skipping(skipped))
        if grant.usd < ask.least_usd and not ask.is_ahead:
            cap = amounts_in_words.money(self._accounts.cap_usd)
            await self._tell("cap_reached", f"the cap of {cap} conflicts with a further call")

    async def _watch(self, now: datetime) -> None:
        caps = self._request.caps
        settled = grants.settled(self._accounts)
        if settled >= caps.warn_usd > 0 and not self._is_warned:
            self._is_warned = True
            spent, cap = (
                amounts_in_words.money(settled),
                amounts_in_words.money(self._accounts.cap_usd),
            )
            await self._tell("warning", f"{spent} is spent; the cap is {cap}")
        rate = grants.burn_rate(self._accounts.samples, now)
        if rate > caps.burn_usd_per_minute and self._may_tell_burn(now):
            self._burn_told_at = now
            now_usd, limit = (
                amounts_in_words.money(rate),
                amounts_in_words.money(caps.burn_usd_per_minute),
            )
            await self._tell("burn_rate", f"{now_usd} a minute is above the limit of {limit}")

    def _may_tell_burn(self, now: datetime) -> bool:
        return self._burn_told_at is None or now - self._burn_told_at >= _BURN_NOTICE_EVERY

    async def _tell(
        self,
        kind: LedgerEventKind,
        text: str,
        fault: ProviderFault | None = None,
        hold: Hold | None = None,
    ) -> None:
        event = LedgerEvent(
            kind=kind,
            settled_usd=grants.settled(self._accounts),
            cap_usd=self._accounts.cap_usd,
            text=text,
            fault=fault,
            hold=hold,
        )
        await _signal(self._request.session_workflow, "ledger_event", event)

    def _carried(self) -> LedgerRequest:
        return LedgerRequest(
            session_workflow=self._request.session_workflow,
            caps=self._request.caps,
            messages_per_run=self._request.messages_per_run,
            accounts=self._accounts,
            is_warned=self._is_warned,
            faults=self._faults,
            inbox=tuple(self._inbox),
            is_finished=self._is_finished,
            auto_pause_percent=self._request.auto_pause_percent,
            windows=self._windows,
            holds_ended_at=self._holds_ended_at,
        )


async def _signal(workflow_id: str, name: str, payload: Grant | LedgerEvent | Hold) -> None:
    try:
        await workflow.get_external_workflow_handle(workflow_id).signal(name, payload)
    except ApplicationError as gone:
        # The receiver has ended; the wave that started it closes its account.
        log_event(
            workflow.logger, "signal_undelivered", signal=name, workflow=workflow_id, reason=gone
        )
