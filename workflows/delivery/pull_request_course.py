"""The session's side of its pull requests: what it wants of them, and what it hears.

Without `deliver: pull_request` it does nothing.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.delivery.pull_requests import REPORTED, PullRequests
from workflows.domain.pull_request import PullsReport, PullsRequest, WantedPulls
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionChanges, SessionState
from workflows.policy.decision import hosted_feedback
from workflows.policy.delivery.wanted_pulls import take_report, wanted_pulls
from workflows.policy.session import wave_outcomes
from workflows.policy.text.log_events import log_event

_LAST_WORD: Final = timedelta(minutes=5)
"""How long a session that was stopped waits for its pull requests to be closed."""
_GONE: Final = (
    "the workflow that keeps the pull requests is gone; open or update them yourself from the "
    "branch"
)
_UNSEEN: Final = "checks and reviews of the pull request are not seen: {}"


class PullRequestCourse:
    """One session's pull requests."""

    def __init__(self, request: SessionRequest) -> None:
        """Register the signal `pulls_reported`."""
        self._request = request
        self._is_used = request.config.deliver == "pull_request"
        self._id = f"session/{request.session}/pulls"
        self._reports: list[PullsReport] = []
        self._untold: WantedPulls | None = None
        if self._is_used:
            workflow.set_signal_handler(REPORTED, self._hear)

    @property
    def has_news(self) -> bool:
        """Whether a report waits for `step`."""
        return bool(self._reports)

    async def start(self) -> None:
        """Start the workflow that keeps them; it outlives a continuation of the session."""
        if not self._is_used:
            return
        keep = PullsRequest(
            session_workflow=workflow.info().workflow_id,
            session=self._request.session,
            repository=self._request.repository,
            remote=self._request.config.pull_request.remote,
            poll=self._request.config.pull_request.poll,
            follow=self._request.config.pull_request.follow,
        )
        await workflow.start_child_workflow(
            PullRequests.run,
            keep,
            id=self._id,
            static_summary="keep the pull requests",
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        )

    def step(self, state: SessionState, *, is_stopped: bool = False) -> SessionState:
        """Take up what was reported, and note what the session wants now; `tell` says it.

        It never waits: a wave that ended in between would be lost with the state that it changed.

        Args:
            state: the session's.
            is_stopped: the pull requests are to be closed.

        Returns:
            The state with the reports, and with the revision that is wanted.
        """
        if not self._is_used:
            return state
        while self._reports:
            state = self._taken(state, self._reports.pop(0), is_stopped=is_stopped)
        wanted = wanted_pulls(self._request, state, is_stopped=is_stopped)
        if not wanted.pulls or wanted.revision == state.pulls_wanted:
            return state
        self._untold = wanted
        return state.evolve(pulls_wanted=wanted.revision)

    async def tell(self) -> SessionChanges:
        """Ask for what `step` noted; return what of the state changes if no one is there to ask."""
        wanted, self._untold = self._untold, None
        if wanted is None:
            return {}
        try:
            await workflow.get_external_workflow_handle(self._id).signal("want", wanted)
        except ApplicationError:
            return {"pulls_tried": wanted.revision, "pulls_fault": _GONE}
        return {}

    async def close(
        self, current: Callable[[], SessionState], keep: Callable[[SessionState], None]
    ) -> None:
        """Have the pull requests closed, because the session was stopped; wait a while for it.

        What others change of the state meanwhile is kept: it is read again after each wait.

        Args:
            current: returns the session's state.
            keep: takes its next state.
        """
        if not self._is_used:
            return
        try:
            while True:
                keep(self.step(current(), is_stopped=True))
                changes = await self.tell()
                keep(current().evolve(**changes))
                if current().pulls_tried == current().pulls_wanted:
                    return
                await workflow.wait_condition(lambda: self.has_news, timeout=_LAST_WORD)
        except (TimeoutError, asyncio.CancelledError):  # it was stopped first, and ends as that
            text = "the pull requests were not closed in time; look at them yourself"
            kind = NoticeKind.DELIVERY
            keep(wave_outcomes.notice(current(), kind, "", text, workflow.now()))

    async def finish(self) -> None:
        """Say that the session has ended."""
        if self._is_used:
            try:
                await workflow.get_external_workflow_handle(self._id).signal("finish")
            except ApplicationError as gone:
                log_event(workflow.logger, "pulls_gone", reason=gone)

    def _hear(self, report: PullsReport) -> None:
        self._reports.append(report)

    def _taken(self, state: SessionState, report: PullsReport, *, is_stopped: bool) -> SessionState:
        state = take_report(state, report)
        now = workflow.now()
        if report.fault:
            kind = NoticeKind.DELIVERY
            state = wave_outcomes.notice(state, kind, "pull request", report.fault, now)
        if report.refused:
            kind, text = NoticeKind.DELIVERY, _UNSEEN.format(report.refused)
            state = wave_outcomes.notice(state, kind, "looks at pull requests", text, now)
        if is_stopped:
            return state
        return hosted_feedback.take_remarks(state, self._request.config, now)
