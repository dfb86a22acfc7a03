"""Sends the spans of sessions to a collector by OTLP, as they end.

It is switched on by the standard variables `OTEL_EXPORTER_OTLP_ENDPOINT` or
`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, and takes all others of that family. The spans come from the
histories, so sessions do not wait for it. What was sent is kept in `traces/` of the data; after a
crash a few spans may be sent again, with the same ids.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode
from temporalio.client import Client

from activities.file_locks import FileLock
from workers.atomic_file import replace_text
from workers.telemetry.session_trace import Span, Trace, read_trace

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0
_SHARE: Final = 20
"""It rests this many times as long as it took to look: at most a twentieth of one core."""
_BACK: Final = timedelta(days=1)
"""Sessions that ended longer ago are not sent."""
_BATCH: Final = 500
_MODEL: Final = "gen_ai.request.model"
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
            await TraceExport(client, data_dir / "traces", exporter).run(stop)
        finally:
            exporter.shutdown()
    except Exception as error:  # noqa: BLE001  (see above)
        _log.warning("traces are no longer sent: %r; correct that, and start again", error)


class TraceExport:
    """Sends the spans of all sessions of one server."""

    def __init__(self, client: Client, folder: Path, exporter: SpanExporter) -> None:
        """Args: `folder`: for what was sent; it is made if missing."""
        self._client = client
        self._folder = folder
        self._exporter = exporter
        self._is_failing = False

    async def run(self, stop: asyncio.Event) -> None:
        """Look repeatedly until `stop` is set, then one last time."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget(self._folder, time.time() - 2 * _BACK.total_seconds())
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
                _log.warning("traces cannot be sent now: %r; tried again later", error)
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
        sessions = [each.id async for each in self._client.list_workflows(query)]
        for workflow in dict.fromkeys(sessions):
            await self._safely(self.send(workflow.removeprefix("session/")))

    async def send(self, session: str) -> None:
        """Send what of one session has ended and was not sent yet."""
        record = self._folder / f"{session}.json"
        sent = _sent(record)
        if sent is None:
            return
        trace = await read_trace(self._client, session)
        fresh = [each for each in trace.spans if each.ended is not None and each.id not in sent]
        for start in range(0, len(fresh), _BATCH):
            batch = fresh[start : start + _BATCH]
            if not await self._send(exported(trace, batch)):
                return
            sent |= {each.id for each in batch}
            replace_text(record, json.dumps({"sent": sorted(sent)}))
        if all(each.ended is not None for each in trace.spans):
            replace_text(record, json.dumps({"complete": True}))

    async def _send(self, spans: list[ReadableSpan]) -> bool:
        result = await asyncio.to_thread(self._exporter.export, spans)
        is_sent = result is SpanExportResult.SUCCESS
        if not is_sent and not self._is_failing:
            _log.warning("the collector takes no spans; they are sent later")
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
            kind=SpanKind.CLIENT if _MODEL in each.attributes else SpanKind.INTERNAL,
            instrumentation_scope=_SCOPE,
            status=_status(each),
            start_time=_nanoseconds(each.began),
            end_time=_nanoseconds(each.ended or each.began),
        )
        for each in spans
    ]


def _title(span: Span) -> str:
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
        content = json.loads(record.read_text())
        return None if content.get("complete") else set(content["sent"])
    except (OSError, ValueError, KeyError):
        return set()


def _forget(folder: Path, before: float) -> None:
    """Remove the records of sessions that are no longer looked at."""
    for record in folder.glob("*.json"):
        with suppress(OSError):
            if record.stat().st_mtime < before:
                record.unlink()
