"""The session's side of notifications: starts its notifier, and tells it what the session needs.

A session whose person wants no messages starts none, and its history has no event of them.
"""

import asyncio

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError

from workflows.domain.session.notification import Need, Needs, NotifierRequest
from workflows.domain.session.query_answers import SessionOutcome
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.notifications.notifier import SessionNotifier
from workflows.policy.notifications.harmless_text import harmless
from workflows.policy.notifications.session_needs import end_need, session_needs
from workflows.policy.text.log_events import log_event


class SessionNews:
    """What one session tells its notifier; does nothing if the person wants no messages."""

    def __init__(self, request: SessionRequest) -> None:
        """Begin with a session that needs nothing."""
        self._request = request
        self._is_wanted = bool(request.config.notify)
        self._needs: tuple[Need, ...] = ()
        # A run that continues another tells it again: what it needed may be met since.
        self._told: tuple[Need, ...] | None = () if request.carried is None else None
        self._telling: asyncio.Task[None] | None = None

    @property
    def _id(self) -> str:
        return f"session/{self._request.session}/notifier"

    def look(self, state: SessionState) -> None:
        """Note what the session needs now; it is passed on beside the session's work."""
        if self._is_wanted:
            self._needs = session_needs(self._request.session, self._request.config, state)

    async def start(self) -> None:
        """Start the notifier, unless a continued session has one, and begin to tell it news.

        It outlives a continuation of the session, and its end.
        """
        if not self._is_wanted:
            return
        if self._request.carried is None:
            await self._start_notifier()
        self._telling = asyncio.create_task(self._keep())

    async def _start_notifier(self) -> None:
        goal = harmless(self._request.goal.strip().partition("\n")[0])[:100]
        try:
            await workflow.start_child_workflow(
                SessionNotifier.run,
                NotifierRequest(session=self._request.session, goal=goal),
                id=self._id,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                static_summary="messages to the person",
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            )
        except WorkflowAlreadyStartedError:
            log_event(workflow.logger, "notifier_kept")

    async def _keep(self) -> None:
        while True:
            await workflow.wait_condition(lambda: self._needs != self._told)
            self._told = told = self._needs
            await self._tell(Needs(needs=told))

    async def end(self, outcome: SessionOutcome, reason: str) -> None:
        """Tell the notifier how the session ended; it sends that and ends."""
        if self._telling is None:
            return
        self._telling.cancel()
        need = end_need(self._request.session, outcome, reason)
        needs = (need,) if need.kind in self._request.config.notify else ()
        await self._tell(Needs(needs=needs, is_last=True))

    async def _tell(self, needs: Needs) -> None:
        notifier = workflow.get_external_workflow_handle(self._id)
        try:
            await notifier.signal("needs_changed", needs)
        except ApplicationError as gone:
            log_event(workflow.logger, "notifier_gone", reason=gone)
