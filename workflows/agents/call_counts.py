"""An agent's counts of its calls, reported to its ledger, and the waits that follow from them.

`policy.agent.error_windows` decides; an agent whose request has no limit counts nothing.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Final, get_args

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.agents.running_agent import RunningAgent
from workflows.contracts.host_contracts import Observation
from workflows.contracts.model_contracts import ModelAnswered
from workflows.domain.agent.tool_policy import ToolName
from workflows.domain.error_count import CallCount, Counted, Hold
from workflows.policy.agent import error_windows
from workflows.policy.agent.model_failures import first_usable
from workflows.policy.text.log_events import log_event

_TOOLS: Final = frozenset(get_args(ToolName))


class CallCounts:
    """What one agent called since its last report."""

    def __init__(self, agent: RunningAgent) -> None:
        self._agent = agent
        self._calls: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._began = workflow.now()
        self._since: datetime | None = None

    def begin(self) -> None:
        """Note that a call begins: what is counted next is of this call."""
        self._began = workflow.now()

    def answered(self, answer: ModelAnswered) -> None:
        """Count an answered call, and the attempts at it that failed before."""
        subject = error_windows.provider_subject(self._agent.model.provider)
        self._count(subject, 1 + answer.failures, answer.failures)

    def failed(self, failure: str) -> None:
        """Count a failed call, if its provider is at fault. Args: the failure's type."""
        if error_windows.is_providers_error(failure):
            self._count(error_windows.provider_subject(self._agent.model.provider), 1, 1)

    def ran(self, observations: Iterable[Observation]) -> None:
        """Count the calls of a batch."""
        for each in observations:
            if each.name in _TOOLS:  # a model may call anything
                self._count(error_windows.tool_subject(each.name), 1, int(each.is_broken))

    def _count(self, subject: str, calls: int, errors: int) -> None:
        if self._agent.request.auto_pause_percent:
            self._calls[subject] += calls
            self._errors[subject] += errors
            if errors and self._since is None:
                self._since = self._began

    async def report(self) -> None:
        """Tell the ledger, if something failed, a person resumed, or enough has come together."""
        resumed = self._agent.state.resumed
        is_due = self._errors.total() or self._calls.total() >= error_windows.REPORT_EVERY
        if not (is_due or resumed):
            return
        report = Counted(
            agent=self._agent.request.agent,
            workflow_id=workflow.info().workflow_id,
            counts=tuple(
                CallCount(subject=subject, calls=calls, errors=self._errors[subject])
                for subject, calls in sorted(self._calls.items())
            ),
            since=self._since,
            resumed=resumed,
        )
        self._since = None
        self._calls.clear()
        self._errors.clear()
        self._agent.update(resumed=())
        ledger = workflow.get_external_workflow_handle(self._agent.request.ledger)
        try:
            await ledger.signal("counted", report)
        except ApplicationError as gone:
            log_event(workflow.logger, "ledger_gone", what="a count of calls", reason=gone)

    async def wait_out(self) -> None:
        """Hold while the next call's provider, or a tool, is held; first try the route's others.

        Raises:
            Ended: the agent was stopped during the wait.
        """
        agent = self._agent
        while holds := error_windows.current(agent.state.holds, workflow.now()):
            providers = error_windows.held_providers(holds)
            route, index = agent.request.route, agent.state.model_index
            agent.go_to(first_usable(route, index, providers))
            hold = error_windows.applying(holds, agent.model.provider)
            if hold is None:
                return
            await self._while_held(hold)

    async def _while_held(self, hold: Hold) -> None:
        agent, began = self._agent, workflow.now()
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: hold not in agent.state.holds or agent.state.stop_reason is not None,
                timeout=hold.until - began,
                timeout_summary=f"too many errors of {hold.subject}: goes on after this",
            )
        agent.update(paused=agent.state.paused + (workflow.now() - began))
        agent.end_if_stopped()
