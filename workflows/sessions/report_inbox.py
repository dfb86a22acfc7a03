"""The session's inbox for what its ledger, its waves and its notifier report.

It only keeps; `policy.session.reported_events` says what a report means.
"""

from temporalio import workflow

from workflows.domain.budget import LedgerEvent
from workflows.domain.session.notification import MessageLost
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import ItemReport
from workflows.policy.session import reported_events
from workflows.policy.session.reported_events import Event


class ReportInbox:
    """Reports in the order of arrival. Signals: `ledger_event`, `item_reported`, `message_lost`."""

    def __init__(self) -> None:
        """Register the signals."""
        self._events: list[Event] = []
        workflow.set_signal_handler("ledger_event", self._ledger_event)
        workflow.set_signal_handler("item_reported", self._item_reported)
        workflow.set_signal_handler("message_lost", self._message_lost)

    def __len__(self) -> int:
        return len(self._events)

    def take(self) -> Event:
        """Remove and return the oldest report; there must be one."""
        return self._events.pop(0)

    def has_closed(self) -> bool:
        """Tell whether the ledger said its last word."""
        return reported_events.has_closed(self._events)

    def take_rest(self, state: SessionState) -> SessionState:
        """Remove all reports; return the state with what of them counts for an ended session."""
        events, self._events = self._events, []
        return reported_events.last_words(state, events, workflow.now())

    def _ledger_event(self, event: LedgerEvent) -> None:
        self._events.append(event)

    def _item_reported(self, report: ItemReport) -> None:
        self._events.append(report)

    def _message_lost(self, lost: MessageLost) -> None:
        self._events.append(lost)
