"""Sends the spans of sessions to a collector by OTLP, as they end.

It is switched on by the standard variables `OTEL_EXPORTER_OTLP_ENDPOINT` or
`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, and takes all others of that family. The spans come from the
histories, so sessions do not wait for it. What was sent is kept in `traces/` of the data; after a
crash a few spans may be sent again, with the same ids.

`OTEL_TRACES_SAMPLER` decides once for a whole session: a trace's id follows from the session's, and
with it all that continues or belongs to it is sent, or nothing is.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Collection, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode
from temporalio.client import Client

from activities.file_locks import FileLock
from workers.telemetry.traces.session_trace import TraceReader
from workers.telemetry.traces.span_values import Span, Trace
from workers.telemetry.traces.trace_ids import trace_of
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 10.0
_SHARE: Final = 50
"""It rests this many times as long as it took to look: at most a fiftieth of one core."""
_BACK: Final = timedelta(days=1)
"""Sessions that ended longer ago are not sent."""
_BATCH: Final = 500
_MODEL: Final = "gen_ai.request.model"
_COMPLETE: Final = "complete"
_SCOPE: Final = InstrumentationScope("blueflame")


async def export_traces(client: Client, data_dir: Path, stop: asyncio.Event) -> None:
    """Send spans until `stop` is set, by what the environment says; one process a machine does so.

    It never raises: a worker must not end because its traces cannot be sent.

    Args:
        client: of the server whose sessions are sent.
        data_dir: Blue Flame's data on this machine.
        stop: ends it, after a last look.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    try:
        exporter = OTLPSpanExporter()
        try:
            # The provider is the public way to the sampler that the environment names.
            sampler = TracerProvider(shutdown_on_exit=False).sampler
            await TraceExport(client, data_dir / "traces", exporter, sampler).run(stop)
        finally:
            exporter.shutdown()
    except Exception as error:  # noqa: BLE001  (see above)
        log_event(_log, "traces_ended", reason=repr(error))


