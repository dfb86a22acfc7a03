"""What the full-screen view shows: tables of sessions and rows."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from starter.live.live_model import Known, age, live_model
from starter.live.task_graph import graph_rows
from starter.sessions.running_agents import RunningAgent, Work
from tests.unit.policy.examples import a_plan, a_task
from tests.unit.starter.shown import HOSTILE, changeset, session, task
from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.ids import AgentId, TaskId
from workflows.domain.session.question import Question
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState

NOW = datetime(2026, 11, 27, 1, tzinfo=UTC)
QUESTION = Question(agent=AgentId("dev.a.1"), about="a", text="Which?", asked_at=NOW)
STUCK: dict[str, Any] = {
    "reason": "not done",
    "tasks": (task("a", TaskState.FAILED, attempt=3, reason="3 attempts used"),),
}


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({}, []),
        ({"phase": SessionPhase.AWAITING_PLAN, "tasks": (task("a"),)}, ["plan"]),
        ({"changesets": (changeset("a", "awaiting_approval"),)}, ["changeset a"]),
        ({"changesets": (changeset("a", "merged", None),)}, []),
        ({"questions": (QUESTION,)}, ["question a"]),
        ({"phase": SessionPhase.PAUSED, "reason": "the cap is reached"}, ["resume"]),
        (STUCK, ["stuck a"]),
        ({"questions": (QUESTION,), "live": False}, []),
    ],
)
def test_what_waits_for_a_person_has_a_row_each(changes: dict[str, Any], keys: list[str]) -> None:
    model = live_model(session(**changes), Known(), NOW)
    assert [row.key for row in model.asks] == keys


def test_tasks_that_need_a_look_come_first_and_settled_ones_last() -> None:
    states = (TaskState.MERGED, TaskState.PENDING, TaskState.DEVELOPING, TaskState.FAILED)
    tasks = tuple(task(f"t{n}", state) for n, state in enumerate(states))
    model = live_model(session(tasks=tasks), Known(), NOW)
    assert [row.key for row in model.tasks] == ["task t3", "task t2", "task t1", "task t0"]


def test_a_running_agents_age_turns_and_cost_stand_beside_its_limits() -> None:
    agent = RunningAgent("dev.a.2", NOW - timedelta(seconds=192), 12, Decimal("0.30"))
    costs = MappingProxyType({TaskId("a"): Decimal("0.10")})
    known = Known(a_plan(a_task("a")), Work((agent,), costs), AgentSettings())
    tasks = (task("a", TaskState.DEVELOPING, attempt=2),)
    model = live_model(session(tasks=tasks), known, NOW)
    assert model.tasks[0].text.split()[:6] == ["developing", "a", "2", "3m12s", "12", "$0.40/$5.00"]
    assert "1 agent at work" in model.head[2].text
    assert "develop 1, validate 0, merge 0" in model.head[2].text


def test_the_graph_stands_in_levels_with_both_directions() -> None:
    plan = a_plan(a_task("c", depends_on=["a", "b"]), a_task("a"), a_task("b", depends_on=["a"]))
    tasks = (task("c"), task("a", TaskState.MERGED), task("b", TaskState.DEVELOPING))
    rows = graph_rows(tasks, plan)
    assert [" ".join(row.text.split()) for row in rows] == [
        "1 a merged needed by b, c",
        "2 b developing needs a needed by c",
        "3 c pending needs a, b",
    ]
    assert graph_rows(tasks, None) == ()


def test_labels_are_never_omitted_and_foreign_text_is_harmless() -> None:
    shown = session(scripted=True, sandbox="none", goal=HOSTILE, tasks=(task("a", title="\u001b"),))
    model = live_model(shown, Known(), NOW)
    head = "\n".join(row.text for row in model.head)
    assert "SCRIPTED" in head
    assert "NONE: commands of agents run unconfined" in head
    assert "\u001b" not in head + model.tasks[0].text


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-5, "0s"), (42, "42s"), (192, "3m12s"), (7_500, "2h05m"), (273_600, "3d04h")],
)
def test_ages_are_short(seconds: int, told: str) -> None:
    assert age(timedelta(seconds=seconds)) == told


def test_a_thousand_tasks_are_a_thousand_rows_of_one_line() -> None:
    tasks = tuple(task(f"t{n:04}") for n in range(1_000))
    model = live_model(session(tasks=tasks), Known(), NOW)
    assert len(model.tasks) == 1_000
    assert not any("\n" in row.text for row in model.tasks)
