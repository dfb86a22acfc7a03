"""A session as a trace: every activity once, in its place, with the session's own cost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecution

from tests.collector import collecting
from tests.fakes.world import World, planned
from tests.theatre import Theatre
from tests.waiting import ends
from workers.telemetry.traces.person_waits import PLAN
from workers.telemetry.traces.session_trace import TraceReader, read_trace
from workers.telemetry.traces.span_values import Span, Trace
from workers.telemetry.traces.trace_export import TraceExport, export_traces
from workflows.domain.session.query_answers import SessionResult
from workflows.domain.session.session_config import Approvals

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def traced(theatre: Theatre, world: World) -> tuple[SessionResult, Trace, int]:
    """Play a session that continues as new after each wave.

    Returns:
        Its result, its trace, and how many activities its histories have.
    """
    async with theatre.session(world, waves_per_run=1) as session:
        reader = TraceReader(theatre.client, session.handle.id.partition("/")[2])
        await reader.look()
        result = await session.result()
        name = session.handle.id
        report = theatre.client.get_workflow_handle(f"{name}/report")
        await ends(report.result(), "the report is written")
        activities = 0
        query = f'WorkflowId = "{name}" OR WorkflowId STARTS_WITH "{name}/"'
        async for run in theatre.client.list_workflows(query):
            handle = theatre.client.get_workflow_handle(run.id, run_id=run.run_id)
            events = (await handle.fetch_history()).events
            kinds = [event.event_type for event in events]
            activities += kinds.count(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
        trace = await reader.look()
        assert await read_trace(theatre.client, trace.session) == trace, "looked twice and once"
        return result, trace, activities


async def test_every_activity_is_one_span_in_its_place_and_the_cost_is_the_sessions(
    theatre: Theatre,
):
    world = World(planned({"id": "a"}, {"id": "b"}), usd_per_call=Decimal("0.01"))
    result, trace, activities = await traced(theatre, world)
    spans = {each.id: each for each in trace.spans}
    assert len(spans) == len(trace.spans)
    assert sum(each.kind == "activity" for each in trace.spans) == activities
    session = trace.spans[0]
    assert (session.name, session.parent, session.outcome) == ("session", None, "completed")
    assert session.cost_usd == result.spent_usd > 0
    for each in trace.spans[1:]:
        _is_inside(each, spans[each.parent or ""])
    assert {each.name for each in trace.spans if each.parent == session.id} >= {
        *("ledger", "plan 1", "develop 1", "validate 2", "merge 3"),
        *("repository.export", "gates.run"),
    }
    call = next(each for each in trace.spans if each.name == "models.call")
    assert call.attributes["gen_ai.provider.name"] == "scripted"
    assert call.attributes["gen_ai.usage.output_tokens"] == 1_000
    assert spans[call.parent or ""].name == "turn 1"
    _calls_are_below_their_batch(trace)
    runs = [each for each in trace.spans if each.kind == "run" and each.parent == session.id]
    assert [each.name for each in runs] == [f"run {n}" for n in range(1, len(runs) + 1)]
    assert [each.follows for each in runs] == [None, *(each.id for each in runs[:-1])]
    assert len(runs) > 2


def _calls_are_below_their_batch(trace: Trace) -> None:
    batches = {each.id for each in trace.spans if each.name == "tools.run"}
    calls = [each for each in trace.spans if each.kind == "call"]
    assert {each.parent for each in calls} == batches
    assert {each.attributes["gen_ai.operation.name"] for each in calls} == {"execute_tool"}


@pytest.mark.slow
async def test_waits_for_a_person_are_spans_of_the_session(theatre: Theatre):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.01"))
    ask = Approvals()
    async with theatre.session(world, approvals=ask) as session:
        await session.until(lambda view: view.phase == "awaiting_plan")
        open_one = await read_trace(theatre.client, session.handle.id.partition("/")[2])
        await session.say("approve_plan")
        view = await session.until(
            lambda view: any(each.state == "awaiting_approval" for each in view.changesets)
        )
        (changeset,) = view.changesets
        said = {"id": changeset.id, "digest": changeset.digest}
        await session.say("approve_changeset", said)
        await session.result()
        trace = await read_trace(theatre.client, session.handle.id.partition("/")[2])
    waits = [each for each in open_one.spans if each.kind == "wait"]
    assert [(each.name, each.ended) for each in waits] == [(PLAN, None)]
    ended = [each for each in trace.spans if each.kind == "wait"]
    assert [each.name for each in ended] == [
        PLAN,
        f"wait for a decision on changeset {changeset.id}",
    ]
    assert all(each.ended is not None and each.began < each.ended for each in ended)
    assert {each.parent for each in ended} == {trace.spans[0].id}


async def test_a_sampler_decides_for_whole_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []

    class Server:
        def list_workflows(self, query: str) -> AsyncIterator[WorkflowExecution]:
            asked.append(query.split('"')[1])
            raise OSError("not needed")

    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    sampler = TracerProvider(shutdown_on_exit=False).sampler
    for _ in range(2):
        export = TraceExport(cast("Client", Server()), tmp_path, InMemorySpanExporter(), sampler)
        for number in range(100):
            with suppress(OSError):
                await export.send(f"s{number}")
    assert asked[: len(asked) // 2] == asked[len(asked) // 2 :]
    assert 50 < len(asked) < 150


def _is_inside(span: Span, around: Span) -> None:
    assert span.began >= around.began, (span, around)
    if around.name != "session":  # its ledger and its clean-up may end after it
        assert (span.ended or around.began) <= (around.ended or span.began), (span, around)


@pytest.mark.slow
async def test_a_collector_gets_each_span_once_whatever_it_or_the_worker_misses(
    theatre: Theatre, tmp_path: Path
):
    world = World(planned({"id": "a"}), usd_per_call=Decimal("0.01"))
    result, trace, _ = await traced(theatre, world)
    with collecting() as (collector, endpoint):
        exporter = OTLPSpanExporter(endpoint=endpoint)
        collector.status = 400
        await TraceExport(theatre.client, tmp_path, exporter).send(trace.session)
        assert collector.spans == []
        collector.status = 200
        await TraceExport(theatre.client, tmp_path, exporter).send(trace.session)
        await TraceExport(theatre.client, tmp_path, exporter).send(trace.session)
        exporter.shutdown()
    mine = [each for each in collector.spans if each.trace_id.hex() == trace.trace_id]
    assert sorted(each.span_id.hex() for each in mine) == sorted(each.id for each in trace.spans)
    session = next(each for each in mine if each.name == "session")
    facts = {each.key: each.value for each in session.attributes}
    assert facts["blueflame.cost_usd"].double_value == pytest.approx(float(result.spent_usd))
    call = next(each for each in mine if each.name.startswith("chat "))
    assert call.parent_span_id.hex() in {each.id for each in trace.spans if each.kind == "turn"}


async def test_a_worker_does_not_end_because_its_traces_cannot_be_kept(
    theatre: Theatre, tmp_path: Path
):
    (tmp_path / "traces").write_text("no folder")
    await ends(export_traces(theatre.client, tmp_path, asyncio.Event()), "the export")


async def test_a_look_that_fails_ends_nothing(tmp_path: Path):
    class Away:
        looks = 0

        def list_workflows(self, query: str) -> AsyncIterator[WorkflowExecution]:
            self.looks += 1
            raise OSError(f"no route for {query!r}")

    stop, away = asyncio.Event(), Away()
    stop.set()
    export = TraceExport(cast("Client", away), tmp_path, InMemorySpanExporter())
    await ends(export.run(stop), "the last look")
    assert away.looks == 1