class TraceExport:
    """Sends the spans of all sessions of one server."""

    def __init__(
        self, client: Client, folder: Path, exporter: SpanExporter, sampler: Sampler = ALWAYS_ON
    ) -> None:
        """Send nothing yet.

        Args:
            client: of the server.
            folder: for what was sent; it is made if missing.
            exporter: sends spans.
            sampler: chooses the sessions.
        """
        self._client = client
        self._folder = folder
        self._exporter = exporter
        self._sampler = sampler
        self._reading: dict[str, tuple[TraceReader, set[str]]] = {}
        """The sessions that are open, each with the ids of the spans that were sent."""
        self._complete: set[str] = set()
        self._is_failing = False

    async def run(self, stop: asyncio.Event) -> None:
        """Look repeatedly until `stop` is set, then one last time."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._folder / "lock")
        try:
            while not stop.is_set():
                began = time.monotonic()
                if lock.try_acquire():
                    await self._safely(self.look())
                rest = max(_LOOK_SECONDS, _SHARE * (time.monotonic() - began))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), rest)
            if lock.try_acquire():
                await self._safely(self.look())
        finally:
            lock.release()

    async def _safely(self, work: Awaitable[None]) -> None:
        """Do some work; what fails is tried again at the next look, and said once."""
        try:
            await work
        except Exception as error:  # noqa: BLE001  (the next look may succeed)
            if not self._is_failing:
                log_event(_log, "traces_wait", reason=repr(error))
            self._is_failing = True

    async def look(self) -> None:
        """Send what has ended since the last look.

        Raises:
            RPCError: the server does not answer.
        """
        since = (datetime.now(UTC) - _BACK).isoformat()
        query = (
            "WorkflowType = 'SessionWorkflow' AND ExecutionStatus != 'ContinuedAsNew' "
            f"AND (ExecutionStatus = 'Running' OR CloseTime > '{since}')"
        )
        found = [each.id async for each in self._client.list_workflows(query)]
        sessions = [each.removeprefix("session/") for each in dict.fromkeys(found)]
        self._complete.intersection_update(sessions)
        self._reading = {name: each for name, each in self._reading.items() if name in sessions}
        _forget(self._folder, time.time() - 2 * _BACK.total_seconds(), sessions)
        for session in sessions:
            await self._safely(self.send(session))

    async def send(self, session: str) -> None:
        """Send what of one session has ended and was not sent yet, if it is sampled."""
        if session in self._complete or not self._is_sampled(session):
            return
        if session not in self._reading:
            if (sent := _sent(self._record(session))) is None:
                self._complete.add(session)
                return
            self._reading[session] = TraceReader(self._client, session), sent
        reader, sent = self._reading[session]
        trace = await reader.look()
        fresh = [each for each in trace.spans if each.ended is not None and each.id not in sent]
        for start in range(0, len(fresh), _BATCH):
            batch = fresh[start : start + _BATCH]
            if not await self._send(exported(trace, batch)):
                return
            sent |= {each.id for each in batch}
            self._note(session, [each.id for each in batch])
        if reader.has_read_all and all(each.ended is not None for each in trace.spans):
            self._note(session, [_COMPLETE])
            self._complete.add(session)
            del self._reading[session]

    def _is_sampled(self, session: str) -> bool:
        result = self._sampler.should_sample(None, int(trace_of(session), 16), "session")
        return result.decision.is_sampled()

    def _record(self, session: str) -> Path:
        return self._folder / f"{session}.sent"

    def _note(self, session: str, lines: list[str]) -> None:
        with self._record(session).open("a") as record:
            record.write("".join(f"{line}\n" for line in lines))

    async def _send(self, spans: list[ReadableSpan]) -> bool:
        result = await asyncio.to_thread(self._exporter.export, spans)
        is_sent = result is SpanExportResult.SUCCESS
        if not is_sent and not self._is_failing:
            log_event(_log, "spans_refused")
        self._is_failing = not is_sent
        return is_sent


def exported(trace: Trace, spans: Iterable[Span]) -> list[ReadableSpan]:
    """Return spans in the form of OpenTelemetry.

    Args:
        trace: which they belong to.
        spans: that have ended.
    """
    resource = Resource.create({"service.name": "blueflame"})
    common = {"blueflame.session": trace.session}
    return [
        ReadableSpan(
            name=_title(each),
            context=_context(trace, each.id),
            parent=None if each.parent is None else _context(trace, each.parent),
            resource=resource,
            attributes={**common, **_facts(each)},
            links=[] if each.follows is None else [Link(_context(trace, each.follows))],
            kind=SpanKind.CLIENT if _MODEL in each.attributes else SpanKind.INTERNAL,
            instrumentation_scope=_SCOPE,
            status=_status(each),
            start_time=_nanoseconds(each.began),
            end_time=_nanoseconds(each.ended or each.began),
        )
        for each in spans
    ]


def _title(span: Span) -> str:
    if span.kind == "call":
        return f"execute_tool {span.name}"
    model = span.attributes.get(_MODEL)
    return span.name if model is None else f"chat {model}"


def _facts(span: Span) -> dict[str, str | int | float | bool | tuple[str, ...]]:
    facts = dict(span.attributes)
    if span.summary:
        facts["blueflame.summary"] = span.summary
    if span.attempts > 1:
        facts["blueflame.attempts"] = span.attempts
    if span.cost_usd is not None:
        facts["blueflame.cost_usd"] = float(span.cost_usd)
    return facts


def _status(span: Span) -> Status:
    if span.outcome == "completed":
        return Status(StatusCode.OK)
    return Status(StatusCode.ERROR, str(span.attributes.get("error.message", span.outcome)))


def _context(trace: Trace, span: str) -> SpanContext:
    return SpanContext(
        trace_id=int(trace.trace_id, 16),
        span_id=int(span, 16),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


def _nanoseconds(at: datetime) -> int:
    return round((at - datetime.fromtimestamp(0, UTC)) / timedelta(microseconds=1)) * 1_000


def _sent(record: Path) -> set[str] | None:
    """Return the ids of spans that were sent; None: the session is complete."""
    try:
        lines = set(record.read_text().split())
    except (OSError, ValueError):
        return set()
    return None if _COMPLETE in lines else lines


def _forget(folder: Path, before: float, but: Collection[str]) -> None:
    """Remove the records of sessions that are no longer looked at.

    An open session may wait for days without a span that ends, and keeps its record.
    """
    for record in folder.glob("*.sent"):
        with suppress(OSError):
            if record.stem not in but and record.stat().st_mtime < before:
                record.unlink()
