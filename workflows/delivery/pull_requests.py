"""Keeps a session's pull requests as the session wants them, and tells the session what came of it.

It has no children, so it may continue as new at any time. It outlives the session only until the
last wish is tried.
"""

from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows.agent_lifecycle import failure_text
from workflows.contracts.hosting_contracts import (
    LOOK_AT_PULL,
    PUBLISH_PULL,
    LookAtPull,
    NoPull,
    PublishedPull,
    PublishPull,
    PullRefused,
)
from workflows.domain.evolution import evolve
from workflows.domain.pull_request import (
    PullRequest,
    PullsReport,
    PullsRequest,
    PullState,
    WantedPull,
    WantedPulls,
)
from workflows.policy.text.log_events import log_event

REPORTED = "pulls_reported"
"""The session's signal with a `PullsReport`."""
_OPEN: Final = frozenset({PullState.OPEN, PullState.DRAFT})
_SLOWEST: Final = 10
"""How many times the usual pause there may be between two looks."""


@workflow.defn(name="PullRequests")
class PullRequests:
    """Purpose: one pull request for each wish, created once, and updated as the session goes on.

    Signals: `want`, `finish`. Query: `pulls`. A continuation carries the wishes, those that are
    fulfilled, and the pull requests.
    """

    @workflow.init
    def __init__(self, request: PullsRequest) -> None:
        self._request = request
        self._wanted = request.wanted
        self._done = {each.key: each for each in request.done}
        self._pulls = {each.key: each for each in request.pulls}
        self._tried = request.tried
        self._is_finished = request.is_finished
        self._follow_until = request.follow_until
        self._fault = request.fault
        self._refused = dict(request.refused)
        self._unchanged = 0

    @workflow.run
    async def run(self, request: PullsRequest) -> None:
        """Serve until the session signals `finish` and its last wish is tried."""
        while True:
            has_heard = await self._waited()
            if self._is_news:
                await self._bring_about(self._wanted)
            elif self._is_finished:
                return
            elif not has_heard:
                await self._look()
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(self._carried())

    @workflow.signal
    def want(self, wanted: WantedPulls) -> None:
        """The session wants other pull requests."""
        self._wanted = wanted

    @workflow.signal
    def finish(self) -> None:
        """The session has ended; its last wish came before."""
        self._is_finished = True

    @workflow.query
    def pulls(self) -> list[PullRequest]:
        """The pull requests as they were last seen."""
        return list(self._pulls.values())

    async def _waited(self) -> bool:
        """Wait for the session, or until it is time to look; return whether the session spoke."""
        is_open = any(each.state in _OPEN for each in self._pulls.values())
        pause = self._request.poll * min(1.5**self._unchanged, _SLOWEST) if is_open else None
        if pause and self._follow_until and not self._is_followed:
            pause = max(min(pause, self._follow_until - workflow.now()), timedelta(0))
        try:
            await workflow.wait_condition(lambda: self._is_news or self._is_finished, timeout=pause)
        except TimeoutError:
            return False
        return True

    async def _look(self) -> None:
        """Look at what is open, and tell the session what has changed, or why it is not shown."""
        before = (dict(self._pulls), self._is_followed)
        known_refusals = set(self._refused.values())
        for known in before[0].values():
            if known.state in _OPEN:
                await self._look_at(known)
        has_changed = before != (self._pulls, self._is_followed)
        self._unchanged = 0 if has_changed else self._unchanged + 1
        refused = "; ".join(sorted(set(self._refused.values()) - known_refusals))
        is_told = bool(refused) and workflow.patched("refused-look-is-told")
        if has_changed or self._is_followed or is_told:
            await self._tell(self._fault, refused)

    async def _look_at(self, known: PullRequest) -> None:
        look = LookAtPull(
            session=self._request.session,
            repository=self._request.repository,
            remote=self._request.remote,
            pull=known,
        )
        try:
            outcome = await LOOK_AT_PULL.ask(look, f"look at pull request {known.number}")
        except ActivityError as error:
            reason = failure_text(error)
            log_event(workflow.logger, "pull_not_seen", pull=known.number, reason=reason)
            return
        match outcome:
            case PublishedPull():
                self._pulls[known.key] = outcome.pull
                self._refused.pop(known.key, None)
            case PullRefused():
                self._refused[known.key] = outcome.reason
            case NoPull():
                pass

    @property
    def _is_followed(self) -> bool:
        if self._follow_until is None:
            return False
        is_open = any(each.state in _OPEN for each in self._pulls.values())
        return not is_open or workflow.now() >= self._follow_until

    @property
    def _is_news(self) -> bool:
        return self._wanted.revision != (self._tried or WantedPulls().revision)

    async def _bring_about(self, wanted: WantedPulls) -> None:
        """Fulfil each wish that differs, the lowest of a stack first.

        After a fault the others are only closed: they need none below them for that.
        """
        fault = ""
        for pull in wanted.pulls:
            if self._done.get(pull.key) != pull and (pull.is_closed or not fault):
                fault = await self._fault_of(pull) or fault
        self._tried, self._fault, self._unchanged = wanted.revision, fault, 0
        follow = self._request.follow
        self._follow_until = workflow.now() + follow if follow and wanted.is_whole else None
        await self._tell(fault)

    async def _fault_of(self, pull: WantedPull) -> str:
        """Fulfil one wish; return why it cannot be, or nothing."""
        known = self._pulls.get(pull.key)
        publish = PublishPull(
            session=self._request.session,
            repository=self._request.repository,
            remote=self._request.remote,
            pull=pull,
            pushed=known.pushed if known else None,
        )
        try:
            outcome = await PUBLISH_PULL.ask(publish, f"bring the pull request of {pull.key} about")
        except ActivityError as error:
            return failure_text(error)
        match outcome:
            case PublishedPull():
                self._pulls[pull.key] = outcome.pull
            case PullRefused():
                return outcome.reason
            case NoPull():
                pass
        self._done[pull.key] = pull
        return ""

    async def _tell(self, fault: str, refused: str = "") -> None:
        report = PullsReport(
            revision=self._tried or WantedPulls().revision,
            pulls=tuple(self._pulls.values()),
            is_followed=self._is_followed,
            fault=fault,
            refused=refused[:1_000],
        )
        session = workflow.get_external_workflow_handle(self._request.session_workflow)
        try:
            await session.signal(REPORTED, report)
        except ApplicationError as gone:
            log_event(workflow.logger, "session_gone", reason=gone)
            self._is_finished = True

    def _carried(self) -> PullsRequest:
        return evolve(
            self._request,
            {
                "wanted": self._wanted,
                "done": tuple(self._done.values()),
                "pulls": tuple(self._pulls.values()),
                "tried": self._tried,
                "fault": self._fault,
                "is_finished": self._is_finished,
                "follow_until": self._follow_until,
                "refused": self._refused,
            },
        )
