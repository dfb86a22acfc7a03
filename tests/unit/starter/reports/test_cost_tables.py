"""The tables of cost: each adds up to the session's sum, with what no agent reported."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from starter.reports import cost_tables
from starter.reports.report_facts import Facts
from tests.unit.starter.reports.sessions import USD, session

TABLES = (cost_tables.by_task, cost_tables.by_role, cost_tables.by_model)


def spending(facts: Facts, usd: Decimal) -> Facts:
    view = facts.view.model_validate({**dict(facts.view), "spent_usd": usd})
    return Facts(view, facts.trace, facts.record, facts.at)


@pytest.mark.parametrize("usd", [Decimal(0), USD, USD * 21, Decimal("9.5")])
@pytest.mark.parametrize("table", TABLES)
def test_lines_and_remainder_are_the_sessions_sum(
    table: Callable[[Facts], cost_tables.CostTable], usd: Decimal
) -> None:
    found = table(spending(session(10), usd))
    assert sum((each.spent_usd for each in found.lines), found.rest_usd) == usd


def test_a_task_has_the_cost_and_the_quote_of_its_developers_and_reviewers() -> None:
    lines = {each.name: each for each in cost_tables.by_task(session(2)).lines}
    assert lines.keys() == {"(planning)", "t1", "t2"}
    task = lines["t1"]
    assert (task.agents, task.calls, task.spent_usd, task.quote_usd) == (2, 2, 2 * USD, 2)
    assert (task.input_tokens, task.output_tokens) == (200, 40)
    assert task.share == USD


def test_each_role_has_a_line() -> None:
    lines = cost_tables.by_role(session(3)).lines
    counts = {each.name: each.agents for each in lines}
    assert counts == {"planner": 1, "developer": 3, "reviewer": 3}
    assert [each.spent_usd for each in lines] == sorted((e.spent_usd for e in lines), reverse=True)


def test_without_an_agents_request_its_quote_is_unknown_and_its_calls_count() -> None:
    facts = session(1)
    del facts.record.agents["dev.t1.1"]
    lines = {each.name: each for each in cost_tables.by_task(facts).lines}
    assert (lines["t1"].quote_usd, lines["t1"].share) == (None, None)
    assert lines["t1"].spent_usd == 2 * USD
