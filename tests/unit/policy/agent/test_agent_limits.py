"""Limits by role and kind stay within what DESIGN.md promises."""

from datetime import timedelta

import pytest

from tests.unit.policy.examples import a_task
from workflows.domain.agent.model_values import Role
from workflows.domain.plan import Task, TaskKind
from workflows.policy.agent.agent_limits import limits_for, most_usd


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("kind", [None, *TaskKind])
def test_every_role_and_kind_has_limits_within_the_promise(role: Role, kind: TaskKind | None):
    limits = limits_for(role, kind, 60)
    assert timedelta(minutes=5) <= limits.wall <= timedelta(minutes=30)
    assert 1 <= limits.turns <= 60
    assert limits.usd > 0


def test_only_developers_differ_by_kind():
    walls = {role: {limits_for(role, kind, 60).wall for kind in TaskKind} for role in Role}
    assert len(walls[Role.DEVELOPER]) > 1
    assert len(walls[Role.PLANNER]) == len(walls[Role.REVIEWER]) == 1


def test_no_kind_reads_as_code():
    assert limits_for(Role.DEVELOPER, None, 60) == limits_for(Role.DEVELOPER, TaskKind.CODE, 60)


def test_half_of_one_turn_is_a_turn():
    assert limits_for(Role.REVIEWER, None, 1).turns == 1
    assert limits_for(Role.REVIEWER, None, 60).turns == 30


def test_a_plan_can_cost_what_its_developers_and_reviewers_may_spend():
    tasks = (a_task("a"), Task.model_validate({**a_task("b").model_dump(), "kind": "docs"}))
    limits = [limits_for(Role.DEVELOPER, each.kind, 60).usd for each in tasks]
    assert most_usd(tasks) == sum(limits) + 2 * limits_for(Role.REVIEWER, None, 60).usd
