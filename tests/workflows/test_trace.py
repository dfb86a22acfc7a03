"""A session as a trace: every activity once, in its place, with the session's own cost."""

from decimal import Decimal

import pytest
from temporalio.api.enums.v1 import EventType

from starter.sessions.session_trace import Span, Trace, read_trace
from tests.fakes.world import World, planned
from tests.theatre import Theatre
from workflows.domain.session.session_values import SessionResult

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def traced(theatre: Theatre, world: World) -> tuple[SessionResult, Trace, int]:
    """Play a session that continues as new after each wave.

    Returns:
        Its result, its trace, and how many activities its histories have.
    """
    async with theatre.session(world, waves_per_run=1) as session:
        result = await session.result()
        name = session.handle.id
        activities = 0
        query = f'WorkflowId = "{name}" OR WorkflowId STARTS_WITH "{name}/"'
        async for run in theatre.client.list_workflows(query):
            handle = theatre.client.get_workflow_handle(run.id, run_id=run.run_id)
            events = (await handle.fetch_history()).events
            kinds = [event.event_type for event in events]
            activities += kinds.count(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
        return result, await read_trace(theatre.client, name.partition("/")[2]), activities


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
    again = await read_trace(theatre.client, trace.session)
    assert again == trace


def _is_inside(span: Span, around: Span) -> None:
    assert span.began >= around.began, (span, around)
    if around.name != "session":  # its ledger and its clean-up may end after it
        assert (span.ended or around.began) <= (around.ended or span.began), (span, around)
