"""The notifier of a session: a workflow without children that sends what the session needs.

It runs beside the session, so that a target that does not answer, quiet hours, and the least time
between two messages delay no work. `policy.notifications.message_grouping` says what is sent when.
"""

import asyncio
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows.contracts.land_contracts import (
    FIND_TARGETS,
    SEND_NOTIFICATION,
    FindTargets,
    NotificationHeld,
    SendNotification,
)
from workflows.domain.session.notification import (
    MessageLost,
    Needs,
    Notification,
    NotificationKind,
    NotifierRequest,
    NotifierState,
    TargetName,
)
from workflows.policy.notifications import message_grouping
from workflows.policy.text.log_events import log_event

_TRIES: Final = 4
_MESSAGES_PER_RUN: Final = 500


@workflow.defn(name="SessionNotifier")
class SessionNotifier:
    """Purpose: to tell a person what a session needs, at most once a minute for each kind.

    Signals: `needs_changed`, `finish`. Query: `state`. A continuation carries `NotifierState`.
    It reports a target that never got a message to the session, by `message_lost`.
    """

    @workflow.init
    def __init__(self, request: NotifierRequest) -> None:
        self._request = request
        self._state = request.carried or NotifierState()
        self._has_news = False
        self._sending: dict[TargetName, asyncio.Task[None]] = {}
        """The last message to each target."""
        self._sent_before = self._state.sent

    @workflow.run
    async def run(self, request: NotifierRequest) -> NotifierState:
        """Send what is due until the session has ended and everything is told."""
        while True:
            step = message_grouping.next_step(self._state, workflow.now(), request.interval)
            match step:
                case message_grouping.Send(kind):
                    await self._send(kind)
                case message_grouping.Wait(None) if self._state.is_finished:
                    await asyncio.gather(*self._sending.values())
                    return self._state
                case message_grouping.Wait(None) if self._is_long():
                    workflow.continue_as_new(request.continued(self._state))
                case message_grouping.Wait(until):
                    await self._news(None if until is None else until - workflow.now())

    @workflow.signal
    def needs_changed(self, needs: Needs) -> None:
        """The session needs something else."""
        self._state = message_grouping.changed(self._state, needs)
        self._has_news = True

    @workflow.signal
    def finish(self) -> None:
        """No more needs will come: the session was ended by hand."""
        self._state = message_grouping.finished(self._state)
        self._has_news = True

    @workflow.query
    def state(self) -> NotifierState:
        """What the notifier remembers."""
        return self._state

    def _is_long(self) -> bool:
        has_sent_many = self._state.sent - self._sent_before >= _MESSAGES_PER_RUN
        is_suggested = workflow.info().is_continue_as_new_suggested()
        is_busy = self._has_news or not all(task.done() for task in self._sending.values())
        return (has_sent_many or is_suggested) and not is_busy

    async def _news(self, patience: timedelta | None = None) -> None:
        try:
            await workflow.wait_condition(lambda: self._has_news, timeout=patience)
        except TimeoutError:
            return  # something else is due
        finally:
            self._has_news = False

    async def _send(self, kind: NotificationKind) -> None:
        """Send one message to every target, beside what follows; each gets them in their order."""
        before, at = self._state, workflow.now()
        message = message_grouping.message(self._request, before, kind, at)
        try:
            found = await FIND_TARGETS.ask(FindTargets(title=message.title), message.title)
        except ActivityError as error:
            await self._report(message, f"anyone: {error.cause or error}")
        else:
            if isinstance(found, NotificationHeld):
                self._state = message_grouping.held(self._state, found.until)
                return
            for target in found.targets:
                sending = self._deliver(message, target, self._sending.get(target))
                self._sending[target] = asyncio.create_task(sending)
        self._state = message_grouping.told(before, self._state, kind, at)

    async def _deliver(
        self, message: Notification, target: TargetName, earlier: asyncio.Task[None] | None
    ) -> None:
        """Send a message to one target, a few times if it fails; then say so in the session."""
        if earlier is not None:
            await workflow.wait([earlier])
        request = SendNotification(notification=message, target=target)
        summary, fault = f"{message.title}, to {target}", ""
        for number in range(_TRIES):
            if number:
                await workflow.sleep(self._request.retry_after * 2 ** (number - 1))
            try:
                fault = (await SEND_NOTIFICATION.ask(request, summary)).fault
            except ActivityError as error:
                fault = str(error.cause or error)
                break
            if not fault:
                return
        await self._report(message, f"{target!r}: {fault}")

    async def _report(self, message: Notification, reason: str) -> None:
        text = f"the message {message.title!r} did not reach {reason}"
        session = workflow.get_external_workflow_handle(f"session/{self._request.session}")
        try:
            await session.signal("message_lost", MessageLost(text=text[:1_000]))
        except ApplicationError as gone:
            log_event(workflow.logger, "session_gone", reason=gone)
