"""The report and the history of a real session: read from its histories, equal to `status`."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import pytest

from starter.reports import cost_tables, decision_waits
from starter.reports.page import render
from starter.reports.report_facts import Facts, gather
from starter.reports.story import story
from starter.sessions.session_client import Sessions
from tests.fakes.world import GATES, World, name_of, planned, tool
from tests.report_reader import check_figures, check_whole, read_page
from tests.theatre import ASK, Theatre
from workflows.contracts.model_contracts import CallModel
from workflows.domain.agent.messages import ToolCall
from workflows.domain.changeset import ChangesetState
from workflows.domain.ids import SessionId
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import Approvals
from workflows.domain.session.session_modes import SessionPhase

pytestmark = pytest.mark.asyncio(loop_scope="session")


def asks_for_plan(view: SessionView) -> bool:
    return view.phase is SessionPhase.AWAITING_PLAN


def asks_for_changesets(view: SessionView) -> bool:
    waiting = [each.state == ChangesetState.AWAITING_APPROVAL for each in view.changesets]
    return bool(waiting) and all(waiting)


async def played(theatre: Theatre) -> Facts:
    """Play a session whose first attempt at `a` fails its gate and whose person decides by hand."""
    world = World(planned({"id": "a"}, {"id": "b"}), usd_per_call=Decimal("0.01"))
    first = name_of("task", "a", 1, name_of("base"))
    world.gate_fails = lambda asked: asked.commit == first
    async with theatre.session(world, approvals=ASK, gates=GATES) as session:
        await session.until(asks_for_plan)
        await session.say("approve_plan", {"by": "ann"})
        view = await session.until(asks_for_changesets)
        for each in view.changesets:
            approval = {"id": each.id, "digest": each.digest, "by": "bo"}
            await session.say("approve_changeset", approval)
        await session.result()
        name = SessionId(session.handle.id.partition("/")[2])
        return await gather(Sessions(theatre.client), name)


@pytest.mark.slow
async def test_every_figure_of_the_report_is_that_of_status(theatre: Theatre):
    facts = await played(theatre)
    page = read_page(render(facts, "blueflame"))
    check_whole(page)
    check_figures(page, facts.view.model_dump(mode="json"))
    assert page.figure("outcome") == "complete"
    assert {"task-a", "task-b", "timeline", "graph", "cost", "gates"} <= set(page.all("id"))
    for table in (cost_tables.by_task(facts), cost_tables.by_role(facts)):
        assert table.rest_usd == 0
        assert all(
            each.quote_usd is not None and each.quote_usd >= each.spent_usd > 0
            for each in table.lines
        )
    assert cost_tables.by_model(facts).rest_usd == 0
    assert "found in changed lines" in page.text


@pytest.mark.slow
async def test_the_story_says_who_decided_what_and_how_long_it_waited(theatre: Theatre):
    facts = await played(theatre)
    told = [(each.kind, each.subject, each.text, each.by) for each in story(facts)]
    assert told[0][:3] == ("session", "", "started")
    assert ("task", "a", "attempt 1 was refused by the gate", "") in told
    assert ("decision", "", "approve plan", "ann") in told
    assert ("decision", "a", "approve changeset", "bo") in told
    assert told[-1][0] == "session"
    assert told[-1][2].startswith("ended complete: 2 merged, $0.")
    waits = {each.what: each for each in decision_waits.waits(facts)}
    assert waits.keys() == {"the plan", "changeset a", "changeset b"}
    assert all(
        each.until is not None and each.until - each.since >= timedelta(0)
        for each in waits.values()
    )


@pytest.mark.slow
async def test_the_record_has_questions_and_the_plan_that_a_person_put_in_place(theatre: Theatre):
    world = World(planned({"id": "a"}))

    def script(call: CallModel) -> Sequence[ToolCall]:
        if call.agent == "dev.x.1" and call.turn == 1:
            return [tool("ask", question="Which rounding?")]
        return list(world.usual(call))

    world.script = script
    sessions = Sessions(theatre.client)
    async with theatre.session(world, approvals=Approvals(changeset="auto_if_green")) as session:
        await session.until(asks_for_plan)
        name = SessionId(session.handle.id.partition("/")[2])
        await session.say("replace_plan", {"plan": planned({"id": "x"}), "by": "ann"})
        view = await session.until(lambda view: [e.id for e in view.tasks] == ["x"])
        if asks_for_plan(view):
            await session.say("approve_plan", {"by": "ann"})
        await session.until(lambda view: bool(view.questions))
        open_page = read_page(render(await gather(sessions, name), "blueflame"))
        assert open_page.figure("outcome") == ""
        assert "Still waits: the question about x" in open_page.text
        await sessions.decide(name, "answer", {"id": "x", "text": "Half up.", "by": "bo"})
        await session.result()
    facts = await gather(sessions, name)
    assert list(facts.planned) == ["x"]
    assert [each.by_planner for each in facts.record.plans] == [True, False]
    assert [each.asked.text for each in facts.record.questions] == ["Which rounding?"]
    (answer,) = [each for each in facts.view.decisions if each.what == "answer"]
    assert decision_waits.waited(facts, answer) is not None
    check_figures(read_page(render(facts, "blueflame")), facts.view.model_dump(mode="json"))
