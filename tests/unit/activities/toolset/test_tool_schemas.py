import json

import pytest
from pydantic import JsonValue, ValidationError

from activities.toolset.tool_schemas import (
    Bash,
    Edit,
    parse,
    problems,
    sandbox_tools,
    schema,
    tools_for,
)
from workflows.domain.agent.model_values import Role


def test_each_role_has_its_tools_and_one_way_to_hand_in():
    names = {role: [tool.name for tool in tools_for(role)] for role in Role}
    assert names == {
        Role.DEVELOPER: ["bash", "read", "edit", "write", "ask", "submit"],
        Role.PLANNER: ["bash", "read", "ask", "submit_plan"],
        Role.REVIEWER: ["bash", "read", "submit_verdict"],
    }
    assert sandbox_tools(Role.REVIEWER) == ("bash", "read")
    assert sandbox_tools(Role.DEVELOPER) == ("bash", "read", "edit", "write", "apply_patch")


def test_a_patch_is_offered_to_whom_it_is_fluent_to_and_to_developers_only():
    names = {role: [tool.name for tool in tools_for(role, patches=True)] for role in Role}
    assert names[Role.DEVELOPER] == [
        "bash",
        "read",
        "edit",
        "write",
        "apply_patch",
        "ask",
        "submit",
    ]
    assert names[Role.REVIEWER] == ["bash", "read", "submit_verdict"]


@pytest.mark.parametrize(
    ("role", "left", "offered"),
    [
        (Role.DEVELOPER, ("read", "edit"), ["read", "edit", "ask", "submit"]),
        (Role.DEVELOPER, ("apply_patch", "bash"), ["bash", "apply_patch", "ask", "submit"]),
        (Role.PLANNER, (), ["ask", "submit_plan"]),
        (Role.REVIEWER, ("read", "write"), ["read", "submit_verdict"]),
    ],
)
def test_what_a_person_took_from_a_role_is_not_offered(
    role: Role, left: tuple[str, ...], offered: list[str]
):
    assert [tool.name for tool in tools_for(role, left, patches=True)] == offered


@pytest.mark.parametrize("role", list(Role))
def test_a_schema_needs_no_reference_and_allows_nothing_unknown(role: Role):
    for tool in tools_for(role, patches=True):
        text = json.dumps(tool.parameters)
        assert "$ref" not in text
        assert "$defs" not in text
        assert tool.parameters["type"] == "object"
        assert tool.parameters["additionalProperties"] is False
        assert tool.description
        assert "\n" not in tool.description


def test_a_field_that_is_called_title_stays():
    tasks = schema("submit_plan").parameters["properties"]
    assert isinstance(tasks, dict)
    assert '"title": {"minLength": 1, "type": "string"}' in json.dumps(tasks)


def test_arguments_are_typed():
    assert parse("bash", {"command": "ls"}) == Bash(command="ls")
    assert parse("edit", {"path": "a", "old": "b", "new": ""}) == Edit(path="a", old="b", new="")


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("edit", {"path": "a", "old": "x", "new": "y", "replace_all": "false"}, "replace_all"),
        ("read", {"path": ["a"]}, "path"),
        ("read", {"path": "a", "limit": "10"}, "limit"),
        ("read", {"path": "a", "limit": 10.0}, "limit"),
        ("read", {"path": "a", "offset": 0}, "offset"),
        ("read", {"path": "a", "offset": True}, "offset"),
        ("read", {"path": "a", "encoding": "x"}, "encoding: there is no such field"),
        ("bash", {}, "command: Field required"),
        ("bash", {"command": "x", "timeout_s": 100_000}, "timeout_s"),
        ("write", {"path": "", "content": "x"}, "path"),
    ],
)
def test_a_wrong_argument_is_named(name: str, arguments: dict[str, JsonValue], named: str):
    with pytest.raises(ValidationError) as caught:
        parse(name, arguments)
    words = problems(name, caught.value)
    assert f"- {named}" in words
    assert words.splitlines()[-1].startswith("Its fields: ")
