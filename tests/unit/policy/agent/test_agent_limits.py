"""An agent's limits: what a person set, by role and kind, over the defaults."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.unit.policy.examples import a_task
from workflows.domain.agent.agent_settings import AgentSettings, LimitSettings, RoleSettings
from workflows.domain.agent.model_values import Role
from workflows.domain.plan import Task, TaskKind
from workflows.policy.agent.agent_limits import limits_for, most_usd

DEFAULTS = AgentSettings()


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("kind", [None, *TaskKind])
def test_every_role_and_kind_has_limits_within_the_promise(role: Role, kind: TaskKind | None):
    limits = limits_for(role, kind, DEFAULTS, 60)
    assert timedelta(minutes=30) <= limits.wall <= timedelta(hours=2)
    assert limits.stall is not None
    assert timedelta(minutes=15) <= limits.stall <= timedelta(minutes=45)
    assert limits.turns in {30, 60}
    assert limits.usd >= 2
    assert limits.output_tokens == 16_000


def test_a_code_task_has_two_hours_of_which_45_minutes_without_progress():
    limits = limits_for(Role.DEVELOPER, TaskKind.CODE, DEFAULTS, 60)
    assert (limits.wall, limits.stall) == (timedelta(hours=2), timedelta(minutes=45))
    assert limits_for(Role.DEVELOPER, None, DEFAULTS, 60) == limits


def test_half_of_one_turn_is_a_turn():
    assert limits_for(Role.REVIEWER, None, DEFAULTS, 1).turns == 1
    assert limits_for(Role.REVIEWER, None, DEFAULTS, 60).turns == 30
    assert limits_for(Role.DEVELOPER, TaskKind.DOCS, DEFAULTS, 60).turns == 30


def test_a_plan_can_cost_what_its_developers_and_reviewers_may_spend():
    tasks = (a_task("a"), Task.model_validate({**a_task("b").model_dump(), "kind": "docs"}))
    settings = AgentSettings(developer=RoleSettings(usd=Decimal(9)))
    # Docs keep the default of their kind; each of the two reviewers may spend three dollars.
    assert most_usd(tasks, settings) == Decimal(9) + Decimal(2) + 2 * Decimal(3)


SET: dict[str, Any] = {
    "usd": Decimal(9),
    "effort": "high",
    "kinds": {"security": {"turns": 7, "effort": "xhigh"}, "docs": {"time": timedelta(hours=3)}},
}


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("code", (60, timedelta(hours=2), Decimal(9), "high")),
        ("security", (7, timedelta(hours=2), Decimal(9), "xhigh")),
        ("docs", (30, timedelta(hours=3), Decimal(2), "high")),
    ],
)
def test_the_kinds_setting_goes_before_the_roles(kind: str, found: tuple[object, ...]):
    settings = AgentSettings(developer=RoleSettings.model_validate(SET))
    limits = limits_for(Role.DEVELOPER, TaskKind(kind), settings, 60)
    assert (limits.turns, limits.wall, limits.usd, limits.effort) == found


def test_zero_dollars_are_a_setting():
    settings = AgentSettings(reviewer=RoleSettings(usd=Decimal(0)))
    assert limits_for(Role.REVIEWER, None, settings, 60).usd == 0


def test_what_is_said_later_goes_before_and_the_rest_stays():
    below = RoleSettings(turns=5, usd=Decimal(1), kinds={TaskKind.DOCS: LimitSettings(turns=2)})
    said = RoleSettings(usd=Decimal(2), kinds={TaskKind.DOCS: LimitSettings(effort="low")})
    both = said.over_role(below)
    assert (both.turns, both.usd) == (5, Decimal(2))
    assert both.kinds == {TaskKind.DOCS: LimitSettings(turns=2, effort="low")}
