"""One session as a trace, read from the histories of all its workflows.

The histories hold every activity exactly once, whatever was killed in between, so nothing has to be
recorded while a session runs. Ids follow from the events: reading again gives the same spans. Which
spans there are says `workflow_spans`.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from temporalio.api.common.v1 import WorkflowExecution as Execution
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from workers.telemetry.traces.span_values import Span, Trace
from workers.telemetry.traces.trace_ids import trace_of
from workers.telemetry.traces.workflow_spans import WorkflowSpans

_FEW: Final = 16
_MANY: Final = 500


async def read_trace(client: Client, session: str) -> Trace:
    """Read the histories of a session and of everything that it started."""
    return await TraceReader(client, session).look()


@dataclass
class _Run:
    """How far one run was read."""

    event: int = 0
    """The last event that was taken; 0: none."""
    is_over: bool = False


class TraceReader:
    """Reads a session again and again, each event once."""

    def __init__(self, client: Client, session: str) -> None:
        """Read nothing yet. Args: of the server; the session's id."""
        self._client = client
        self._session = session
        self._workflows: dict[str, WorkflowSpans] = {}
        self._runs: dict[str, _Run] = {}

    @property
    def has_read_all(self) -> bool:
        """Whether all runs had ended before the last look, so that none can begin after it."""
        return all(run.is_over for run in self._runs.values())

    async def look(self) -> Trace:
        """Read what is new, and return the whole trace.

        Raises:
            RPCError: the server does not answer.
        """
        root = f"session/{self._session}"
        query = f'WorkflowId = "{root}" OR WorkflowId STARTS_WITH "{root}/"'
        runs = [each async for each in self._client.list_workflows(query)]
        for run in sorted(runs, key=lambda each: each.start_time):
            await self._read(run)
        spans = [span for each in self._workflows.values() for span in each.spans()]
        spans.sort(key=lambda each: (each.parent is not None, each.began, each.id))
        return Trace(
            trace_id=trace_of(self._session), session=self._session, spans=tuple(_summed(spans))
        )

    async def _read(self, run: WorkflowExecution) -> None:
        seen = self._runs.setdefault(run.run_id, _Run())
        if seen.is_over:
            return
        spans = self._workflows.setdefault(run.id, WorkflowSpans(self._client, run.id))
        events = self._from_start(run) if seen.event == 0 else self._after(run, seen.event)
        async for event in events:
            await spans.take(event)
            seen.event = event.event_id
        # What ended since the list was made is read to its end with the next look.
        seen.is_over = run.status is not WorkflowExecutionStatus.RUNNING

    async def _from_start(self, run: WorkflowExecution) -> AsyncIterator[HistoryEvent]:
        handle = self._client.get_workflow_handle(run.id, run_id=run.run_id)
        async for event in handle.fetch_history_events():
            yield event

    async def _after(self, run: WorkflowExecution, last: int) -> AsyncIterator[HistoryEvent]:
        """Yield the events after the one of that number.

        A history can be continued only from its beginning or its end, so the new ones are read
        backwards.
        """
        service, token, found = self._client.workflow_service, b"", list[HistoryEvent]()
        while True:
            answer = await service.get_workflow_execution_history_reverse(
                GetWorkflowExecutionHistoryReverseRequest(
                    namespace=self._client.namespace,
                    execution=Execution(workflow_id=run.id, run_id=run.run_id),
                    maximum_page_size=_MANY if found else _FEW,
                    next_page_token=token,
                )
            )
            fresh = [each for each in answer.history.events if each.event_id > last]
            found += fresh
            token = answer.next_page_token
            if len(fresh) < len(answer.history.events) or not token:
                break
        for event in reversed(found):
            yield event


def _summed(spans: Sequence[Span]) -> Iterable[Span]:
    """Give each span the cost of all model calls in it."""
    around = {each.id: each.parent for each in spans}
    sums: dict[str, Decimal] = {}
    for each in spans:
        if each.cost_usd is None:
            continue
        place: str | None = each.id
        while place is not None:
            sums[place] = sums.get(place, Decimal(0)) + each.cost_usd
            place = around.get(place)
    return [each.evolve(cost_usd=sums[each.id]) if each.id in sums else each for each in spans]
