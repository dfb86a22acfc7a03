"""Reads from the events of a session's history when it waited for a person; see `person_waits`."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, TypeVar

from pydantic import BaseModel
from temporalio.api.common.v1 import Memo, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from workers.telemetry.history_events import decoded, time_of
from workers.telemetry.traces.person_waits import PersonWaits
from workers.telemetry.traces.span_values import Span

_VALIDATION: Final = "ValidateWave"
_HALTING: Final = frozenset({"cap_reached", "burn_rate"})
_DECISIONS: Final = frozenset(
    {"approve_changeset", "reject_changeset", "pause", "resume", "set_budget", "stop"}
)

_Model = TypeVar("_Model", bound=BaseModel)


_READ: Final = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
        EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
        EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED,
        EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
    }
)


class _View(BaseModel, frozen=True, extra="ignore"):
    phase: str = ""


class _Named(BaseModel, frozen=True, extra="ignore"):
    id: str = ""


class _About(BaseModel, frozen=True, extra="ignore"):
    about: str = ""
    task: str = ""


class _Fault(BaseModel, frozen=True, extra="ignore"):
    holds: bool = False


class _Told(BaseModel, frozen=True, extra="ignore"):
    kind: str = ""
    fault: _Fault | None = None


class SessionWaits:
    """Takes the events of one session."""

    def __init__(self, client: Client, span: str) -> None:
        """Args: who decodes payloads; the id of the session's span."""
        self._client = client
        self._waits = PersonWaits(span)

    def spans(self, ended: datetime | None) -> Iterable[Span]:
        """Return a span for each wait; see `PersonWaits.spans`."""
        return self._waits.spans(ended)

    async def take(self, event: HistoryEvent) -> None:
        """Take up the next event, if it begins or ends a wait."""
        if event.event_type not in _READ:
            return
        at = time_of(event)
        match event.event_type:
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
                said = event.workflow_execution_signaled_event_attributes
                await self._signaled(at, said.signal_name, said.input)
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
                asked = event.workflow_execution_update_accepted_event_attributes
                update = asked.accepted_request.input
                await self._decided(at, update.name, update.args)
            case EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED:
                memo = event.workflow_properties_modified_event_attributes.upserted_memo
                await self._entered(at, memo)
            case EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
                given = event.child_workflow_execution_completed_event_attributes
                self._wave_ended(at, given.workflow_type.name)
            case EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
                sent = event.signal_external_workflow_execution_initiated_event_attributes
                await self._sent(at, sent.signal_name, sent.input)
            case _:
                pass

    async def _entered(self, at: datetime, memo: Memo) -> None:
        if "view" in memo.fields:
            view = await self._read(Payloads(payloads=[memo.fields["view"]]), _View)
            self._waits.entered(at, view.phase)

    def _wave_ended(self, at: datetime, kind: str) -> None:
        if kind == _VALIDATION:
            self._waits.validated(at)

    async def _sent(self, at: datetime, name: str, given: Payloads) -> None:
        if name == "answer":
            self._waits.answered(at, (await self._read(given, _About)).task)

    async def _signaled(self, at: datetime, name: str, given: Payloads) -> None:
        match name:
            case "item_reported":
                self._waits.validated(at)
            case "question_asked":
                self._waits.asked(at, (await self._read(given, _About)).about)
            case "ledger_event":
                told = await self._read(given, _Told)
                if told.kind in _HALTING or (told.fault is not None and told.fault.holds):
                    self._waits.halted(at)
            case _:
                await self._decided(at, name, given)

    async def _decided(self, at: datetime, name: str, given: Payloads) -> None:
        if name in _DECISIONS:
            self._waits.decided(at, name, (await self._read(given, _Named)).id)

    async def _read(self, given: Payloads, kind: type[_Model]) -> _Model:
        found = await decoded(self._client, given, kind) if given.payloads else None
        return found if isinstance(found, kind) else kind()
