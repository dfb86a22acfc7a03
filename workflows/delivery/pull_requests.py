"""Keeps a session's pull requests as the session wants them, and tells the session what came of it.

It has no children, so it may continue as new at any time. It outlives the session only until the
last wish is tried.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows.agent_lifecycle import failure_text
from workflows.contracts.hosting_contracts import (
    PUBLISH_PULL,
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
    WantedPull,
    WantedPulls,
)

REPORTED = "pulls_reported"
"""The session's signal with a `PullsReport`."""


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

    @workflow.run
    async def run(self, request: PullsRequest) -> None:
        """Serve until the session signals `finish` and its last wish is tried."""
        while True:
            await workflow.wait_condition(lambda: self._is_news or self._is_finished)
            if self._is_news:
                await self._bring_about(self._wanted)
            elif self._is_finished:
                return
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

    @property
    def _is_news(self) -> bool:
        return self._wanted.revision != (self._tried or WantedPulls().revision)

    async def _bring_about(self, wanted: WantedPulls) -> None:
        """Fulfil each wish that differs, the lowest of a stack first; stop at the first fault."""
        fault = ""
        for pull in wanted.pulls:
            if self._done.get(pull.key) != pull and (fault := await self._fault_of(pull)):
                break
        self._tried = wanted.revision
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

    async def _tell(self, fault: str) -> None:
        report = PullsReport(
            revision=self._tried or WantedPulls().revision,
            pulls=tuple(self._pulls.values()),
            fault=fault,
        )
        session = workflow.get_external_workflow_handle(self._request.session_workflow)
        try:
            await session.signal(REPORTED, report)
        except ApplicationError as gone:
            workflow.logger.info("the session has ended already: %s", gone)

    def _carried(self) -> PullsRequest:
        return evolve(
            self._request,
            {
                "wanted": self._wanted,
                "done": tuple(self._done.values()),
                "pulls": tuple(self._pulls.values()),
                "tried": self._tried,
                "is_finished": self._is_finished,
            },
        )
