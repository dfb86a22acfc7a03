"""What persons send to a session: recorded by its handlers, taken up by its loop.

Every decision of `policy.decision.decisions.NAMES` is a signal and an Update of the same name, each
with one JSON object. An Update is refused at once with the reason, or answered after the loop has
taken it up. A signal has no answer; if it cannot be carried out, a notice says so. One function
judges both, and nothing here changes the session's state.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from workflows.domain.ids import SessionId
from workflows.domain.session.decision import DecisionOutcome
from workflows.domain.session.earlier_work import NotFound
from workflows.domain.session.session_state import SessionState
from workflows.policy.decision.decisions import ASKING, NAMES
from workflows.policy.session.effects import Applied, Sent
from workflows.policy.session.reported_events import QUESTION_ASKED
from workflows.sessions.host_answers import host_answer

REFUSED = "DecisionRefused"
"""The type of the failure with which an Update is refused."""


class Entry:
    """One decision that waits for the loop."""

    def __init__(self, sent: Sent, update_id: str = "") -> None:
        """Args: what arrived, and an Update's id (empty for a signal)."""
        self.sent = sent
        self.update_id = update_id
        self._answer: asyncio.Future[DecisionOutcome] = asyncio.Future()

    def accept(self, outcome: DecisionOutcome) -> None:
        """Answer with the decision's outcome."""
        self._answer.set_result(outcome)

    def refuse(self, reason: str) -> None:
        """Answer why nothing changed."""
        if self.update_id:  # a failure that no one reads would be logged
            self._answer.set_exception(_refusal(reason))

    async def answer(self) -> DecisionOutcome:
        """Return the loop's answer.

        Raises:
            ApplicationError: the decision is refused; of type `REFUSED`.
        """
        return await self._answer


class DecisionInbox:
    """Registers one session's handlers and keeps what they recorded, in order of arrival."""

    def __init__(
        self,
        session: SessionId,
        judge: Callable[[Sent], Applied],
        state: Callable[[], SessionState],
    ) -> None:
        """Register a signal and an Update for each decision.

        Args:
            session: the session's id.
            judge: returns what a decision would do now; must not change anything.
            state: returns the session's state now.
        """
        self._session = session
        self._judge = judge
        self._state = state
        self._entries: list[Entry] = []
        self.has_answered = False
        """Whether a decision's handler has ended since the loop last looked."""
        for name in NAMES:
            self._register(name)
        workflow.set_signal_handler(QUESTION_ASKED, self._asked)
        workflow.set_dynamic_signal_handler(self._unknown)

    def __len__(self) -> int:
        return len(self._entries)

    def take(self) -> Entry | None:
        """Remove and return the oldest decision; None if there is none."""
        return self._entries.pop(0) if self._entries else None

    async def take_rest(self) -> AsyncIterator[Entry]:
        """Remove and yield decisions, until no handler of one runs."""
        while self._entries or not workflow.all_handlers_finished():
            if (entry := self.take()) is not None:
                yield entry
                continue
            await workflow.wait_condition(
                lambda: bool(self._entries) or workflow.all_handlers_finished()
            )

    def _register(self, name: str) -> None:
        # Each handler takes any number of inputs: a call with more inputs than that would fail the
        # workflow task for ever, and a signal cannot be taken out of a history.
        async def record(payload: JsonValue = None, *more: JsonValue) -> None:
            self._entries.append(Entry(await self._whole(_sent(name, payload, more))))
            self.has_answered = True

        def validate(payload: JsonValue = None, *more: JsonValue) -> None:
            if self._answered() is not None:
                return  # sent again, as after a continuation: repeat the first answer
            applied = self._judge(_sent(name, payload, more))
            if applied.refused:
                raise _refusal(applied.refused)

        async def decide(payload: JsonValue = None, *more: JsonValue) -> DecisionOutcome:
            known = self._answered()
            if known is not None:
                return known
            update_id = _update_id()
            entry = Entry(await self._whole(_sent(name, payload, more)), update_id)
            self._entries.append(entry)
            try:
                return await entry.answer()
            finally:
                self.has_answered = True

        workflow.set_signal_handler(name, record)
        workflow.set_update_handler(name, decide, validator=validate)

    async def _whole(self, sent: Sent) -> Sent:
        """Return a decision with what the host says about it, if it needs that.

        Only the loop takes it up, after judging it again: the state may have changed by then.
        """
        if sent.name not in ASKING:
            return sent
        judged = self._judge(sent)
        if judged.asks is None:
            return sent.with_found(NotFound(reason=judged.refused))
        prepared = self._state().prepared
        return sent.with_found(await host_answer(self._session, prepared, judged.asks))

    def _answered(self) -> DecisionOutcome | None:
        """Return the outcome of the current Update if it was taken up before."""
        return self._state().answered.get(_update_id())

    def _asked(self, payload: JsonValue = None, *more: JsonValue) -> None:
        """Record a question that an agent asks the person."""
        self._entries.append(Entry(_sent(QUESTION_ASKED, payload, more)))

    def _unknown(self, name: str, args: Sequence[RawValue]) -> None:
        """Record a signal of an unknown name; otherwise it would stay unread for ever."""
        del args
        self._entries.append(Entry(Sent(name=name)))


def _sent(name: str, payload: JsonValue, more: tuple[JsonValue, ...]) -> Sent:
    return Sent(name=name, payload=payload, inputs=1 + len(more))


def _update_id() -> str:
    info = workflow.current_update_info()
    assert info is not None, "asked in an Update's handler or validator only"
    return info.id


def _refusal(reason: str) -> ApplicationError:
    return ApplicationError(reason, type=REFUSED, non_retryable=True)
