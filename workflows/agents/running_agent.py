"""A running agent: what the parts of its workflow share, and how it is held, stopped, continued.

It decides nothing. The parts are the loop (`agent`), the conversation with models
(`conversation`) and the money (`account`).
"""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar, Unpack

from pydantic import JsonValue
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows.cancellation import end_if_cancelled
from workflows.domain.agent.agent_values import AgentChanges, AgentEnd, AgentRequest, AgentState
from workflows.domain.agent.messages import UserMessage
from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.session.question import QuestionAsked
from workflows.policy.agent.model_failures import first_usable
from workflows.policy.agent.questions import DECIDE_YOURSELF
from workflows.policy.agent.turn_decisions import max_output_tokens, output_limit
from workflows.policy.text.log_events import log_event

_T = TypeVar("_T")


class Ended(Exception):  # noqa: N818  (control flow inside the agent's workflow, not an error)
    """Raised to end the agent here; says how it ended."""

    def __init__(
        self, end: AgentEnd, detail: str = "", submission: dict[str, JsonValue] | None = None
    ) -> None:
        super().__init__(detail)
        self.end = end
        self.detail = detail
        self.submission = submission


class RunningAgent:
    """One agent's request and its only current state.

    `state` is all that a continuation carries. What belongs only to this run is elsewhere: the
    running activity here, grants not yet taken in `Account`.
    """

    def __init__(self, request: AgentRequest) -> None:
        self.request = request
        self.state = request.carried or AgentState(
            checkpoint=request.checkpoint,
            started_at=workflow.now(),
            pending=(UserMessage(text=request.opening),),
            steers=request.steers,
        )
        self._activity: asyncio.Task[object] | None = None

    @property
    def model(self) -> ModelFacts:
        """The model of the route in use."""
        return self.request.route[self.state.model_index]

    @property
    def model_name(self) -> str:
        """The model in use, as `provider/model`."""
        return self.model.name

    @property
    def output_tokens(self) -> int:
        """How many tokens the next answer may have."""
        limit = output_limit(self.state, self.request.limits)
        return min(max_output_tokens(self.model, limit), self.state.most_output or limit)

    def skip_unusable(self) -> None:
        """Go on to the first model of the route that others did not find unusable."""
        route, index = self.request.route, self.state.model_index
        self.go_to(first_usable(route, index, self.state.skipped))

    def go_to(self, index: int) -> None:
        """Use another model of the route; what the last one refused may be right for this one."""
        if index != self.state.model_index:
            self.update(model_index=index, most_output=None)

    def pending_bytes(self) -> int:
        """Return the size of the messages to be sent beyond the stored conversation, in UTF-8."""
        return sum(len(message.model_dump_json().encode()) for message in self.state.pending)

    def update(self, **changes: Unpack[AgentChanges]) -> None:
        """Change fields of the state."""
        self.state = self.state.evolve(**changes)

    def stop(self, reason: str) -> None:
        """End the agent: cancel what runs; what waits ends by itself."""
        self.update(stop_reason=reason)
        if self._activity is not None:
            self._activity.cancel()

    def end_if_stopped(self) -> None:
        """End if a stop was requested.

        Raises:
            Ended: a stop was requested.
        """
        if self.state.stop_reason is not None:
            raise Ended(AgentEnd.STOPPED, self.state.stop_reason)

    async def stoppable(self, work: Coroutine[object, object, _T]) -> _T:
        """Run an activity so that `stop` can cancel it.

        Raises:
            Ended: a stop was requested; the cause says how the activity ended, if it had started.
        """
        if self.state.stop_reason is not None:
            work.close()
            raise Ended(AgentEnd.STOPPED, self.state.stop_reason)
        self._activity = asyncio.create_task(work)
        try:
            return await self._activity
        except (ActivityError, asyncio.CancelledError) as error:
            # Cancelled, or failed before the cancellation arrived: either way, do not try again.
            if self.state.stop_reason is not None:
                raise Ended(AgentEnd.STOPPED, self.state.stop_reason) from error
            raise
        finally:
            self._activity = None

    async def while_paused(self) -> None:
        """Wait for `resume`; the wait does not count as the agent's time.

        Raises:
            Ended: the agent was stopped during the pause.
            CancelledError: the workflow was cancelled earlier; nothing else would end the wait.
        """
        end_if_cancelled()
        began = workflow.now()
        await workflow.wait_condition(
            lambda: not self.state.is_paused or self.state.stop_reason is not None
        )
        self.update(paused=self.state.paused + (workflow.now() - began))
        self.end_if_stopped()

    async def answer_of_the_person(self, question: QuestionAsked) -> str:
        """Have the session ask the person, and wait; the wait is not the agent's time.

        Raises:
            Ended: the agent was stopped during the wait.
            CancelledError: the workflow was cancelled.
        """
        end_if_cancelled()
        began = workflow.now()
        self.update(questions=self.state.questions + 1)
        session = workflow.get_external_workflow_handle(f"session/{self.request.session}")
        try:
            await session.signal("question_asked", question)
        except ApplicationError as gone:
            log_event(workflow.logger, "question_unheard", reason=gone)
            return DECIDE_YOURSELF
        await workflow.wait_condition(
            lambda: self.state.answer is not None or self.state.stop_reason is not None
        )
        self.update(paused=self.state.paused + (workflow.now() - began))
        self.end_if_stopped()
        answer = self.state.answer or ""
        self.update(answer=None)
        return answer

    async def continue_as_new(self) -> None:
        """Continue as new with all state, once handlers are drained; no ask may be open.

        Raises:
            CancelledError: the workflow was cancelled before.
        """
        end_if_cancelled()
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(self.request.continued(self.state))
