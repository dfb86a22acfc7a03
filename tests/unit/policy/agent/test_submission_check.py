"""What can be accepted of a submission, by role."""

from typing import Any

import pytest

from workflows.domain.agent.model_values import Role
from workflows.policy.agent import submission_check

TASK = {"id": "a", "title": "t", "acceptance_criteria": ["c"], "claims": ["a/**"]}


@pytest.mark.parametrize(
    ("role", "arguments"),
    [
        (Role.DEVELOPER, {"summary": "done"}),
        (Role.DEVELOPER, {"summary": "", "more": 1}),
        (Role.PLANNER, {"tasks": [TASK]}),
        (Role.REVIEWER, {"approve": True}),
        (Role.REVIEWER, {}),
        (Role.REVIEWER, {"approve": "false"}),
    ],
)
def test_accepted(role: Role, arguments: dict[str, Any]) -> None:
    assert submission_check.fault(role, arguments) is None


@pytest.mark.parametrize(
    ("role", "arguments", "words"),
    [
        (Role.DEVELOPER, {}, "`summary` is missing"),
        (Role.DEVELOPER, {"summary": 1}, "`summary` is missing"),
        (Role.DEVELOPER, {"summary": None}, "`summary` is missing"),
        (Role.PLANNER, {}, "tasks"),
        (Role.PLANNER, {"tasks": []}, "tasks"),
        (Role.PLANNER, {"tasks": "[…]"}, "tasks"),
        (Role.PLANNER, {"tasks": [{**TASK, "depends_on": ["a"]}]}, "a→a"),
        (Role.PLANNER, {"tasks": [TASK, TASK]}, "more than once"),
        (Role.PLANNER, {"tasks": [{**TASK, "claims": ["../x"]}]}, "claim"),
    ],
)
def test_refused_in_words(role: Role, arguments: dict[str, Any], words: str) -> None:
    fault = submission_check.fault(role, arguments)
    assert fault is not None
    assert words in fault
