"""A collector's trace of a session under kills: whole, and no span twice."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from tests.collector import Collector, collecting
from tests.crash import kills, play
from tests.crash.stage import stage
from tests.waiting import LONG_PATIENCE, ends, until
from workers.roles import Role
from workers.telemetry.traces.session_trace import read_trace
from workers.telemetry.traces.span_values import Trace
from workflows.domain.session.session_modes import Pacing

KILLS = (
    kills.Point(2, 0, (Role.WORKFLOWS,)),
    kills.Point(4, 0, (Role.HOST,)),
    kills.Point(6, 0, (Role.MODELS, Role.WORKFLOWS)),
)
"""The worker of role `workflows` also sends the traces."""


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_trace_is_whole_after_kills_and_runs_that_continue_as_new(tmp_path: Path) -> None:
    played = play.playbook({"left": (), "top": ("left",)}, turns=2)
    with collecting() as (collector, endpoint):
        sends = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint.removesuffix("/v1/traces")}
        async with stage(tmp_path, played, variables=sends) as running:
            course = await kills.run(
                running,
                "traced",
                kills.striking(KILLS),
                pacing=Pacing.WAVE,
                waves_per_run=1,
            )
            assert course.outcome == "complete"
            assert len(course.kills) == len(KILLS)
            name = await _session(running.client)
            report = running.client.get_workflow_handle(f"{name}/report")
            await ends(report.result(), "the report is written")
            trace = await read_trace(running.client, name.partition("/")[2])
            expected = {each.id: each.parent or "" for each in trace.spans}
            await until(
                lambda: _sent(collector).keys() >= expected.keys(),
                "all spans are sent",
                LONG_PATIENCE,
                lambda: expected.keys() - _sent(collector).keys(),
            )
            activities = await _activities(running.client, name)
    assert _sent(collector) == expected
    assert {each.trace_id.hex() for each in collector.spans} == {trace.trace_id}
    kinds = [each.kind for each in trace.spans]
    assert kinds.count("activity") == activities > 0
    assert len(_runs(trace)) > 2


def _sent(collector: Collector) -> Mapping[str, str]:
    """Return the span around each span that was sent, by their ids."""
    return {each.span_id.hex(): each.parent_span_id.hex() for each in collector.spans}


def _runs(trace: Trace) -> list[str]:
    """Name the runs of the session's own workflow."""
    session = trace.spans[0].id
    return [each.name for each in trace.spans if each.kind == "run" and each.parent == session]


async def _session(client: Client) -> str:
    found = client.list_workflows("WorkflowType = 'SessionWorkflow'")
    (name,) = {each.id async for each in found}
    return name


async def _activities(client: Client, name: str) -> int:
    """Count the activities in all histories of a session."""
    query = f'WorkflowId = "{name}" OR WorkflowId STARTS_WITH "{name}/"'
    count = 0
    async for run in client.list_workflows(query):
        handle = client.get_workflow_handle(run.id, run_id=run.run_id)
        kinds = [event.event_type for event in (await handle.fetch_history()).events]
        count += kinds.count(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    return count
